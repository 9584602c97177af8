public import SpoolCore

/// A durable point that was begun: the set of commits that it covers is fixed, and their data must
/// still be synced.
///
/// The data is synced first, then the index. The sync may take long. It runs beside index calls, so
/// no look-up waits for it.
public final class DurablePoint: Sendable {
    private let sync: @Sendable () -> Void

    /// Creates a durable point from its sync.
    ///
    /// - Parameter synchronize: makes the data durable, and stores any failure for `finish`.
    public init(synchronize: @escaping @Sendable () -> Void) {
        sync = synchronize
    }

    /// Makes the data durable; blocks. The caller calls it once, on any thread, before the store's
    /// `finish`.
    public func synchronize() { sync() }
}

/// The result of a durable point.
public struct DurablePointOutcome: Sendable {
    /// The first failure that kept data or index from becoming durable, or nil.
    public var failure: StoreError?
    /// The generations that lost bytes because the system could not write them, with the bytes of
    /// each that are still stored.
    public var losses: [GenerationID: ByteRangeSet]

    /// Creates a result.
    public init(failure: StoreError? = nil, losses: [GenerationID: ByteRangeSet] = [:]) {
        self.failure = failure
        self.losses = losses
    }
}

extension ResourceStore {
    /// Makes all commits durable in one index call, which blocks until the disk has finished.
    public func makeDurable() throws(StoreError) {
        guard let point = try beginDurablePoint() else { return }
        point.synchronize()
        if let failure = finish(point).failure { throw failure }
    }
}
