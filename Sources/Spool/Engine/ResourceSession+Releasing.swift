import SpoolCore
import SpoolStore
import SpoolSystem

// The store could not enter bytes into the index, so they lie in the file and nothing names them. On a full disk their room is what others
// wait for.
//
// The order of these steps keeps a reader from bytes that are gone:
//
// 1. Nothing of the resource is on its way to file or index, and from step 2 on nothing is written to the file any more.
// 2. The machine takes whole blocks away that the index does not name. It spares what readers hold or come to next.
// 3. The index lane punches these blocks. Readers of them wait.
// 4. The machine makes gaps of them, and readers go on from the origin.
//
// The session counts as busy meanwhile, so the table makes no second one that could write to the same file.

extension ResourceSession {
    /// Begins with the release once nothing is on its way to file or index. Under the lock.
    func releaseUnnamedIfSettled(_ state: inout State, _ effects: inout [Effect]) {
        guard state.writesUnderWay == 0, state.dirty.isEmpty else { return }
        guard state.machine.mayRelease, let generation = state.machine.version?.generation else {
            // There is no version any more: its whole file has gone, or goes.
            state.owesRelease = false
            return
        }
        // Bytes that readers hold or read next are released when the readers have left.
        let hasReaders = state.machine.phase == .ready && (!state.wakes.isEmpty || state.claims > 0)
        guard !hasReaders || state.releasedGeneration != generation else { return }
        state.owesRelease = hasReaders
        state.releasedGeneration = generation
        state.writesUnderWay += 1
        effects.append(.release(generation))
    }

    private func mayRelease(_ generation: GenerationID, _ state: State) -> Bool {
        state.machine.mayRelease && state.machine.version?.generation == generation
    }

    /// Gives the disk back what the file has beside the bytes that the index names.
    func releaseUnnamed(of generation: GenerationID) {
        shared.environment.indexLane.post { [self] in
            do throws(StoreError) {
                try release(allBut: shared.store.namedBytes(of: generation), of: generation)
                try dropUnnamedFile(of: generation)
            } catch {
                if error != .closed && error != .suspended { shared.record(.storeTrouble("release: \(error)")) }
            }
            run { state, _ in state.writesUnderWay -= 1 }
        }
    }

    private func release(allBut named: ByteRangeSet, of generation: GenerationID) throws(StoreError) {
        let taken = run { state, _ -> (file: any DataFile, gone: ByteRangeSet, kept: ByteRangeSet)? in
            guard let file = state.file, state.fileGeneration == generation, mayRelease(generation, state) else { return nil }
            let gone = state.machine.release(allBut: named)
            return (file, gone, (state.machine.version?.stored ?? ByteRangeSet()).subtracting(gone))
        }
        guard let (file, gone, kept) = taken else { return }
        // Readers of these blocks wait. Released or not, nothing reads them any more.
        defer {
            run { state, effects in
                apply(state.machine.evicted(gone, of: generation, isGone: true, now: now), &state, &effects)
            }
        }
        // A write that failed may have left bytes as well, of which the machine was not told.
        try shared.store.release(allBut: kept, of: generation, in: file)
    }

    /// Takes a file away of which nothing was ever entered and nothing is left.
    private func dropUnnamedFile(of generation: GenerationID) throws(StoreError) {
        let fileExtension = run { state, _ -> String? in
            guard mayRelease(generation, state), state.machine.version?.stored.isEmpty == true,
                let found = state.uncommittedFiles[generation]
            else { return nil }
            state.file = nil
            state.fileGeneration = nil
            state.uncommittedFiles[generation] = nil
            return found
        }
        guard let fileExtension else { return }
        try shared.store.dropUncommitted(generation, key: key, fileExtension: fileExtension)
    }
}
