import SpoolSystem

/// What a cache did since it was opened. All counts only grow.
public struct Statistics: Hashable, Sendable {
    /// Body bytes that origins sent us (handed over by the transport).
    public var fetchedBytes: Int64 = 0
    /// Requests made to origins; redirects count once.
    public var originRequests: Int64 = 0
    /// Bytes given to readers out of the store.
    public var bytesFromStore: Int64 = 0
    /// Bytes given to readers as they came from an origin.
    public var bytesFromOrigin: Int64 = 0
    /// Readers that came.
    public var readers: Int64 = 0

    public init() {}

    /// The part of the bytes given to readers that needed no origin, from 0 to 1; 0 before any.
    public var hitRatio: Double {
        let total = bytesFromStore + bytesFromOrigin
        return total == 0 ? 0 : Double(bytesFromStore) / Double(total)
    }
}

/// Where the numbers are gathered.
package final class Counters: Sendable {
    private let state = Locked(Statistics())

    package init() {}

    func add(_ change: (inout Statistics) -> Void) { state.withLock { change(&$0) } }

    package var current: Statistics { state.withLock { $0 } }
}
