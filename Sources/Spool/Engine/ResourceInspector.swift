import SpoolCore
import SpoolStore
import SpoolSystem

/// Reads every stored byte of a resource and compares it with its check.
///
/// The bytes are read in runs, on the lane of their generation, and the checks on the index lane.
struct ResourceInspector {
    let engine: Engine

    /// Verifies a resource. Calls `done` on a lane.
    func verify(
        _ key: ResourceKey, isRepairing: Bool, progress: @escaping @Sendable (Int64) -> Void,
        _ done: @escaping @Sendable (Result<Verification?, CacheError>) -> Void
    ) {
        engine.onIndexLane(key, { [self] result in start(result, progress, done) }) { [store = engine.store] () throws(StoreError) in
            guard store.isWritable || !isRepairing else { throw .readOnly }
            guard let stored = try store.lookup(key) else { return nil }
            let file =
                stored.spans.isEmpty
                ? nil : try store.dataFile(of: stored.generation, key: key, fileExtension: stored.fileExtension)
            return Inspection(stored: stored, file: file, isRepairing: isRepairing)
        }
    }

    /// The verification of one resource.
    private struct Inspection: Sendable {
        let stored: StoredResource
        let file: (any DataFile)?
        let isRepairing: Bool
        var found: Verification
        /// The offset at which the next run begins.
        var position: Int64 = 0

        init(stored: StoredResource, file: (any DataFile)?, isRepairing: Bool) {
            self.stored = stored
            self.file = file
            self.isRepairing = isRepairing
            found = Verification(key: stored.key, url: stored.url.withoutUserinfo)
        }

        /// The number of bytes that are read at a time: as many as one row of the index has checks
        /// for.
        static let runBytes: Int64 = 4 << 20

        /// The next stored bytes, up to the end of their group, or nil at the end.
        var nextRun: ByteRange? {
            guard let run = stored.spans.firstRange(atOrAfter: position) else { return nil }
            let (border, overflow) = (run.lowerBound - run.lowerBound % Self.runBytes).addingReportingOverflow(Self.runBytes)
            return ByteRange(run.lowerBound, overflow ? run.upperBound : min(run.upperBound, border))
        }
    }

    private func start(
        _ opened: Result<Inspection?, CacheError>, _ progress: @escaping @Sendable (Int64) -> Void,
        _ done: @escaping @Sendable (Result<Verification?, CacheError>) -> Void
    ) {
        switch opened {
        case .failure(let error): done(.failure(error))
        case .success(nil): done(.success(nil))
        case .success(let inspection?): inspectNext(inspection, progress, done)
        }
    }

    /// Compares the next run, and then calls itself for the one after it.
    private func inspectNext(
        _ inspection: Inspection, _ progress: @escaping @Sendable (Int64) -> Void,
        _ done: @escaping @Sendable (Result<Verification?, CacheError>) -> Void
    ) {
        guard let file = inspection.file, let run = inspection.nextRun else { return finish(inspection, done) }
        inspect(run, of: inspection.stored, in: file) { [self] result in
            switch result {
            case .failure(let error): done(.failure(error))
            case .success(let (checked, damaged)):
                var inspection = inspection
                inspection.position = run.upperBound
                inspection.found.damaged.formUnion(damaged)
                inspection.found.soundBytes += checked.subtracting(damaged).totalBytes
                inspection.found.uncheckedBytes += ByteRangeSet([run]).subtracting(checked).totalBytes
                progress(run.count)
                inspectNext(inspection, progress, done)
            }
        }
    }

    /// Returns the bytes of a run that have checks, and those of them that do not match.
    ///
    /// Bytes that do not match are read twice, because an eviction may have taken them between the
    /// look at the index and that at the file.
    private func inspect(
        _ run: ByteRange, of stored: StoredResource, in file: any DataFile, again: Bool = false,
        _ done: @escaping @Sendable (Result<(checked: ByteRangeSet, damaged: ByteRangeSet), CacheError>) -> Void
    ) {
        let lane = engine.environment.dataLane(for: stored.generation)
        engine.onIndexLane(
            stored.key,
            { [self] (result: Result<[Piece], CacheError>) in
                let pieces: [Piece]
                switch result {
                case .failure(let error): return done(.failure(error))
                case .success(let found): pieces = found
                }
                lane.post { [self] in
                    let damage = file.damage(in: pieces)
                    // Bytes that can't be read now are not damaged.
                    if let cause = damage.compactMap(\.cause).first(where: { !$0.losesBytes }) {
                        return done(.failure(CacheError(cause, key: stored.key)))
                    }
                    let checked = ByteRangeSet(pieces.map(\.range)).intersection(run)
                    let damaged = ByteRangeSet(damage.map(\.range)).intersection(run)
                    guard !damaged.isEmpty, !again else { return done(.success((checked, damaged))) }
                    inspect(run, of: stored, in: file, again: true, done)
                }
            }
        ) { [store = engine.store] () throws(StoreError) in
            try store.pieces(of: stored.generation, in: run).compactMap { $0.blocks(touching: run) }.filter { $0.checks != nil }
        }
    }

    private func finish(_ inspection: Inspection, _ done: @escaping @Sendable (Result<Verification?, CacheError>) -> Void) {
        var found = inspection.found
        guard !found.isSound else { return done(.success(found)) }
        engine.record(.damageFound(found.key, bytes: found.damaged.totalBytes))
        guard inspection.isRepairing else { return done(.success(found)) }
        let (generation, damaged) = (inspection.stored.generation, found.damaged)
        found.isRepaired = true
        // The index lane drops the old entry before a session fetches the bytes again. In the other
        // order, the index would lose bytes that were fetched and committed meanwhile.
        engine.onIndexLane(found.key, { [found] (result: Result<Void, CacheError>) in done(result.map { found }) }) {
            [store = engine.store] () throws(StoreError) in try store.discard(damaged, of: generation)
        }
        engine.liveSession(of: found.key)?.forget(damaged, of: generation)
    }
}
