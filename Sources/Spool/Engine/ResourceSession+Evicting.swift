import SpoolCore
import SpoolStore
import SpoolSystem

// Of a resource in use go the bytes that nobody needs soon. Every call is made on the index lane.

extension ResourceSession {
    /// What was taken away from readers, so that it can go.
    struct EvictedPart {
        var generation: GenerationID
        var file: any DataFile
        var blocks: ByteRangeSet
    }

    /// Whether writes that have their room are not over yet.
    var hasWritesInHand: Bool { state.withLock { $0.grantedBytes > 0 } }

    /// Takes up to `bytes`, or a little more, away from readers; nil when nothing may go, or the file can't be punched.
    func beginEviction(
        of bytes: Int64, regions: [EvictionCut.Region], keeping kept: ByteRangeSet = ByteRangeSet(),
        unless isSolid: (GenerationID) -> Bool
    ) -> EvictedPart? {
        // A commit that is on its way to this lane would claim what is gone.
        enterWritten(isEnforcing: false)
        let generation = state.withLock { $0.file == nil ? nil : $0.fileGeneration }
        guard let generation, !isSolid(generation) else { return nil }
        return run { state, _ in
            guard let file = state.file, state.machine.version?.generation == generation, state.fileGeneration == generation else {
                return nil
            }
            let blocks = state.machine.evict(bytes, sparing: state.uncommitted.union(kept), regions: regions)
            return blocks.isEmpty ? nil : EvictedPart(generation: generation, file: file, blocks: blocks)
        }
    }

    /// What was taken away is out of the index and the file; or it is not, and is compared with its checks before its next use.
    func endEviction(_ part: EvictedPart, isGone: Bool) {
        run { state, effects in
            apply(state.machine.evicted(part.blocks, of: part.generation, isGone: isGone, now: now), &state, &effects)
        }
    }
}

extension ResourceSession.State {
    /// Written, and not yet in the index.
    fileprivate var uncommitted: ByteRangeSet {
        ByteRangeSet((commits.flatMap(\.commit.pieces) + dirty).map(\.range))
    }
}
