import SpoolCore
import SpoolStore

// Loss of stored bytes: the disk can't read them any more, or they do not match their checks.

extension ResourceSession {
    /// The number of reads of stored bytes that may fail for good before a session stops storing.
    /// Without this limit, a disk that takes bytes and never returns them would have the same bytes
    /// fetched and stored without end.
    static let lossLimit = 32

    /// Passes the version on without storing it from now on. The next session tries to store again,
    /// unless storing is paused for the whole cache by then.
    func stopStoring(_ generation: GenerationID, because error: StoreError) {
        let reason = NotStoredReason.storeTrouble("\(Self.lossLimit) reads of stored bytes failed, the last one: \(error)")
        run { $0.storeFailed(generation, reason, now: now) }
        shared.makeStale(key)
        shared.storeFailed(error)
    }

    /// Makes gaps of bytes that another part of the cache found damaged. The caller takes them out
    /// of the index.
    func forget(_ ranges: ByteRangeSet, of generation: GenerationID) {
        run { state, effects in
            for range in ranges.ranges {
                state.dirty = state.dirty.flatMap { $0.removing(range) }
                apply(state.machine.lost(range, of: generation, now: now), &state, &effects)
            }
        }
    }
}
