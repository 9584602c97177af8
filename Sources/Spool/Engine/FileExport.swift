import SpoolCore
import SpoolStore
import SpoolSystem

/// One export, from the look-up in the index to the file under its final name.
///
/// Index calls run on the index lane, everything else on the data lane of the generation. Each job
/// handles one run of bytes, so other jobs get their turn in between.
struct FileExport: Sendable {
    let engine: Engine
    let key: ResourceKey
    let path: String
    let options: ExportOptions
    let cancellation: TransferCancellation
    let progress: @Sendable (Int64) -> Void
    let complete: Completion<ExportedFile>
    /// The file that is being made.
    private let unfinished = Locked<FileDraft?>(nil)
    /// Protects the resource from eviction during the export.
    let pin: TemporaryPin

    /// The resource that is exported.
    private struct Source: Sendable {
        var stored: StoredResource
        var length: Int64
        /// The stored bytes, or nil for a resource of length 0.
        var file: (any DataFile)?
        /// The path of the stored bytes if they are stored as readers get them, or nil if they are
        /// opened or transformed on the way.
        var plainPath: String?
    }

    /// The file that is being made, and how it gets its bytes.
    private struct Target: Sendable {
        var draft: FileDraft
        var method: ExportedFile.Method
    }

    /// Calls the completion handler. After a failure, the unfinished file is deleted first.
    private func done(_ result: Result<ExportedFile, CacheError>) {
        let draft = unfinished.withLock { $0.take() }
        if case .failure = result { draft?.discard() }
        complete(result)
    }

    // MARK: Finding

    func start() {
        if engine.isClosed { return done(.failure(CacheError(.closed, "the cache is closed", key: key))) }
        // Bytes that were received just now are on their way to the disk, and then to the index.
        engine.afterWrites { [self] in
            engine.onIndexLane(key, { [self] in found($0) }) { [self] () throws(StoreError) in
                engine.liveSession(of: key)?.writes.enterWritten(isEnforcing: true)
                return try find()
            }
        }
    }

    private func find() throws(StoreError) -> (stored: StoredResource, file: (any DataFile)?, plainPath: String?)? {
        let store = engine.store
        guard var stored = try store.lookup(key) else { return nil }
        guard !stored.spans.isEmpty else { return (stored, nil, nil) }
        let file = try store.dataFile(of: stored.generation, key: key, fileExtension: stored.fileExtension)
        if !store.isWritable {
            // Another process may have evicted bytes before this one held the lock of the file.
            // From now on it does not.
            guard let again = try store.lookup(key), again.generation == stored.generation else { return nil }
            stored = again
        }
        let isPlain = engine.configuration.contentTransform == nil && file.descriptor != nil
        return (stored, file, isPlain ? store.filePath(of: stored) : nil)
    }

    private func found(_ result: Result<(stored: StoredResource, file: (any DataFile)?, plainPath: String?)?, CacheError>) {
        switch result {
        case .failure(let error): done(.failure(error))
        case .success(nil): fail(.notStored, "nothing is stored of it")
        case .success(let found?):
            guard let length = found.stored.representation.length else {
                return fail(.notStored, "its end is not known yet; read it to its end first")
            }
            let missing = length - found.stored.spans.totalBytes
            guard missing == 0 else {
                return fail(.notStored, "\(missing) of its \(length) bytes are not stored; read it to its end first")
            }
            let source = Source(stored: found.stored, length: length, file: found.file, plainPath: found.plainPath)
            onDataLane(source) { [self] () throws(SystemError) in
                try checkPath()
                let target = try makeTarget(source)
                copyAll(source, target)
            }
        }
    }

    // MARK: Making

    /// Fails before the work rather than after it.
    private func checkPath() throws(SystemError) {
        guard let status = try POSIXFileSystem().status(path) else { return }
        guard status.isRegular else { throw .isNoFile(path, status, "create") }
        if !options.replacesExisting { throw .exists(path) }
    }

    private func makeTarget(_ source: Source) throws(SystemError) -> Target {
        if let plainPath = source.plainPath, let descriptor = source.file?.descriptor {
            defer { withExtendedLifetime(descriptor) {} }
            if let target = try sharing(.clone(of: descriptor.number), .clone, source) { return target }
            if options.mayLink, let identity = try fileStatus(ofDescriptor: descriptor.number).identity,
                let target = try sharing(.link(to: plainPath, identity), .link, source)
            {
                return target
            }
        }
        return Target(draft: try draft(.empty), method: .copy)
    }

    /// Returns a draft that already has the bytes, as a clone or a link, or nil if that is not
    /// possible.
    private func sharing(
        _ contents: FileDraft.InitialContents, _ method: ExportedFile.Method, _ source: Source
    ) throws(SystemError) -> Target? {
        do throws(SystemError) {
            let draft = try draft(contents)
            // Bytes beyond the end of the resource are not part of it. Only a clone can be
            // truncated.
            if try draft.status().size != source.length {
                guard method == .clone else { return nil }
                try draft.truncate(to: source.length)
            }
            return Target(draft: draft, method: method)
        } catch {
            if error.meansNoRoom { throw error }
            // The destination is on another file system, or the file system has neither clones nor
            // links. The bytes are copied then, and any other trouble shows there.
            return nil
        }
    }

    private func draft(_ contents: FileDraft.InitialContents) throws(SystemError) -> FileDraft {
        let draft = try FileDraft(path: path, tag: engine.environment.random.next(), contents: contents)
        unfinished.withLock { $0 = draft }
        return draft
    }

    // MARK: Going through the bytes

    /// Copies every run. Bytes between two runs are a hole of the file, and bytes beyond the end of
    /// the resource are not part of it.
    private func copyAll(_ source: Source, _ target: Target) {
        guard let file = source.file, let whole = ByteRange(0, source.length) else { return finish(source, target) }
        let cancelled = error(.cancelled, "the export was cancelled; nothing of the file is left")
        runs(source).walk(
            source.stored.spans.intersection(whole), (), cancellation: { [cancellation] in cancellation.isCancelled ? cancelled : nil }
        ) { [self] run, _ in
            var isTaken = false
            reporting { () throws(SystemError) in isTaken = try take(run, of: file, source, target) }
            return isTaken ? .next : .stop
        } done: { [self] result in
            result.or(done) { finish(source, target) }
        }
    }

    private func runs(_ source: Source) -> StoredRuns {
        StoredRuns(engine: engine, key: key, generation: source.stored.generation)
    }

    /// Compares and copies one run.
    ///
    /// - Returns: False if the export has failed, or is about to.
    private func take(
        _ run: StoredRuns.Run, of file: any DataFile, _ source: Source, _ target: Target
    ) throws(SystemError) -> Bool {
        guard !engine.isClosed else { return failed(CacheError(.closed, "the cache is closed", key: key)) }
        guard run.isStored else { return failed(error(.representationChanged, "it was removed or replaced meanwhile")) }
        let pieces = run.pieces
        // A clone has the bytes of an earlier moment. If the store has repaired a block since then,
        // the clone gets the block from the file of the store.
        if target.method == .clone, try hasSoundBytes(of: pieces, target.draft) {
            progress(run.range.count)
            return true
        }
        // The read of sealed bytes checks them itself; a second check would open them twice.
        let isSealed = pieces.contains { $0.checks?.kind == .sealed }
        let damage = isSealed ? file.admit(pieces) : file.damage(in: pieces)
        if let cause = damage.compactMap(\.cause).first(where: { !$0.losesBytes }) {
            return failed(CacheError(cause, key: key))
        }
        if !damage.isEmpty { return takeOut(ByteRangeSet(damage.map(\.range)), source, cause: damage.compactMap(\.cause).first) }
        do throws(CopyFailure) {
            if target.method != .link { try copy(run.range, of: file, source, to: target.draft) }
        } catch {
            switch error {
            case .file(let error): throw error
            case .store(.corrupt(_, let range)): return takeOut(ByteRangeSet([range]), source, cause: nil)
            case .store(let error): return failed(CacheError(error, key: key))
            case .transform(let error): return failed(error)
            }
        }
        progress(run.range.count)
        return true
    }

    private func hasSoundBytes(of pieces: [Piece], _ draft: FileDraft) throws(SystemError) -> Bool {
        for piece in pieces {
            let bytes = try draft.bytes(piece.range.lowerBound, Int(piece.range.count))
            guard bytes.withUnsafeBytes({ piece.matches($0) }) else { return false }
        }
        return true
    }

    private enum CopyFailure: Error {
        case store(StoreError)
        case file(SystemError)
        case transform(CacheError)
    }

    private func copy(_ run: ByteRange, of file: any DataFile, _ source: Source, to draft: FileDraft) throws(CopyFailure) {
        if source.plainPath != nil, let descriptor = file.descriptor {
            defer { withExtendedLifetime(descriptor) {} }
            do throws(SystemError) {
                if try draft.copy(from: descriptor.number, at: run.lowerBound, count: run.count) { return }
            } catch { throw .file(error) }
        }
        var failure: CopyFailure?
        let transformFailure = Locked<CacheError?>(nil)
        let bytes: any StoredBytes =
            engine.configuration.contentTransform.map { TransformedBytes(.file(file), $0, key: key, failure: transformFailure) } ?? file
        withUnsafeTemporaryAllocation(byteCount: Self.bufferBytes, alignment: 64) { buffer in
            var position = run.lowerBound
            while position < run.upperBound, failure == nil {
                let part = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Int(clamping: run.upperBound - position)))
                failure = Self.copy(part, at: position, from: bytes, to: draft, key)
                position += Int64(part.count)
            }
        }
        if let error = transformFailure.withLock({ $0 }) { throw .transform(error) }
        if let failure { throw failure }
    }

    /// The number of bytes that are in memory at a time.
    private static let bufferBytes = 1 << 20

    private static func copy(
        _ part: UnsafeMutableRawBufferPointer, at position: Int64, from bytes: any StoredBytes, to draft: FileDraft, _ key: ResourceKey
    ) -> CopyFailure? {
        var done = 0
        while done < part.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: part[done...])
            do throws(StoreError) {
                let count = try bytes.read(into: rest, at: position + Int64(done))
                guard count > 0 else { throw .corrupt(key, ByteRange(lower: position, upper: position + Int64(part.count))) }
                done += count
            } catch { return .store(error) }
        }
        do throws(SystemError) { try draft.write(UnsafeRawBufferPointer(part), at: position) } catch { return .file(error) }
        return nil
    }

    // MARK: Ending

    private func finish(_ source: Source, _ target: Target) {
        onDataLane(source) { [self] () throws(SystemError) in
            try target.draft.finish(isReplacing: options.replacesExisting)
            done(
                .success(
                    ExportedFile(
                        key: key, path: path, bytes: source.length, representation: source.stored.representation, method: target.method)))
        }
    }

    /// Makes a gap of damaged bytes, and fails.
    private func takeOut(_ damaged: ByteRangeSet, _ source: Source, cause: StoreError?) -> Bool {
        engine.record(.damageFound(key, bytes: damaged.totalBytes))
        if let cause { engine.record(.storeTrouble("read of \(key.forLog): \(cause)")) }
        let error = CacheError(
            .store,
            "can't export \(key): \(damaged.totalBytes) of its bytes are damaged on the disk; read it to its end, which fetches them"
                + " again, and repeat", key: key, cause: cause)
        guard engine.store.isWritable else { return failed(error) }
        runs(source).takeOut(damaged) { [self] _ in done(.failure(error)) }
        return false
    }

    private func error(_ code: CacheError.Code, _ reason: String) -> CacheError {
        CacheError(code, "can't export \(key): \(reason)", key: key)
    }

    private func fail(_ code: CacheError.Code, _ reason: String) { done(.failure(error(code, reason))) }

    private func failed(_ error: CacheError) -> Bool {
        done(.failure(error))
        return false
    }

    private func onDataLane(_ source: Source, _ body: @escaping @Sendable () throws(SystemError) -> Void) {
        engine.environment.dataLane(for: source.stored.generation).post { [self] in
            // Jobs that are posted from now on may never run.
            if engine.isClosed { return done(.failure(CacheError(.closed, "the cache is closed", key: key))) }
            reporting(body)
        }
    }

    /// Runs `body`, and fails with its error.
    private func reporting(_ body: () throws(SystemError) -> Void) {
        do throws(SystemError) { try body() } catch {
            let code: CacheError.Code = error.meansExists ? .exists : .file
            let advice = error.meansExists ? "there is a file of that name; take another, or let it be replaced" : "\(error)"
            done(.failure(CacheError(code, "can't export \(key) to \(path): \(advice)", key: key, cause: error)))
        }
    }
}
