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
