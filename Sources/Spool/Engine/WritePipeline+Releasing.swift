import SpoolCore
import SpoolStore
import SpoolSystem

// Release of bytes that the store could not enter into the index. They lie in the file and the
// index does not name them. On a full disk other writes wait for their room.
//
// The order of these steps keeps readers from bytes that are gone:
//
// 1. The session waits until nothing of the resource is on its way to file or index. From step 2 on
//    nothing is written to the file any more.
// 2. The machine takes whole blocks away that the index does not name. It spares blocks that
//    readers hold or come to next.
// 3. The index lane punches these blocks. Readers of them wait.
// 4. The machine makes gaps of them, and readers go on from the origin.
//
// The session counts as busy meanwhile, so the table makes no second session that could write to
// the same file.

extension WritePipeline {
    /// Begins the release if nothing is on its way to file or index. Called under the lock.
    func releaseUnnamedIfSettled(_ state: inout State, _ effects: inout [Effect]) {
        guard state.writesUnderWay == 0, state.dirty.isEmpty else { return }
        guard state.machine.mayRelease, let generation = state.machine.version?.generation else {
            // There is no version any more: its whole file is gone, or about to go.
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

    /// Gives the disk back the bytes of the file that the index does not name.
    func releaseUnnamed(of generation: GenerationID) {
        session.shared.environment.indexLane.post { [self] in
            do throws(StoreError) {
                try release(allBut: session.shared.store.namedBytes(of: generation), of: generation)
                try dropUnnamedFile(of: generation)
            } catch {
                if error.isTrouble { session.shared.record(.storeTrouble("release: \(error)")) }
            }
            session.run { state, _ in state.writesUnderWay -= 1 }
        }
    }

    private func release(allBut named: ByteRangeSet, of generation: GenerationID) throws(StoreError) {
        let taken = session.run { state, _ -> (file: any DataFile, gone: ByteRangeSet, unnamed: ByteRangeSet)? in
            guard let file = state.file, state.fileGeneration == generation, let version = state.machine.version,
                mayRelease(generation, state)
            else { return nil }
            let gone = state.machine.release(allBut: named)
            // A failed write may also have left bytes that the machine has no record of.
            let end = max(version.representation.length ?? 0, version.stored.upperBound ?? 0)
            let kept = named.union(version.stored.subtracting(gone)).ranges.map(\.widenedToBlocks)
            let all = ByteRangeSet(ByteRange(0, end).map { [$0.widenedToBlocks] } ?? [])
            return (file, gone, all.subtracting(ByteRangeSet(kept)))
        }
        guard let (file, gone, unnamed) = taken else { return }
        // Readers of these blocks wait. Whether or not the release succeeds, no reader uses these
        // blocks again.
        defer { session.run { $0.evicted(gone, of: generation, isGone: true, now: session.now) } }
        _ = try session.shared.store.evict(unnamed, of: generation, in: file)
    }

    /// Deletes a file that has no committed bytes and no bytes left.
    private func dropUnnamedFile(of generation: GenerationID) throws(StoreError) {
        let fileExtension = session.run { state, _ -> String? in
            guard mayRelease(generation, state), state.machine.version?.stored.isEmpty == true,
                let found = state.uncommittedFiles[generation]
            else { return nil }
            state.file = nil
            state.fileGeneration = nil
            state.uncommittedFiles[generation] = nil
            return found
        }
        guard let fileExtension else { return }
        try session.shared.store.dropUncommitted(generation, key: session.key, fileExtension: fileExtension)
    }

    /// Removes the resource from the index.
    func forgetStored() {
        let (shared, key) = (session.shared, session.key)
        shared.environment.indexLane.post {
            do { _ = try shared.store.remove(key) } catch { shared.record(.storeTrouble("remove: \(error)")) }
        }
    }
}
