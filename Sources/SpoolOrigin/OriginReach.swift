package import SpoolCore
package import SpoolSystem

/// The origins that may be asked for the clients of a door, redirects included.
package struct OriginReach: Hashable, Sendable {
    /// The only origins that may be asked, or nil for all.
    package var allowed: Set<URIReference.Origin>?
    /// The origins that the operator named. They may be anywhere.
    package var named: Set<URIReference.Origin>
    /// Whether clients on other machines use the door. Services that listen only on this machine or
    /// on its link are not meant for those clients. So no redirect and no name leads there, unless
    /// the operator named the origin.
    package var servesNetwork: Bool

    /// Creates bounds. The default bounds nothing.
    package init(allowed: Set<URIReference.Origin>? = nil, named: Set<URIReference.Origin> = [], servesNetwork: Bool = false) {
        self.allowed = allowed
        self.named = named.union(allowed ?? [])
        self.servesNetwork = servesNetwork
    }

    /// Whether there is no bound at all.
    package var isUnbounded: Bool { allowed == nil && !servesNetwork }

    /// Returns the reason why `origin` may not lead to `other`, or nil if it may.
    func refusal(from origin: URIReference.Origin, to other: URIReference.Origin) -> String? {
        guard other != origin, !named.contains(other) else { return nil }
        if allowed != nil { return "\(origin) leads to \(other), which may not be asked; \(advice(for: other))" }
        guard servesNetwork, Self.isThisMachine(other.host) else { return nil }
        return "\(origin) leads to \(other), which is for this machine only; \(advice(for: other))"
    }

    /// Returns how an operator allows an origin. A first `--allow-origin` forbids all other
    /// origins.
    package func advice(for origin: URIReference.Origin) -> String {
        "allow it with --allow-origin \(origin)" + (allowed == nil ? ", and name every other origin that may be asked in the same way" : "")
    }

    /// Returns whether a connection for `origin` may go to `address`. A host that itself means this
    /// machine was checked before.
    package func allow(_ origin: URIReference.Origin, at address: SocketAddress) -> Bool {
        !servesNetwork || !address.isForThisMachine || named.contains(origin) || Self.isThisMachine(origin.host)
    }

    /// Returns whether a host by itself means this machine or its link: `localhost`, or a loopback,
    /// link-local or unspecified address.
    package static func isThisMachine(_ host: String) -> Bool {
        SocketAddress(literal: host, port: 0)?.isForThisMachine ?? Loopback.isName(host)
    }
}
