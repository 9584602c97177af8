import SpoolSystem

/// The counts of a cache since it was opened. All counts only grow.
public struct Statistics: Hashable, Sendable {
    /// Body bytes that the transport received from origins.
    public var fetchedBytes: Int64 = 0
    /// Bytes that origins sent in requests that are over, as far as they arrived on this machine.
    /// It exceeds `fetchedBytes` by heads, and by what cancelled requests left in the buffers of
    /// the system. Nil if the transport does not count them.
    public var sentByOriginsBytes: Int64?
    /// Bytes that arrived for requests which ended early, and that neither a reader nor the store
    /// took. Heads and TLS count, too. 0 if the transport does not count what arrives.
    package var lostBytes: Int64 = 0
    /// Requests to origins. A request with its redirects counts once.
    public var originRequests: Int64 = 0
    /// Bytes that readers got from the store.
    public var bytesFromStore: Int64 = 0
    /// Bytes that readers got from memory as they came from an origin.
    public var bytesFromOrigin: Int64 = 0
    /// Readers that joined.
    public var readers: Int64 = 0

    /// Creates counts of zero.
    package init() {}

    /// The share of the bytes that readers got from the store, from 0 to 1; 0 before any.
    public var hitRatio: Double {
        let total = bytesFromStore + bytesFromOrigin
        return total == 0 ? 0 : Double(bytesFromStore) / Double(total)
    }
}

/// The counters of a cache, behind a lock.
package final class Counters: Sendable {
    private let state = Locked(Statistics())

    /// Creates counters of zero.
    package init() {}

    func add(_ change: (inout Statistics) -> Void) { state.withLock { change(&$0) } }

    /// The counts at this moment.
    package var current: Statistics { state.withLock { $0 } }
}
