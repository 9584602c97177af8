public import SpoolCore
import SpoolStore
import SpoolSystem

// Every stored byte is read and compared with its check, because somebody asked for it.

extension MediaCache {
    /// Reads every stored byte of a resource and compares it with its check; nil when nothing is stored of it.
    ///
    /// What it costs is reading: about a second for each GiB that is in memory, else what the disk takes. Readers go on meanwhile.
    /// - Parameters:
    ///   - isRepairing: take damaged bytes out of the index, so that they are fetched again.
    ///   - progress: hears how many bytes were looked at since its last call; on a thread of the cache.
    /// - Throws: `.store`, `.closed`, and `.storeLocked` when another process has the store and it is to be repaired.
    public func verify(
        _ key: ResourceKey, isRepairing: Bool = false, progress: @escaping @Sendable (Int64) -> Void = { _ in }
    ) async throws(CacheError) -> Verification? {
        try await withCheckedContinuation { continuation in
            verify(key, isRepairing: isRepairing, progress: progress) { continuation.resume(returning: $0) }
        }.get()
    }

    /// The same with a callback, which is called on a lane.
    package func verify(
        _ key: ResourceKey, isRepairing: Bool, progress: @escaping @Sendable (Int64) -> Void,
        _ done: @escaping @Sendable (Result<Verification?, CacheError>) -> Void
    ) {
        onIndexLane(key, { [self] result in start(result, progress, done) }) { [store] () throws(StoreError) in
            guard store.isWritable || !isRepairing else { throw .readOnly }
            guard let stored = try store.lookup(key) else { return nil }
            let file =
                stored.spans.isEmpty
                ? nil : try store.dataFile(of: stored.generation, key: key, fileExtension: stored.fileExtension)
            return Inspection(stored: stored, file: file, isRepairing: isRepairing)
        }
    }

    /// One resource that is being verified.
    private struct Inspection: Sendable {
        let stored: StoredResource
        let file: (any DataFile)?
        let isRepairing: Bool
        var found: Verification
        /// Where the next run begins.
        var position: Int64 = 0

        init(stored: StoredResource, file: (any DataFile)?, isRepairing: Bool) {
            self.stored = stored
            self.file = file
            self.isRepairing = isRepairing
            found = Verification(key: stored.key, url: stored.url.withoutUserinfo)
        }

        /// Bytes that are read at a time: what one row of the index has checks for.
        static let runBytes: Int64 = 4 << 20

        /// The next stored bytes, to the end of their group; nil at the end.
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
        case .success(let inspection?): goOn(inspection, progress, done)
        }
    }

    /// Looks at the next run, and calls itself for the one after it.
    private func goOn(
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
                goOn(inspection, progress, done)
            }
        }
    }

    /// What of a run has checks, and what does not match them.
    ///
    /// What does not match is looked at twice: an eviction may have taken bytes between the look at the index and that at the file.
    private func inspect(
        _ run: ByteRange, of stored: StoredResource, in file: any DataFile, again: Bool = false,
        _ done: @escaping @Sendable (Result<(checked: ByteRangeSet, damaged: ByteRangeSet), CacheError>) -> Void
    ) {
        let lane = environment.dataLane(for: stored.generation)
        onIndexLane(
            stored.key,
            { [self] (result: Result<[Piece], CacheError>) in
                let pieces: [Piece]
                switch result {
                case .failure(let error): return done(.failure(error))
                case .success(let found): pieces = found
                }
                lane.post { [self] in
                    let damage = file.damage(in: pieces)
                    // What can't be read now is not damaged.
                    if let cause = damage.compactMap(\.cause).first(where: { !$0.losesBytes }) {
                        return done(.failure(CacheError(cause, key: stored.key)))
                    }
                    let checked = ByteRangeSet(pieces.map(\.range)).intersection(run)
                    let damaged = ByteRangeSet(damage.map(\.range)).intersection(run)
                    guard !damaged.isEmpty, !again else { return done(.success((checked, damaged))) }
                    inspect(run, of: stored, in: file, again: true, done)
                }
            }
        ) { [store] () throws(StoreError) in
            try store.pieces(of: stored.generation, in: run).compactMap { $0.blocks(touching: run) }.filter { $0.checks != nil }
        }
    }

    private func finish(_ inspection: Inspection, _ done: @escaping @Sendable (Result<Verification?, CacheError>) -> Void) {
        var found = inspection.found
        guard !found.isSound else { return done(.success(found)) }
        record(.damageFound(found.key, bytes: found.damaged.totalBytes))
        guard inspection.isRepairing else { return done(.success(found)) }
        let (generation, damaged) = (inspection.stored.generation, found.damaged)
        found.isRepaired = true
        // The old claim is on its way out before a session fetches the bytes anew: the other way round, the index would lose what was
        // fetched and committed meanwhile.
        onIndexLane(found.key, { [found] (result: Result<Void, CacheError>) in done(result.map { found }) }) {
            [store] () throws(StoreError) in try store.discard(damaged, of: generation)
        }
        liveSession(of: found.key)?.forget(damaged, of: generation)
    }
}
