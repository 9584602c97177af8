/// How far a cache is with giving its store another key.
public struct KeyRotationProgress: Hashable, Sendable {
    /// Bytes that are sealed by the new key, of those that were not when the call began. A resource that has to be begun again counts again.
    public var resealedBytes: Int64 = 0
    /// Bytes that were not sealed by it when the call began.
    public var totalBytes: Int64 = 0
    /// Resources that are sealed by the new key, of those that were not when the call began.
    public var resealedResources = 0
    /// Resources that were not sealed by it when the call began.
    public var totalResources = 0
    /// Resources that were passed over in the last round because somebody reads them; they come when their readers have left.
    public var waitingResources = 0

    public init() {}
}
