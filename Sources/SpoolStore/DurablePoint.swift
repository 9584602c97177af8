public import SpoolCore

/// A durable point that was begun: what it covers is settled, its data has still to be synced.
///
/// Data first, then the index. The sync takes as long as the disk likes and runs beside index calls, so that no look-up waits for it.
public final class DurablePoint: Sendable {
    private let sync: @Sendable () -> Void

    /// - Parameter synchronize: makes the data durable and keeps for `finish` what went wrong.
    public init(synchronize: @escaping @Sendable () -> Void) {
        sync = synchronize
    }

    /// Makes the data durable; blocks. Called once, on any thread, before the store's `finish`.
    public func synchronize() { sync() }
}

/// What a durable point came to.
public struct DurablePointOutcome: Sendable {
    /// What could not be made durable, and why; nil when all was.
    public var failure: StoreError?
    /// Generations that lost bytes, because the system could not write them, with what is still stored of each.
    public var losses: [GenerationID: ByteRangeSet]

    public init(failure: StoreError? = nil, losses: [GenerationID: ByteRangeSet] = [:]) {
        self.failure = failure
        self.losses = losses
    }
}

extension ResourceStore {
    /// Makes what was committed durable in one index call, which blocks for as long as the disk takes.
    public func makeDurable() throws(StoreError) {
        guard let point = try beginDurablePoint() else { return }
        point.synchronize()
        if let failure = finish(point).failure { throw failure }
    }
}
