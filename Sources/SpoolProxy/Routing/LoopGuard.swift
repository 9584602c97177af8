import Spool
import SpoolCore
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
        return isCalledSo || ownHosts.contains(origin.host) || (local.isLoopback && origin.host.isLoopbackHost)
    }
}
