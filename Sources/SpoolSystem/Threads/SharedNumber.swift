import CSpoolSystem

/// A number that any thread reads without a lock.
///
/// Suits settings that every request reads and hardly anything changes. A reader may see the old
/// number for a moment. For any other change that depends on the old number than `exchange`, use
/// `Locked`.
package final class SharedNumber: @unchecked Sendable {
    // Safe to share: the memory is only accessed by atomic calls.
    private let memory: UnsafeMutablePointer<Int64>

    /// Creates a number.
    package init(_ value: Int64) {
        memory = .allocate(capacity: 1)
        memory.initialize(to: value)
    }

    deinit { memory.deallocate() }

    /// The number.
    package var value: Int64 {
        get { spool_atomic_load(memory) }
        set { spool_atomic_store(memory, newValue) }
    }

    /// Replaces the number, and returns the one before it.
    package func exchange(with value: Int64) -> Int64 { spool_atomic_exchange(memory, value) }
}
