import SpoolCore
import SpoolStore
import SpoolSystem

/// What becomes of bytes that were written of a version that is over before they were entered into the index.
extension ResourceSession {
    /// What is written and not yet in the index is nobody's.
    func dropDirty(_ state: inout State, _ effects: inout [Effect]) {
        let promised = takeDirty(&state)
        if promised > 0 { effects.append(.call { [shared] in shared.evictor.abandon(promised) }) }
    }

    /// A version is over. What the index has of it goes by other ways; of a file that nothing was committed of, nobody knows but this session.
    func retire(_ generation: GenerationID, _ state: inout State, _ effects: inout [Effect]) {
        let promised = takeDirty(&state)
        guard promised > 0 || state.writesUnderWay > 0 || state.uncommittedFiles[generation] != nil else { return }
        effects.append(.dropUncommitted(generation, promised: promised))
    }

    /// On the index lane: a commit failed, so its bytes are in the file and nothing names them. Gives their room back, so that a disk that
    /// is full does not stay so for bytes that are not stored.
    ///
    /// Readers that have them before them get them from the origin, where the version allows that; else they are kept for them.
    func releaseUnnamed(_ commit: StoreCommit) {
        let generation = commit.generation
        let unnamed = ByteRangeSet(commit.pieces.map(\.range))
        guard !unnamed.isEmpty else { return }
        let released = run { state, effects -> (any DataFile)? in
            guard let file = state.file, state.fileGeneration == generation, let version = state.machine.version,
                version.generation == generation, version.isCombinable || state.wakes.isEmpty
            else { return nil }
            for range in unnamed.ranges { apply(state.machine.lost(range, of: generation, now: now), &state, &effects) }
            return file
        }
        guard let file = released else { return }
        do throws(StoreError) { try shared.store.release(unnamed, of: generation, in: file) } catch {
            shared.record(.storeTrouble("release: \(error)"))
        }
    }

    private func takeDirty(_ state: inout State) -> Int64 {
        defer { state.promisedBytes = 0 }
        state.dirty = []
        state.pace.taken()
        return state.promisedBytes
    }

    /// Unlinks the file of a retired generation unless the index has it; only then is its room free for others.
    func dropUncommitted(_ generation: GenerationID, promised: Int64) {
        // Behind the writes that are under way: later ones find their version gone and open no file.
        shared.environment.dataLane(for: generation).post { [self] in
            shared.environment.indexLane.post { [self] in
                // And behind the commits that they have led to.
                enterQueuedCommits(isEnforcing: false)
                if let fileExtension = state.withLock({ $0.uncommittedFiles.removeValue(forKey: generation) }) {
                    do throws(StoreError) {
                        try shared.store.dropUncommitted(generation, key: key, fileExtension: fileExtension)
                    } catch { shared.record(.storeTrouble("drop: \(error)")) }
                }
                if promised > 0 { shared.evictor.settle(promised) }
            }
        }
    }
}
