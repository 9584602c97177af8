import Spool
import SpoolCore
import SpoolOrigin
import SpoolStore
import SpoolSystem

/// One upload: a look at the store, a look at the bucket, and the bytes.
///
/// Index calls run on the index lane, and reads on the data lane of the generation, 1 MiB in a job.
/// So memory is bounded, and other jobs get their turn. Between two jobs the resource may be
/// evicted or replaced, which ends the upload.
final class BucketUpload: Sendable {
    /// The bytes that are read in one job: a whole number of chunks.
    private static let runBytes: Int64 = 4 * BucketManifest.chunkBytes
    /// The pause between two runs while players need bytes.
    private static let yieldingPause: Nanoseconds = .milliseconds(500)
    /// The most such pauses in a row. A bucket ends a request that stands still for long.
    private static let mostPauses = 8

    private let key: ResourceKey
    private let bucket: Bucket
    private let host: any TierHost
    private let ended: @Sendable (UploadQueue.Outcome) -> Void

    private struct State {
        var transfer: (any Transfer)?
        var body: RequestBody?
        var isCancelled = false
        var isOver = false
        /// Whether the store ended the upload, and not the bucket.
        var isAbandoned = false
        /// The bytes that wait for room in the request's body.
        var pending: ArraySlice<UInt8> = []
        /// The digests of the chunks so far.
        var digests: [UInt8] = []
        var position: Int64 = 0
        var pauses = 0
        /// Whether a job of `proceed` is under way.
        var isProceeding = false
        /// Whether there was room again while it was.
        var owesProceeding = false
    }

    private let state = Locked(State())

    init(key: ResourceKey, bucket: Bucket, host: any TierHost, ended: @escaping @Sendable (UploadQueue.Outcome) -> Void) {
        self.key = key
        self.bucket = bucket
        self.host = host
        self.ended = ended
    }

    /// The resource that is uploaded.
    private struct Source: Sendable {
        var generation: GenerationID
        var fields: HTTPFields
        var length: Int64
        var tag: String
        var file: any DataFile
        var trailerBytes: Int
        var version: String { BucketManifest.versionName(tag: tag, length: length) }
    }

    // MARK: Finding

    /// Begins. `ended` is called once, unless the cache closes.
    func start() {
        host.onIndexLane(
            key,
            { [self] (result: Result<Source?, CacheError>) in
                switch result {
                case .success(let source?): look(source)
                // The resource is not complete, or not for everybody.
                case .success(nil), .failure: end(.done)
                }
            }
        ) { [self] () throws(StoreError) in try find() }
    }

    private func find() throws(StoreError) -> Source? {
        // The process that writes to the store evicts, and a pin holds in that process only.
        guard host.store.isWritable else { return nil }
        guard host.enterWritten(of: key), let stored = try host.store.lookup(key), stored.representation.isContent,
            stored.representation.mark == nil, let length = stored.representation.length, let whole = ByteRange(0, length),
            stored.spans.contains(whole),
            let tag = BucketRules.tag(of: stored.representation.fields), bucket.note({ $0.wantsUpload(key, tag: tag) }),
            isNamed(stored.url)
        else { return nil }
        let fields = stored.representation.fields
        let trailerBytes = BucketManifest.trailerBytes(key: key, length: length, fields: fields)
        guard trailerBytes <= BucketManifest.maximumTrailerBytes, length + Int64(trailerBytes) <= BucketManifest.maximumObjectBytes
        else { return nil }
        let file = try host.store.dataFile(of: stored.generation, key: key, fileExtension: stored.fileExtension)
        return Source(
            generation: stored.generation, fields: fields, length: length, tag: tag, file: file, trailerBytes: trailerBytes)
    }

    /// Whether the key is that of the URL alone, and not of a variant or a user.
    private func isNamed(_ url: String) -> Bool {
        // A URL that can't be parsed has no key.
        guard let url = try? MediaURL(url) else { return false }
        return bucket.keyPolicy.key(for: url) == key
    }

    /// Asks whether the bucket has this version, perhaps from another node.
    private func look(_ source: Source) {
        guard !bucket.note({ $0.isDamaged(key) }) else { return put(source) }
        send(bucket.address.head(of: key)) { [self] head in
            switch head.status {
            case 200 where head.fields[BucketAddress.versionField] == source.version:
                bucket.note { $0.uploaded(key, tag: source.tag) }
                end(.done)
            case 200, 404: put(source)
            case let status: fail("status \(status)")
            }
        }
    }

    // MARK: Sending

    private func put(_ source: Source) {
        let body = RequestBody(count: source.length + Int64(source.trailerBytes))
        let isCancelled = state.withLock { state in
            state.body = body
            return state.isCancelled
        }
        if isCancelled { return end(.done) }
        body.onRoom { [weak self] in self?.continues(source, body) }
        send(bucket.address.put(body, version: source.version, at: key)) { [self] head in
            guard (200...299).contains(head.status) else { return fail("status \(head.status)") }
            bucket.note { $0.uploaded(key, tag: source.tag) }
            bucket.count { counts in
                counts.uploads += 1
                counts.uploadedBytes += source.length
            }
            bucket.record(BucketEvent.uploaded(key, bytes: source.length))
            end(.done)
        }
        continues(source, body)
    }

    /// Sends a request, and passes on the head of the answer. Without one, the upload has failed.
    private func send(_ request: OriginRequest?, _ answered: @escaping @Sendable (ResponseHead) -> Void) {
        guard let request else { return end(.done) }
        let receiver = AnswerReceiver { [self] result in
            guard !state.withLock({ $0.isAbandoned }) else { return end(.done) }
            switch result {
            case .success(let (head, _)): answered(head)
            case .failure(let error): fail("\(error)")
            }
        }
        let transfer = bucket.wire.start(request, receiver: receiver)
        let isCancelled = state.withLock { state in
            state.transfer = transfer
            return state.isCancelled || state.isAbandoned
        }
        if isCancelled { transfer.cancel() }
    }

    /// Fills the request's body on the data lane, for as long as there is room. One job at a time
    /// does it.
    private func continues(_ source: Source, _ body: RequestBody) {
        let begins = state.withLock { state in
            guard !state.isOver, !state.isCancelled, !state.isAbandoned else { return false }
            state.owesProceeding = state.isProceeding
            return !exchange(&state.isProceeding, with: true)
        }
        if begins { onDataLane(source) { [self] in proceed(source, body) } }
    }

    /// Ends the job, or begins the next one if there was room meanwhile.
    private func waitForRoom(_ source: Source, _ body: RequestBody) {
        let isOwed = state.withLock { state in
            state.isProceeding = false
            return state.owesProceeding
        }
        if isOwed { continues(source, body) }
    }

    private func proceed(_ source: Source, _ body: RequestBody) {
        let (pending, position) = state.withLock { state in
            state.owesProceeding = false
            return (state.pending, state.position)
        }
        if !pending.isEmpty {
            let taken = pending.withUnsafeBytes { body.write($0) }
            state.withLock { $0.pending = pending.dropFirst(taken) }
            // The body calls again when it has room for the rest.
            if taken < pending.count { return waitForRoom(source, body) }
            return onDataLane(source) { [self] in proceed(source, body) }
        }
        guard let run = ByteRange(position, min(source.length, position + Self.runBytes)) else { return finish(source, body) }
        guard mayGoOn() else {
            _ = bucket.time.after(Self.yieldingPause, on: bucket.mailbox) { [self] in
                onDataLane(source) { [self] in proceed(source, body) }
            }
            return
        }
        read(run, source, body)
    }

    /// Whether the next run may be read now. Players go first, for a bounded time.
    private func mayGoOn() -> Bool {
        let isBusy = host.servesPlayers
        return state.withLock { state in
            guard isBusy, state.pauses < Self.mostPauses else {
                state.pauses = 0
                return true
            }
            state.pauses += 1
            return false
        }
    }

    /// Reads a run, and then verifies the stored bytes. In this order an eviction that frees them
    /// meanwhile is noticed, and the pin keeps it from beginning.
    private func read(_ run: ByteRange, _ source: Source, _ body: RequestBody) {
        host.onIndexLane(
            key,
            { [self] (result: Result<(TemporaryPin, [Piece]), CacheError>) in
                guard case .success(let (pin, pieces)) = result, ByteRangeSet([run]).subtracting(ByteRangeSet(pieces.map(\.range))).isEmpty
                else { return abandon("it was evicted or replaced meanwhile") }
                onDataLane(source) { [self] in
                    defer { withExtendedLifetime(pin) {} }
                    // A reader of the same bytes reports the reason.
                    guard let bytes = try? source.file.bytes(in: run), bytes.count == run.count, source.file.damage(in: pieces).isEmpty
                    else { return abandon("its stored bytes can't be read") }
                    take(bytes, upTo: run.upperBound)
                    proceed(source, body)
                }
            }
        ) { [host, key] () throws(StoreError) in
            let pin = host.temporaryPin(of: key)
            return (pin, try host.store.pieces(of: source.generation, in: run).compactMap { $0.blocks(touching: run) })
        }
    }

    private func take(_ bytes: [UInt8], upTo position: Int64) {
        let chunkBytes = Int(BucketManifest.chunkBytes)
        let digests = bytes.withUnsafeBytes { buffer in
            stride(from: 0, to: buffer.count, by: chunkBytes).flatMap { lower in
                SHA256Digest.of(UnsafeRawBufferPointer(rebasing: buffer[lower..<min(lower + chunkBytes, buffer.count)]))
            }
        }
        state.withLock { state in
            state.digests += digests
            state.pending = bytes[...]
            state.position = position
        }
    }

    /// Writes the trailer behind the last byte, once.
    private func finish(_ source: Source, _ body: RequestBody) {
        let digests = state.withLock { exchange(&$0.digests, with: []) }
        guard !digests.isEmpty,
            let manifest = BucketManifest(key: key, length: source.length, fields: source.fields, digests: digests)
        else { return waitForRoom(source, body) }
        state.withLock { $0.pending = manifest.trailer[...] }
        proceed(source, body)
    }

    private func onDataLane(_ source: Source, _ job: @escaping @Sendable () -> Void) {
        host.onDataLane(of: source.generation) { [self] in
            if !host.isClosed, !state.withLock({ $0.isCancelled || $0.isOver || $0.isAbandoned }) { job() }
        }
    }

    // MARK: Ending

    /// Ends the upload, because the cache closes.
    func cancel() { breakOff { $0.isCancelled = true } }

    /// Ends the upload, because the store has the bytes no more.
    private func abandon(_ why: String) {
        bucket.record(BucketEvent.uploadFailed(key, reason: why))
        breakOff { $0.isAbandoned = true }
    }

    private func breakOff(_ note: (inout State) -> Void) {
        let (transfer, body) = state.withLock { state in
            note(&state)
            return (state.transfer, state.body)
        }
        body?.breakOff()
        transfer?.cancel()
    }

    private func fail(_ why: String) {
        guard !state.withLock({ $0.isCancelled }) else { return end(.done) }
        bucket.count { $0.uploadFailures += 1 }
        bucket.record(BucketEvent.uploadFailed(key, reason: why))
        end(.failed)
    }

    private func end(_ outcome: UploadQueue.Outcome) {
        let isFirst = state.withLock { state in
            defer { (state.isOver, state.transfer, state.body, state.pending, state.digests) = (true, nil, nil, [], []) }
            return !state.isOver
        }
        if isFirst { ended(outcome) }
    }
}
