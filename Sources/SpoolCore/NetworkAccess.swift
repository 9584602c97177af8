/// Which networks a request may use; what the player's own options say about its own loading.
///
/// Honoured where `URLSession` is the transport. Elsewhere nothing tells networks apart.
public struct NetworkAccess: Hashable, Sendable {
    /// The cellular network.
    public var allowsCellular = true
    /// Networks that the system takes for expensive: cellular, personal hotspots.
    public var allowsExpensive = true
    /// Networks in Low Data Mode.
    public var allowsConstrained = true

    public init(allowsCellular: Bool = true, allowsExpensive: Bool = true, allowsConstrained: Bool = true) {
        self.allowsCellular = allowsCellular
        self.allowsExpensive = allowsExpensive
        self.allowsConstrained = allowsConstrained
    }
}
