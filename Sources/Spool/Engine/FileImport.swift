package import SpoolCore
package import SpoolStore
import SpoolSystem

/// One import, from the look at the file to the commit.
///
/// All bytes are written to a generation of their own and entered in one commit, so no reader ever
/// sees a part of the file. The evictor grants room before each write, as for fetched bytes.
package struct FileImport: Sendable {
    /// The number of bytes that are read and written at a time.
    private static let stepBytes: Int64 = 1 << 20

    /// The bytes to import, and the resource that they become.
    package struct Request: Sendable {
        var source: ImportSource
        var url: String
        var key: ResourceKey
        var options: ImportOptions
        /// The version at the origin, if the origin has named it.
        var version: Representation?

        /// Creates a request.
        package init(source: ImportSource, url: String, key: ResourceKey, options: ImportOptions, version: Representation? = nil) {
            (self.source, self.url, self.key, self.options, self.version) = (source, url, key, options, version)
        }
    }

    /// The pieces that are written and not yet committed.
    private struct Written {
        var pieces: [Piece] = []
        var promisedBytes: Int64 = 0
    }

    /// The source files, and where their bytes go.
    private struct Work: Sendable {
        var files: ImportFiles
        var generation: GenerationID
        var representation: Representation
        var fileExtension: String
        /// Nil for a file without bytes.
        var target: (any DataFile)?
    }

    private let engine: Engine
    private let request: Request
    private let cancellation: TransferCancellation
    private let progress: @Sendable (Int64) -> Void
    private let done: Completion<ImportedFile>
    private let written = Locked(Written())

    /// Imports a file into a cache. Calls `done` on a lane.
    package static func run(
        _ path: String, for url: String, key: ResourceKey?, _ options: ImportOptions, in cache: MediaCache,
        _ cancellation: TransferCancellation, _ progress: @escaping @Sendable (Int64) -> Void,
        _ done: @escaping Completion<ImportedFile>
    ) {
        do throws(CacheError) {
            let named = try cache.key(for: url)
            let request = Request(source: .file(path), url: url, key: key ?? named, options: options)
            start(request, in: cache, cancellation, progress, done)
        } catch { done(.failure(error)) }
    }

    /// Imports into a cache. Calls `done` on a lane.
    package static func start(
        _ request: Request, in cache: MediaCache, _ cancellation: TransferCancellation, _ progress: @escaping @Sendable (Int64) -> Void,
        _ done: @escaping Completion<ImportedFile>
    ) {
        FileImport(engine: cache.engine, request: request, cancellation: cancellation, progress: progress, done: done).start()
    }

    private var key: ResourceKey { request.key }

    /// The most bytes that the import of a range adds to the size of the files: each step may begin
    /// and end inside a unit of the disk.
    package static func mostBytes(of range: ByteRange, in cache: MediaCache) -> Int64 {
        let evictor = cache.engine.evictor
        let unit = ByteRange(0, 1).map(evictor.allocation) ?? 0
        return evictor.allocation(of: range) + unit * (range.count / stepBytes + 1)
    }

    /// Returns the room that is left without an eviction. Runs on the index lane.
    package static func spareRoom(in cache: MediaCache) throws(StoreError) -> SpareRoom { try cache.engine.evictor.spareRoom() }

    // MARK: Beginning

    private func start() {
        if engine.isClosed { return done(.failure(closed)) }
        let generation = engine.committer.makeGeneration()
        onDataLane(generation) { [self] in
            do throws(SystemError) {
                prepare(try ImportFiles(request.source), generation)
            } catch { failFile(error) }
        }
    }

    private func prepare(_ files: ImportFiles, _ generation: GenerationID) {
        if let reason = refusal(ofSize: files.length) { return fail(.noRoom, reason) }
        guard let representation = representation(length: files.length) else {
            return fail(.configuration, "the entity tag has to be in quotes, as the origin sends it")
        }
        let work = Work(
            files: files, generation: generation, representation: representation,
            fileExtension: fileExtension(url: request.url, contentType: representation.contentType))
        engine.onIndexLane(
            key,
            { [self] () throws(StoreError) -> Work? in
                guard engine.store.isWritable else { throw .readOnly }
                guard try mayStore() else { return nil }
                var work = work
                if files.bytes > 0 {
                    work.target = try engine.store.dataFile(of: generation, key: key, fileExtension: work.fileExtension)
                }
                return work
            }, failed: { [done] in done(.failure($0)) }
        ) { [self] work in if let work { next(work, at: 0) } else { done(.failure(existsError)) } }
    }

    /// Returns the reason why the store may not take a file of this size, or nil.
    private func refusal(ofSize size: Int64) -> String? {
        guard size <= ByteRange.maximumOffset else {
            return "it has \(size) bytes, and the cache keeps at most \(ByteRange.maximumOffset) of one resource"
        }
        if let limit = engine.configuration.storage.maximumResourceBytes, size > limit {
            return "it has \(size) bytes, and the cache keeps at most \(limit) of one resource"
        }
        if let quota = engine.limits.current.quotaBytes, let all = ByteRange(0, size), engine.evictor.allocation(of: all) > quota {
            return "it has \(size) bytes, and the quota of the store is \(quota)"
        }
        return nil
    }

    /// Returns whether the store has nothing of the resource, or the import may replace it. Runs on
    /// the index lane.
    private func mayStore() throws(StoreError) -> Bool {
        let session = engine.liveSession(of: key)
        session?.writes.enterWritten(isEnforcing: false)
        if request.options.replacesStored { return true }
        // A reader of this moment has bytes in memory that will be stored.
        if let session, session.state.withLock({ !$0.isIdle() }) { return false }
        return try engine.store.lookup(key)?.spans.isEmpty != false
    }

    private func representation(length: Int64) -> Representation? {
        if let version = request.version { return version }
        var fields: HTTPFields = [:]
        let options = request.options
        let guess =
            MediaKind.mediaType(ofFileExtension: pathExtension(path: request.source.name))
            ?? MediaKind.mediaType(ofFileExtension: pathExtension(url: request.url))
        if let type = options.contentType ?? guess { fields[.contentType] = type }
        switch options.validator {
        case .strong(let tag), .weak(let tag):
            guard tag.hasSuffix("\""), tag.count > 1, EntityTag(tag) != nil else { return nil }
            fields[.entityTag] = tag
        case .lastModified(let date, _): fields[.lastModified] = HTTPDate.format(date)
        case .none: break
        }
        let now = engine.environment.time.wallNow
        return Representation(length: length, validator: options.validator, fields: fields, requestTime: now, responseTime: now)
    }

    // MARK: Copying

    /// Asks for room for the step at `position`, and then runs it. Runs on any lane.
    private func next(_ work: Work, at position: Int64) {
        if cancellation.isCancelled {
            return abandon(work, CacheError(.cancelled, "the import was cancelled; nothing is stored", key: key))
        }
        guard let step = work.files.next(at: position, step: Self.stepBytes) else { return finish(work) }
        let bytes = engine.evictor.allocation(of: step.range)
        let isGranted = engine.evictor.reserve(bytes) { [self] isGranted in run(step, work, bytes, isGranted) }
        if let isGranted { run(step, work, bytes, isGranted) }
    }

    private func run(_ step: ImportFiles.Step, _ work: Work, _ promised: Int64, _ isGranted: Bool) {
        guard isGranted else {
            let message =
                "can't import \(request.source.name): there is no room in the store for its \(work.files.bytes) bytes; pinned bytes and those in use stay"
            return abandon(work, CacheError(.noRoom, message, key: key))
        }
        written.withLock { $0.promisedBytes += promised }
        onDataLane(work.generation) { [self] in
            let failure = engine.isClosed ? closed : copy(step, work)
            engine.evictor.written(promised)
            engine.evictor.landed()
            if let failure { return abandon(work, failure) }
            progress(step.range.count)
            next(work, at: step.range.upperBound)
        }
    }

    private func copy(_ step: ImportFiles.Step, _ work: Work) -> CacheError? {
        guard let target = work.target else { return nil }
        return withUnsafeTemporaryAllocation(byteCount: Int(step.range.count), alignment: 64) { buffer in
            do throws(SystemError) {
                guard try work.files.read(step, into: buffer) else { return changed }
            } catch { return fileError(error) }
            do throws(StoreError) {
                let pieces = try target.write(UnsafeRawBufferPointer(buffer), at: step.range.lowerBound)
                written.withLock { written in
                    for piece in pieces { written.pieces.append(joining: piece) }
                }
                return nil
            } catch { return CacheError(error, key: key) }
        }
    }

    // MARK: Entering

    private func finish(_ work: Work) {
        onDataLane(work.generation) { [self] in
            do throws(SystemError) {
                guard try work.files.areUnchanged() else { return abandon(work, changed) }
            } catch { return abandon(work, fileError(error)) }
            // Jobs that are posted to the lane of a closed cache may never run.
            if engine.isClosed { return abandon(work, closed) }
            engine.environment.indexLane.post { [self] in enter(work) }
        }
    }

    /// Enters the file into the index in one commit. Runs on the index lane.
    private func enter(_ work: Work) {
        do throws(StoreError) {
            guard try mayStore() else { return abandon(work, existsError) }
        } catch { return abandon(work, CacheError(error, key: key)) }
        // The state of the old session no longer holds. Later look-ups go to the index and find the
        // file.
        engine.store.expect(key)
        engine.sessions.withLock { $0.remove(key) }?.end(.removed)
        let (pieces, promised) = written.withLock { written in
            defer { written = Written() }
            return (written.pieces, written.promisedBytes)
        }
        let commit = StoreCommit(
            key: key, url: request.url.withoutUserinfo, generation: work.generation, representation: work.representation,
            fileExtension: work.fileExtension, pieces: pieces, time: engine.environment.time.wallNow)
        let failure = engine.committer.enter(commit)
        engine.evictor.settle(promised)
        if let failure { return abandon(work, CacheError(failure, key: key)) }
        do throws(StoreError) {
            let stored = try engine.store.lookup(key)
            guard stored?.generation == work.generation, stored?.spans.totalBytes == work.files.bytes else {
                if stored?.generation == work.generation { _ = try engine.store.remove(key) }
                return abandon(work, overtaken)
            }
        } catch { return abandon(work, CacheError(error, key: key)) }
        engine.evictor.enforce(sparing: key)
        engine.committer.entered(commit)
        done(.success(ImportedFile(key: key, bytes: work.files.bytes, representation: work.representation)))
    }

    // MARK: Failing

    /// Drops the bytes that were written, gives their room back, and fails.
    private func abandon(_ work: Work, _ error: CacheError) {
        let promised = written.withLock { written in
            defer { written = Written() }
            return written.promisedBytes
        }
        engine.evictor.abandon(promised)
        engine.store.drop(work.generation, key: key, fileExtension: work.fileExtension)
        done(.failure(error))
    }

    private var closed: CacheError { CacheError(.closed, "the cache is closed", key: key) }

    private var changed: CacheError {
        CacheError(.file, "can't import \(request.source.name): it changed while it was read", key: key)
    }

    private var overtaken: CacheError {
        CacheError(.representationChanged, "can't import \(request.source.name): \(key) was removed or stored anew meanwhile", key: key)
    }

    private var existsError: CacheError {
        CacheError(
            .exists,
            "can't import \(request.source.name): something is stored of \(key), or being fetched; remove it first, or let it be replaced",
            key: key)
    }

    private func fail(_ code: CacheError.Code, _ reason: String) {
        done(.failure(CacheError(code, "can't import \(request.source.name): \(reason)", key: key)))
    }

    private func fileError(_ error: SystemError) -> CacheError {
        CacheError(.file, "can't import \(request.source.name): \(error)", key: key, cause: error)
    }

    private func failFile(_ error: SystemError) { done(.failure(fileError(error))) }

    private func onDataLane(_ generation: GenerationID, _ body: @escaping @Sendable () -> Void) {
        engine.environment.dataLane(for: generation).post(body)
    }
}

extension [Piece] {
    /// Appends a piece, joined with the last one where that is possible. Fewer pieces make fewer
    /// rows.
    fileprivate mutating func append(joining piece: Piece) {
        if let joined = last?.joined(with: piece) { self[count - 1] = joined } else { append(piece) }
    }
}

/// Returns the extension of the last part of a path, without the dot, or an empty string if there
/// is none.
private func pathExtension(path: String) -> String {
    let name = path.split(separator: "/" as Character).last ?? ""
    guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return "" }
    return String(name[name.index(after: dot)...])
}
