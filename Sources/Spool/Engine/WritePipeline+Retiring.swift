import SpoolCore
import SpoolStore
import SpoolSystem

// Retirement of a version that is over: handles its bytes that were written and not yet entered
// into the index.

extension WritePipeline {
    /// Drops the bytes that are written and not yet in the index.
    func dropDirty(_ state: inout State, _ effects: inout [Effect]) {
        let promised = takeDirty(&state)
        if promised > 0 { effects.append(.call { [session] in session.shared.evictor.abandon(promised) }) }
    }

    /// Retires a version. Other code removes what the index has of it. A file without any commit is
    /// known to this session only, so the session unlinks it.
    func retire(_ generation: GenerationID, _ state: inout State, _ effects: inout [Effect]) {
        let promised = takeDirty(&state)
        guard promised > 0 || state.writesUnderWay > 0 || state.uncommittedFiles[generation] != nil else { return }
        effects.append(.dropUncommitted(generation, promised: promised))
    }

    /// Unlinks the file of a version that was to take the place of a finished download, because the
    /// cache is being closed. Runs on the index lane.
    func dropHeldBack() {
        let found = session.state.withLock { state -> (generation: GenerationID, fileExtension: String)? in
            guard state.machine.holdsBack, let generation = state.machine.version?.generation else { return nil }
            return state.uncommittedFiles.removeValue(forKey: generation).map { (generation, $0) }
        }
        guard let found else { return }
        do throws(StoreError) {
            try session.shared.store.dropUncommitted(found.generation, key: session.key, fileExtension: found.fileExtension)
        } catch { session.shared.record(.storeTrouble("drop: \(error)")) }
    }

    private func takeDirty(_ state: inout State) -> Int64 {
        defer { state.promisedBytes = 0 }
        state.dirty = []
        state.pace.taken()
        return state.promisedBytes
    }

    /// Unlinks the file of a retired generation unless the index names it. Only then is its room
    /// free for others.
    func dropUncommitted(_ generation: GenerationID, promised: Int64) {
        // This job runs behind the writes that are under way. Later writes find their version gone
        // and open no file.
        session.shared.environment.dataLane(for: generation).post { [self] in
            session.shared.environment.indexLane.post { [self] in
                // The commits of those writes are entered first.
                makeQueuedChanges(isEnforcing: false)
                if let fileExtension = session.state.withLock({ $0.uncommittedFiles.removeValue(forKey: generation) }) {
                    do throws(StoreError) {
                        try session.shared.store.dropUncommitted(generation, key: session.key, fileExtension: fileExtension)
                    } catch { session.shared.record(.storeTrouble("drop: \(error)")) }
                }
                if promised > 0 { session.shared.evictor.settle(promised) }
            }
        }
    }
}
