import SpoolCore
import SpoolStore
import SpoolSystem

/// The files of past versions, which readers of one session go on with.
///
/// The index forgets such a version as soon as another one is committed, and the file loses its
/// name. The open file keeps the bytes until the last reader has left, and they count towards the
/// quota until then.
struct PastFiles {
    typealias State = ResourceSession.State
    typealias Effect = ResourceSession.Effect

    let session: ResourceSession

    /// Takes the file of the version that was current from the session, and keeps it if readers go
    /// on with it. Called under the lock.
    func takeFile(_ state: inout State, _ effects: inout [Effect]) {
        defer { (state.file, state.fileGeneration) = (nil, nil) }
        guard let generation = state.fileGeneration, let file = state.file, let body = state.machine.body(apart: generation) else { return }
        keep(generation, file, &state, &effects)
        guard let first = body.unverified.ranges.first, let end = body.unverified.upperBound else { return }
        // This job comes before the commit that takes the rows of the version out of the index.
        let unverified = ByteRange(lower: first.lowerBound, upper: end)
        effects.append(.call { [self] in keepChecks(of: unverified, generation) })
    }

    /// Keeps a file, or counts the bytes that were written to it since. Called under the lock.
    func keep(_ generation: GenerationID, _ file: any DataFile, _ state: inout State, _ effects: inout [Effect]) {
        state.past[generation] = PastFile(file: file, checks: state.past[generation]?.checks)
        effects.append(.call { [self] in count(generation) })
    }

    /// Closes a file. Called under the lock.
    func drop(_ generation: GenerationID, _ state: inout State, _ effects: inout [Effect]) {
        guard let past = state.past.removeValue(forKey: generation) else { return }
        // The disk gets its blocks back outside the lock.
        effects.append(.call { [self] in withExtendedLifetime(past) { count(generation) } })
    }

    /// Calls the evictor until it has the present size. Calls of two threads may overtake each
    /// other, and the last one of them has read the size after both changes.
    private func count(_ generation: GenerationID) {
        var counted: Int64??
        while true {
            let bytes = session.state.withLock { state in
                state.past[generation] == nil ? nil : state.machine.body(apart: generation)?.stored.totalBytes ?? 0
            }
            if counted == .some(bytes) { return }
            session.shared.evictor.setUnnamed(bytes, of: generation)
            counted = bytes
        }
    }

    /// Reads the checks of bytes while the index has them.
    private func keepChecks(of range: ByteRange, _ generation: GenerationID) {
        let shared = session.shared
        shared.environment.indexLane.post { [self] in
            let found: [Piece]
            do throws(StoreError) { found = try shared.store.pieces(of: generation, in: range) } catch {
                // Without checks these bytes are a gap of the past version.
                return shared.record(.storeTrouble("checks of \(range) of \(session.key.forLog): \(error)"))
            }
            session.state.withLock { $0.past[generation]?.checks = found }
        }
    }
}

extension ResourceSession {
    /// The files of past versions.
    var pastFiles: PastFiles { PastFiles(session: self) }
}
