/// The networks that a request may use, as a player's own options set them.
///
/// Takes effect where `URLSession` is the transport. Other transports cannot distinguish networks.
public struct NetworkAccess: Hashable, Sendable {
    /// Whether the cellular network may be used.
    public var allowsCellular = true
    /// Whether networks that the system treats as expensive may be used: cellular and personal
    /// hotspots.
    public var allowsExpensive = true
    /// Whether networks in Low Data Mode may be used.
    public var allowsConstrained = true

    /// Creates options that permit these networks; all by default.
    public init(allowsCellular: Bool = true, allowsExpensive: Bool = true, allowsConstrained: Bool = true) {
        self.allowsCellular = allowsCellular
        self.allowsExpensive = allowsExpensive
        self.allowsConstrained = allowsConstrained
    }
}
