package import SpoolCore

/// Whether Spool asks an origin to which another origin leads: by a redirect, or by a reference in
/// a manifest.
///
/// The client of a door chose the first origin, and the first origin chose the second one. A public
/// origin must not lead Spool into a private network that only Spool can reach. What Spool does not
/// ask, it leaves to its client, which is no worse off than without a cache.
package struct ReferenceTrust: Hashable, Sendable {
    /// Whether public names may lead to private addresses.
    private let privateNames: PrivateNames
    /// The bounds of the doors whose clients are served.
    private let reaches: [OriginReach]

    /// Creates the rule for some doors.
    package init(privateNames: PrivateNames, reaches: [OriginReach]) {
        self.privateNames = privateNames
        self.reaches = reaches
    }

    /// Returns the reason why `origin` may not lead to `other`, with the flag that allows it, or
    /// nil if it may.
    ///
    /// An origin that the operator named may be anywhere.
    package func refusal(from origin: URIReference.Origin, to other: URIReference.Origin) -> String? {
        guard other != origin else { return nil }
        for reach in reaches { if let refusal = reach.refusal(from: origin, to: other) { return refusal } }
        guard !privateNames.allowReference(from: origin.host, to: other.host), !reaches.contains(where: { $0.named.contains(other) })
        else { return nil }
        return "the public \(origin) leads to \(other), which is in a private network; allow it with --allow-private \(origin.host),"
            + " or the origin with --allow-origin \(other)"
    }
}
