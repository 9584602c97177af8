import SpoolCore
import SpoolStore
import SpoolSystem

// Eviction of bytes that no reader needs soon from a resource in use. Every call is made on the
// index lane.

extension ResourceSession {
    /// Blocks that were taken away from readers, so that they can be evicted.
    struct EvictedPart {
        var generation: GenerationID
        var file: any DataFile
        var blocks: ByteRangeSet
    }

    /// Whether there are writes with granted room that are not over.
    var hasWritesInHand: Bool { state.withLock { $0.grantedBytes > 0 } }

    /// Takes up to `bytes`, or a little more, away from readers.
    ///
    /// - Returns: The part to evict, or nil if nothing may go or the file can't be punched.
    func beginEviction(
        of bytes: Int64, regions: [EvictionCut.Region], keeping kept: ByteRangeSet = ByteRangeSet(),
        unless isSolid: (GenerationID) -> Bool
    ) -> EvictedPart? {
        // A commit that is still queued for this lane would name bytes that are gone.
        writes.enterWritten(isEnforcing: false)
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

    /// Ends an eviction. If the blocks are gone from index and file, they are gaps. If not, they
    /// are compared with their checks before their next use.
    func endEviction(_ part: EvictedPart, isGone: Bool) {
        run { $0.evicted(part.blocks, of: part.generation, isGone: isGone, now: now) }
    }
}

extension ResourceSession.State {
    /// The bytes that are written and not yet in the index.
    fileprivate var uncommitted: ByteRangeSet {
        let queued = changes.flatMap { change -> [Piece] in if case .commit(let commit, _) = change { commit.pieces } else { [] } }
        return ByteRangeSet((queued + dirty).map(\.range))
    }
}
