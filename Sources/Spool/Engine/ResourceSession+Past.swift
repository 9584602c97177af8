import SpoolCore
import SpoolStore
import SpoolSystem

// Files of past versions, which readers go on with. The index forgets such a version as soon as
// another one is committed, and the file loses its name. The open file keeps the bytes until the
// last reader has left, and they count towards the quota until then.

/// The file of a past version.
struct PastFile {
    let file: any DataFile
    /// The checks of its bytes that no reader has used yet, as the index had them.
    var checks: [Piece]?
}

extension ResourceSession {
    /// Keeps the file of the version that was current, if readers go on with it. Called under the
    /// lock.
    func keepPast(_ state: inout State, _ effects: inout [Effect]) {
        guard let generation = state.fileGeneration, let file = state.file, let version = state.machine.past(generation) else { return }
        keepPast(generation, file, &state, &effects)
        guard let first = version.unverified.ranges.first, let end = version.unverified.upperBound else { return }
        // This job comes before the commit that takes the rows of the version out of the index.
        let unverified = ByteRange(lower: first.lowerBound, upper: end)
        effects.append(.call { [self] in keepChecks(of: unverified, generation) })
    }

    /// Keeps a file of a past version, or counts the bytes that were written to it since. Called
    /// under the lock.
    func keepPast(_ generation: GenerationID, _ file: any DataFile, _ state: inout State, _ effects: inout [Effect]) {
        state.past[generation] = PastFile(file: file, checks: state.past[generation]?.checks)
        let bytes = state.machine.past(generation)?.stored.totalBytes ?? 0
        effects.append(.call { [shared] in shared.evictor.setUnnamed(bytes, of: generation) })
    }

    /// Closes the file of a past version. Called under the lock.
    func dropPast(_ generation: GenerationID, _ state: inout State, _ effects: inout [Effect]) {
        guard let past = state.past.removeValue(forKey: generation) else { return }
        // The disk gets its blocks back outside the lock.
        effects.append(
            .call { [shared] in
                withExtendedLifetime(past) { shared.evictor.setUnnamed(nil, of: generation) }
            })
    }

    /// Reads the checks of bytes of a past version while the index has them.
    private func keepChecks(of range: ByteRange, _ generation: GenerationID) {
        shared.environment.indexLane.post { [self] in
            let found: [Piece]
            do throws(StoreError) { found = try shared.store.pieces(of: generation, in: range) } catch {
                // Without checks these bytes are a gap of the past version.
                return shared.record(.storeTrouble("checks of \(range) of \(key.forLog): \(error)"))
            }
            state.withLock { $0.past[generation]?.checks = found }
        }
    }
}
