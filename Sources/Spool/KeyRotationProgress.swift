/// The progress of a cache that gives its store another key.
public struct KeyRotationProgress: Hashable, Sendable {
    /// The bytes that the new key seals, of those that it did not seal when the call began. A
    /// resource that has to be started again counts again.
    public var resealedBytes: Int64 = 0
    /// The bytes that the new key did not seal when the call began.
    public var totalBytes: Int64 = 0
    /// The number of resources that the new key seals, of those that it did not seal when the call
    /// began.
    public var resealedResources = 0
    /// The number of resources that the new key did not seal when the call began.
    public var totalResources = 0
    /// The number of resources that the last round skipped because they are in use. They follow
    /// when their readers have left.
    public var waitingResources = 0

    /// Creates a progress of zero.
    package init() {}
}
