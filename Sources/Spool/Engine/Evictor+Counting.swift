import SpoolCore
import SpoolStore
import SpoolSystem

// The bytes that a killed process left beside the index. Until the files are counted, they take
// room.

extension Evictor {
    /// The longest time that writes wait while the evictor counts the files that a killed process
    /// left. Later writes find room only where something else goes, until all files are counted.
    static let countingWait: Nanoseconds = .milliseconds(500)

    /// The number of directories, or of generations, in one step of the search for orphans: some
    /// hundred microseconds.
    static let sweepBatch = 16

    /// Returns the bytes that files may occupy beyond those that the store counts.
    ///
    /// A kill leaves bytes that were written and not committed, and files that were removed from
    /// the index and not yet unlinked. A process keeps within the quota, so all of these and the
    /// indexed bytes together are at most the quota. But they may not all be promised again, or a
    /// few short lives of the process would fill the disk.
    func uncounted(beside known: Int64, _ quota: Int64?) -> Int64 {
        guard let quota else { return 0 }
        let isCounted = !store.hasUncountedFiles
        return state.withLock { state in
            if isCounted {
                state.uncountedBytes = nil
                state.countingDeadline = nil
                return 0
            }
            let bytes = state.uncountedBytes ?? max(0, quota - known)
            state.uncountedBytes = bytes
            return bytes
        }
    }

    /// Returns whether waiting requests wait until the files are counted, and begins to count if
    /// that has not begun. Runs on the index lane.
    func mustCountFirst() -> Bool {
        guard limits.quotaBytes != nil, store.hasUncountedFiles else { return false }
        let now = environment.time.now
        let (mustBegin, mustWait) = state.withLock { state in
            let deadline = state.countingDeadline ?? now + Self.countingWait
            state.countingDeadline = deadline
            defer { state.isCounting = true }
            return (!state.isCounting, now < deadline)
        }
        if mustBegin { environment.indexLane.post { [self] in count() } }
        return mustWait
    }

    /// Counts some of the files and then posts itself again, so that look-ups get their turn
    /// between two steps. Runs on the index lane.
    func count() {
        do throws(StoreError) {
            _ = try store.sweepOrphans(limit: Self.sweepBatch)
        } catch {
            note(error)
            // The next request for room starts the count again, and does not wait for it.
            state.withLock { $0.isCounting = false }
            return stopWaiting()
        }
        if store.hasUncountedFiles {
            environment.indexLane.post { [self] in count() }
            if !mustCountFirst() { answerHeld() }
        } else {
            state.withLock { $0.isCounting = false }
            enforceQuota()
            answerHeld()
        }
    }

    /// Answers the requests that wait for the count, by what is known now. Runs on the index lane.
    func answerHeld() {
        let isHeld = state.withLock { exchange(&$0.isHeld, with: false) }
        if isHeld { serve() }
    }

    /// Ends the waiting for the count: requests that wait for it are answered now. Runs on the
    /// index lane.
    func stopWaiting() {
        let now = environment.time.now
        state.withLock { if $0.countingDeadline != nil { $0.countingDeadline = now } }
        answerHeld()
    }
}
