#if !os(watchOS)
import AVFoundation
import Spool
import SpoolCore
import SpoolProxy

/// The place at which a player gets a playlist and its segments, or a body without length.
package struct ProxyRoute: Sendable {
    var url: URL
    /// The visit that has to live as long as the player uses the URL, or nil.
    var visit: ProxyVisit?

    /// The reason why there is no such place.
    enum Obstacle: Error {
        /// The cache has no endpoint, or the endpoint does not serve the URL.
        case noEndpoint
        /// Players do not reach the endpoint.
        case notPermitted
    }
}

extension CachingAssetFactory {
    /// Returns the place of a resource at the cache's loopback endpoint.
    ///
    /// At a proxy of `SpoolProxy` with a token, the asset has a place of its own: its key, fields,
    /// cookies and networks apply to every request there, also to those of segments.
    func proxyRoute(for url: URL, _ parsed: AssetOptions, _ key: ResourceKey) throws(ProxyRoute.Obstacle) -> ProxyRoute {
        guard let endpoint = cache.loopback ?? ownProxy else { throw .noEndpoint }
        if let server = endpoint as? ProxyServer {
            guard let host = door.proxy.host(of: server, loopback) else { throw .notPermitted }
            if let visit = server.visit(settings(for: url, parsed, key)),
                let place = visit.url(for: url.absoluteString, host: host).flatMap({ URL(string: $0) })
            {
                return ProxyRoute(url: place, visit: visit)
            }
        }
        guard let place = endpoint.url(for: url.absoluteString).flatMap({ URL(string: $0) }) else { throw .noEndpoint }
        return ProxyRoute(url: place)
    }

    private var ownProxy: (any LoopbackEndpoint)? { startsProxy ? door.proxy.server(of: cache, host: loopback.host) : nil }

    private func settings(for url: URL, _ parsed: AssetOptions, _ key: ResourceKey) -> VisitSettings {
        let original = url.absoluteString
        let (policy, time) = (keyPolicy, cache.environment.time)
        return VisitSettings(
            key: { asked in
                if asked == original { return key }
                guard let key = try? policy.key(for: asked) else { return nil }
                return key
            },
            requestFields: { asked in
                guard let url = URL(string: asked) else { return HTTPFields() }
                var fields = self.readOptions(for: url, parsed).requestFields
                let now = Date(timeIntervalSince1970: Double(time.wallNow.seconds))
                let matching = self.cookies(for: url, parsed).filter { $0.applies(to: url, now: now) }
                for (name, value) in HTTPCookie.requestHeaderFields(with: matching) { fields[name] = value }
                return fields
            }, access: readOptions(for: url, parsed).access)
    }
}
#endif
