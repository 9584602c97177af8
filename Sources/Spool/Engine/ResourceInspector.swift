import SpoolCore
import SpoolStore

/// Reads every stored byte of a resource and compares it with its check.
///
/// The bytes are read in runs, on the lane of their generation, and the checks on the index lane.
struct ResourceInspector {
    let engine: Engine

    /// Verifies a resource. Calls `done` on a lane.
    func verify(
        _ key: ResourceKey, isRepairing: Bool, progress: @escaping @Sendable (Int64) -> Void, _ done: @escaping Completion<Verification?>
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
    fileprivate struct Inspection: Sendable {
        let stored: StoredResource
        let file: (any DataFile)?
        let isRepairing: Bool
        var found: Verification
        /// Whether the run is looked at again, because some of its bytes did not match.
        var isSecondLook = false

        init(stored: StoredResource, file: (any DataFile)?, isRepairing: Bool) {
            self.stored = stored
            self.file = file
            self.isRepairing = isRepairing
            found = Verification(key: stored.key, url: stored.url.withoutUserinfo)
        }
    }

    private func start(
        _ opened: Result<Inspection?, CacheError>, _ progress: @escaping @Sendable (Int64) -> Void,
        _ done: @escaping Completion<Verification?>
    ) {
        opened.or(done) { inspection in
            guard let inspection else { return done(.success(nil)) }
            guard let file = inspection.file else { return finish(inspection, done) }
            runs(of: inspection.stored).walk(inspection.stored.spans, inspection) { run, inspection in
                do throws(StoreError) { return try inspection.compare(run, with: file, progress) } catch {
                    done(.failure(CacheError(error, key: inspection.stored.key)))
                    return .stop
                }
            } done: { [self] result in
                result.or(done) { finish($0, done) }
            }
        }
    }

    private func runs(of stored: StoredResource) -> StoredRuns {
        StoredRuns(engine: engine, key: stored.key, generation: stored.generation)
    }

    private func finish(_ inspection: Inspection, _ done: @escaping Completion<Verification?>) {
        var found = inspection.found
        guard !found.isSound else { return done(.success(found)) }
        engine.record(.damageFound(found.key, bytes: found.damaged.totalBytes))
        guard inspection.isRepairing else { return done(.success(found)) }
        found.isRepaired = true
        runs(of: inspection.stored).takeOut(found.damaged) { [found] result in done(result.map { found }) }
    }
}

extension ResourceInspector.Inspection {
    /// Compares the bytes of a run with their checks.
    ///
    /// Bytes that do not match are read twice, because an eviction may have taken them between the
    /// look at the index and that at the file.
    fileprivate mutating func compare(
        _ run: StoredRuns.Run, with file: any DataFile, _ progress: (Int64) -> Void
    ) throws(StoreError) -> StoredRuns.Step {
        let pieces = run.pieces.filter { $0.checks != nil }
        let damage = file.damage(in: pieces)
        // Bytes that can't be read now are not damaged.
        if let cause = damage.compactMap(\.cause).first(where: { !$0.losesBytes }) { throw cause }
        let checked = ByteRangeSet(pieces.map(\.range)).intersection(run.range)
        let damaged = ByteRangeSet(damage.map(\.range)).intersection(run.range)
        isSecondLook = !isSecondLook && !damaged.isEmpty
        if isSecondLook { return .again }
        found.damaged.formUnion(damaged)
        found.soundBytes += checked.subtracting(damaged).totalBytes
        found.uncheckedBytes += ByteRangeSet([run.range]).subtracting(checked).totalBytes
        progress(run.range.count)
        return .next
    }
}
