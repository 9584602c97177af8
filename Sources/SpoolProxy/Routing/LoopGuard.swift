import Spool
import SpoolCore
import SpoolOrigin
import SpoolServer
import SpoolSystem

/// Detects requests that would make the proxy send requests to itself until every connection is in
/// use.
struct LoopGuard: Sendable {
    /// This process's names in `Via`.
    let names: Pseudonyms
    private let ownHosts: Set<String>

    init(options: ProxyOptions, names: Pseudonyms) {
        self.names = names
        ownHosts = Set(([options.host] + options.allowedHosts).map(\.asciiLowercased))
    }

    /// Whether the request went through this proxy already, directly or through other proxies.
    func hasPassed(_ request: RequestHead) -> Bool {
        request.has(.via) && request.fields.values(of: .via).contains { names.isNamed(in: $0) }
    }

    /// The most names of other caches that a request to an origin repeats.
    private static let maximumNames = 16

    /// Returns the settings of a request that came through other caches: its requests to origins
    /// carry their names too, so that each of them notices a loop. Nil for any other request.
    ///
    /// Names of other proxies stay here. They are of no use for an origin.
    func visit(of request: RequestHead, to url: MediaURL) -> VisitSettings? {
        guard request.has(.via) else { return nil }
        let passed = request.fields.values(of: .via).flatMap { $0.split { $0 == "," || $0 == " " || $0 == "\t" } }.filter(Pseudonyms.isName)
        guard !passed.isEmpty else { return nil }
        let via = passed.suffix(Self.maximumNames).map { "1.1 \($0)" } + [names.via(for: url.origin.description)]
        let line = via.joined(separator: ", ")
        return VisitSettings(requestFields: { _ in
            var fields = HTTPFields()
            fields[.via] = line
            return fields
        })
    }

    /// Whether `url` is at the address that the client connected to.
    func isOwn(_ url: MediaURL, _ exchange: Exchange) -> Bool {
        let origin = url.origin
        guard let local = exchange.localAddress, origin.port == Int(local.port) else {
            return false
        }
        if let literal = SocketAddress(literal: origin.host, port: local.port)?.unmapped {
            return literal == local.unmapped || literal.isUnspecified
        }
        let isCalledSo = exchange.request.authority?.asciiLowercased == origin.authority
        return isCalledSo || ownHosts.contains(origin.host) || (local.isLoopback && Loopback.isHost(origin.host))
    }
}
