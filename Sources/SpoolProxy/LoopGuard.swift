import Spool
import SpoolCore
import SpoolServer
import SpoolSystem

/// Finds requests that would make the proxy ask itself, again and again, until every connection is taken.
struct LoopGuard: Sendable {
    /// This proxy's name in `Via` (RFC 9110 §7.6.3): nobody else's, and telling nothing.
    let name: String
    private let ownHosts: Set<String>

    init(options: ProxyOptions, random: any RandomSource) {
        name = "spool-" + String(random.next(), radix: 36)
        ownHosts = Set(([options.host] + options.allowedHosts).map(\.asciiLowercased))
    }

    /// What requests to origins have as `Via`.
    var via: String { "1.1 \(name)" }

    /// Whether the request went through this proxy already, whatever lies in between.
    func hasPassed(_ request: RequestHead) -> Bool {
        request.has("Via") && request.fields.values(of: "Via").contains { $0.contains(name) }
    }

    /// Whether `url` is at the address that the client reached.
    func isOwn(_ url: String, _ exchange: Exchange) -> Bool {
        guard let origin = (try? URIReference(url))?.origin, let local = exchange.localAddress, origin.port == Int(local.port) else {
            return false
        }
        if let literal = SocketAddress(literal: origin.host, port: local.port) { return literal == local || literal.isUnspecified }
        let isCalledSo = exchange.request.authority?.asciiLowercased == origin.authority
        return isCalledSo || ownHosts.contains(origin.host) || (local.isLoopback && origin.host.isLoopbackHost)
    }
}
