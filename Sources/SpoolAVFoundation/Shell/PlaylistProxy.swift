import Spool
import SpoolProxy
import SpoolSystem

/// The proxy of a cache's playlists, on loopback. The first playlist starts it.
final class PlaylistProxy: Sendable {
    private let server = Locked<ProxyServer?>(nil)
    private let reach = Locked<Reach?>(nil)

    /// The host by which players reach a proxy, as long as the network stays the same.
    private struct Reach {
        weak var server: ProxyServer?
        var network: Int
        var host: String?
    }

    /// Returns the proxy, and starts it at the first call.
    ///
    /// - Returns: Nil when it cannot listen. The reason is an event, and the next call tries again.
    func server(of cache: MediaCache, host: String) -> ProxyServer? {
        if let running = server.withLock({ $0 }) { return running }
        var options = ProxyOptions()
        options.host = host
        let started: ProxyServer
        do {
            started = try ProxyServer(cache: cache, options: options)
            try started.start()
        } catch {
            cache.record(.storeTrouble("no proxy for playlists: \(error.message)"))
            return nil
        }
        let kept = server.withLock { server in
            if server == nil { server = started }
            return server
        }
        guard kept === started else {
            started.stop()
            return kept
        }
        cache.loopback = started
        return started
    }

    /// Returns the host by which players reach a proxy, or nil when they do not. Checked once for
    /// each state of the network.
    func host(of server: ProxyServer, _ rules: LoopbackRules) -> String? {
        let (known, network) = (reach.withLock { $0 }, rules.network())
        if let known, known.server === server, known.network == network { return known.host }
        let host = rules.host(of: server)
        reach.withLock { $0 = Reach(server: server, network: network, host: host) }
        return host
    }

    /// Stops the proxy, because the cache closes.
    func stop() {
        server.decide { server, then in
            if let running = server { then { running.stop() } }
            server = nil
        }
    }
}
