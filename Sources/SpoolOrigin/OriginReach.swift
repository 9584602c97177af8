package import SpoolCore
package import SpoolSystem

/// How far the clients of a door get: which origins may be asked for them, redirects included.
package struct OriginReach: Hashable, Sendable {
    /// The only origins that may be asked; nil for all.
    package var allowed: Set<URIReference.Origin>?
    /// Origins that the operator named. They may be anywhere.
    package var named: Set<URIReference.Origin>
    /// Whether clients on other machines use the door. Services that listen on this machine or on its link only are not meant for them,
    /// so neither a redirect nor a name leads there, unless the operator named the origin.
    package var servesNetwork: Bool

    package init(allowed: Set<URIReference.Origin>? = nil, named: Set<URIReference.Origin> = [], servesNetwork: Bool = false) {
        self.allowed = allowed
        self.named = named.union(allowed ?? [])
        self.servesNetwork = servesNetwork
    }

    /// Whether it bounds anything.
    package var isUnbounded: Bool { allowed == nil && !servesNetwork }

    /// Why `origin` may not send a request on to `other`, or nil.
    package func refusalOfRedirect(from origin: URIReference.Origin, to other: URIReference.Origin) -> String? {
        guard other != origin, !named.contains(other) else { return nil }
        if allowed != nil { return "the origin points to \(other), which may not be asked; allow it with --allow-origin \(other)" }
        guard servesNetwork, Self.isThisMachine(other.host) else { return nil }
        return "the origin points to \(other), which is for this machine only; allow it with --allow-origin \(other)"
    }

    /// Whether a connection for `origin` may go to `address`. A host that means this machine by itself was looked at before.
    package func allow(_ origin: URIReference.Origin, at address: SocketAddress) -> Bool {
        !servesNetwork || !address.isForThisMachine || named.contains(origin) || Self.isThisMachine(origin.host)
    }

    /// Whether a host by itself means this machine or its link: `localhost`, or a loopback, link-local or unspecified address.
    package static func isThisMachine(_ host: String) -> Bool {
        SocketAddress(literal: host, port: 0)?.isForThisMachine ?? Loopback.isName(host)
    }
}
