import SpoolCore
import SpoolStore
import SpoolSystem

/// The verification of bytes of one session that an earlier opening of the store wrote. Their
/// checks come from the index, and the lane of the generation reads the bytes.
struct StoredBytesCheck {
    let session: ResourceSession

    /// Compares stored bytes with their checks and passes the result to the machine. Readers of
    /// these bytes wait meanwhile.
    func verify(_ range: ByteRange, of generation: GenerationID) {
        session.shared.environment.indexLane.post { [self] in
            do throws(StoreError) {
                let kept = session.state.withLock { $0.past[generation]?.checks }
                let known = if let kept { kept } else { try session.shared.store.pieces(of: generation, in: range) }
                let pieces = known.compactMap { $0.blocks(touching: range) }
                session.shared.environment.dataLane(for: generation).post { [self] in verify(pieces, range, of: generation) }
            } catch {
                // Without checks the bytes can't be verified now. They stay in the index: the next
                // opening may read their checks.
                if error != .closed { session.shared.record(.storeTrouble("checks of \(range) of \(session.key.forLog): \(error)")) }
                finish(Comparison(range: range), damaged: ByteRangeSet([range]), of: generation)
            }
        }
    }

    /// The bytes that were compared, and the damage among them.
    private struct Comparison {
        var range: ByteRange
        /// All bytes that the checks cover. They can be more than `range`, because each check
        /// covers whole blocks.
        var covered: ByteRangeSet
        var damage: [Damage]

        init(range: ByteRange, pieces: [Piece] = [], damage: [Damage] = []) {
            self.range = range
            covered = ByteRangeSet(pieces.map(\.range))
            self.damage = damage
        }

        /// The error of a read that failed although the bytes may be intact.
        var passingCause: StoreError? { damage.compactMap(\.cause).first { !$0.losesBytes } }

        var compared: ByteRangeSet { covered.union(ByteRangeSet([range])) }
        /// The bytes that do not match, and those of `range` that the index no longer names.
        var damaged: ByteRangeSet {
            ByteRangeSet(damage.map(\.range)).union(ByteRangeSet([range]).subtracting(covered))
        }
    }

    /// Compares the pieces with the bytes of the file. Runs on the lane of the generation.
    private func verify(_ pieces: [Piece], _ range: ByteRange, of generation: GenerationID) {
        let file = session.state.withLock { $0.file(of: generation) }
        // Another version is current: no reader waits for this one.
        guard let file else { return finish(Comparison(range: range), damaged: ByteRangeSet(), of: generation) }
        let found = Comparison(range: range, pieces: pieces, damage: file.admit(pieces))
        let damaged = found.damaged
        if let cause = found.passingCause {
            // The bytes could not be compared, and are not lost for that. They stay in the index,
            // and this session stores nothing more.
            session.shared.record(.storeTrouble("read \(range) of \(session.key.forLog): \(cause)"))
            session.run { $0.storeFailed(generation, .storeTrouble("\(cause)"), now: session.now) }
            session.shared.makeStale(session.key)
            return finish(found, damaged: damaged, of: generation)
        }
        let lost = session.state.withLock { $0.machine.damagedBytes(damaged, of: generation) }
        guard !lost.isEmpty else { return finish(found, damaged: ByteRangeSet(), of: generation) }
        report(found, lost)
        takeOut(lost, of: generation, in: file) { [self] in finish(found, damaged: lost, of: generation) }
    }

    private func report(_ found: Comparison, _ lost: ByteRangeSet) {
        session.shared.record(.damageFound(session.key, bytes: lost.totalBytes))
        for damage in found.damage {
            if let cause = damage.cause { session.shared.record(.storeTrouble("read \(damage.range) of \(session.key.forLog): \(cause)")) }
        }
    }

    /// Removes damaged bytes from the index, then punches their blocks, so that bytes that are
    /// fetched again get sound blocks of the disk.
    ///
    /// Calls `done` on the lane of the generation, before anything is written there again.
    private func takeOut(
        _ lost: ByteRangeSet, of generation: GenerationID, in file: any DataFile, done: @escaping @Sendable () -> Void
    ) {
        session.discard(lost, of: generation) { [self] isOut in
            session.shared.environment.dataLane(for: generation).post { [self] in
                // A block with sound bytes beside the damaged ones is not punched, because a reader
                // may be sending them.
                if isOut { for block in lost.ranges.compactMap(\.wholeBlocks) { punch(block, in: file) } }
                done()
            }
        }
    }

    private func punch(_ blocks: ByteRange, in file: any DataFile) {
        do throws(StoreError) { try file.punch(blocks) } catch {
            session.shared.record(.storeTrouble("punch \(blocks) of \(session.key.forLog): \(error)"))
        }
    }

    private func finish(_ found: Comparison, damaged: ByteRangeSet, of generation: GenerationID) {
        session.run { $0.verified(found.compared, of: generation, damaged: damaged, now: session.now) }
    }
}
