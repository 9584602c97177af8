import SpoolCore
import SpoolManifests
import SpoolStore
import SpoolSystem

/// Reads the planned bytes of one resource, so that they are stored.
///
/// A part of a `Preload`, which owns it: releasing the object ends it. Its work runs on the
/// mailbox.
final class ResourcePreload: Sendable {
    /// The bytes to fetch.
    enum Goal: Sendable {
        /// The beginning of a resource. If it turns out to be a manifest, all of it is read.
        case beginning(PreloadAmount)
        /// A manifest. Of any other resource only the first bytes are read.
        case manifest
        /// The beginning of a part of a presentation.
        case part(PreloadAmount)
        /// A range of a part.
        case range(ByteRange)

        /// The bytes that a download must have.
        var needed: ByteRangeSet { if case .range(let range) = self { ByteRangeSet([range]) } else { .whole } }
    }

    /// The result.
    struct Outcome: Sendable {
        var result: PreloadResult
        /// The bytes of the manifest, and its URL behind redirects; nil for any other resource.
        var manifest: (bytes: [UInt8], url: String)?
    }

    /// The settings that all resources of a preload share.
    struct Settings: Sendable {
        let cache: MediaCache
        var options: ReadOptions
        let mailbox: any Mailbox
        var subject = Preload.Subject.any
        /// Whether the resource is pinned before it is read.
        var isPinning = false
        /// Whether nothing evicts the bytes as long as the preload exists.
        var protects = false
        /// The questions to a list of downloads that the preload works for.
        var download: DownloadChecks?
    }

    private struct State {
        var reader: SessionReader?
        var plan: PreloadPlan?
        /// The progress that was reported last.
        var reported: PreloadProgress?
        /// The range that is being read, and whether its bytes are examined.
        var target: ByteRange?
        var isExamined = false
        var position: Int64 = 0
        /// The digest of the bytes that were read, if they have to have a certain one.
        var digest: RunningSHA256?
        /// The stored bytes when the preload began.
        var before = ByteRangeSet()
        /// Whether the stored bytes are known.
        var isBegun = false
        var isPaused = false
        var looks = 0
        /// The time until the next check.
        var interval = ResourcePreload.firstInterval
        var isConfirming = false
        var isOver = false
        /// The bytes of a manifest that was read.
        var manifest: [UInt8]?
        var finalURL: String?
    }

    /// The questions to a list of downloads. An error ends the preload.
    struct DownloadChecks: Sendable {
        /// Called before bytes of a resource are read.
        let beginning: @Sendable (ResourceKey, ByteRangeSet) -> CacheError?
        /// Called when the version of a resource is known, and its length or that it has none, before
        /// its first byte is taken.
        let lengthKnown: @Sendable (ResourceKey, GenerationID, Int64?) -> CacheError?
        /// The SHA-256 that the bytes must have, or nil for any.
        var sha256: [UInt8]?
    }

    /// The number of chunks that one job takes.
    private static let chunksAtOnce = 64
    /// The largest chunk, in bytes.
    private static let chunkBytes = 256 << 10
    /// The first range, until the length is known.
    private static let firstBytes: Int64 = 16 << 10
    /// The number of checks for the last bytes, which may still be on their way to the disk.
    private static let maximumLooks = 100
    /// The time between the first two checks, which doubles, and the longest time between two.
    private static let firstInterval: Nanoseconds = .milliseconds(1)
    private static let longestInterval: Nanoseconds = .milliseconds(100)

    let key: ResourceKey
    private let url: String
    private let goal: Goal
    private let settings: Settings
    private let report: @Sendable (PreloadProgress) -> Void
    private let done: Completion<Outcome>
    private let state = Locked(State())

    private var cache: MediaCache { settings.cache }
    private var mailbox: any Mailbox { settings.mailbox }

    /// Creates a preload that does nothing yet.
    ///
    /// - Parameters:
    ///   - report: Called with each progress, on the mailbox.
    ///   - done: Called once with the result, on the mailbox, unless the preload is cancelled.
    init(
        url: String, key: ResourceKey, goal: Goal, settings: Settings, report: @escaping @Sendable (PreloadProgress) -> Void,
        done: @escaping Completion<Outcome>
    ) {
        self.url = url
        self.key = key
        self.goal = goal
        self.settings = settings
        self.report = report
        self.done = done
        if settings.download?.sha256 != nil { state.withLock { $0.digest = RunningSHA256() } }
    }

    deinit { state.withLock { $0.reader }?.leave(explicitly: true) }

    // MARK: Control

    /// Stops without a result.
    func cancel() { _ = over() }

    /// Sets whether the caller has paused the preload. Called on the mailbox.
    func setPaused(_ isPaused: Bool) { change { $0.isPaused = isPaused } }

    // MARK: Beginning

    /// Pins the resource if its presentation is pinned, and looks up the stored bytes. Then opens
    /// the reader, unless it is paused.
    func begin() {
        if let error = settings.download?.beginning(key, goal.needed) { return mailbox.post { [weak self] in self?.end(.failure(error)) } }
        guard settings.isPinning else { return lookUp() }
        cache.setPinned(key, true) { [weak self, mailbox] pinned in
            switch pinned {
            case .failure(let error): mailbox.post { [weak self] in self?.end(.failure(error)) }
            case .success: self?.lookUp()
            }
        }
    }

    private func lookUp() {
        cache.status(of: key) { [weak self, mailbox] found in
            mailbox.post { [weak self] in self?.begin(found) }
        }
    }

    private func begin(_ found: Result<ResourceStatus?, CacheError>) {
        switch found {
        case .failure(let error): end(.failure(error))
        case .success(let status):
            let isStored = state.withLock { state in
                state.before = status?.stored ?? ByteRangeSet()
                state.isBegun = true
                return begin(storedPart: status, &state)
            }
            if isStored { finish() } else { open() }
        }
    }

    /// Skips a part of a downloaded presentation that is stored already, whatever its age.
    ///
    /// - Returns: Whether nothing is left to read.
    private func begin(storedPart status: ResourceStatus?, _ state: inout State) -> Bool {
        guard settings.subject == .presentation, let status else { return false }
        let plan = plan(for: status.representation)
        guard let planned = plan.planned, planned.subtracting(status.stored).isEmpty else { return false }
        (state.plan, state.isConfirming) = (plan, true)
        return true
    }

    /// Opens the reader if there is none, and the preload is not paused.
    private func open() {
        guard state.withLock({ $0.isBegun && !$0.isPaused && $0.reader == nil && !$0.isOver }) else { return }
        do throws(CacheError) {
            let reader = try cache.sessionReader(
                for: url, key: key, start: firstRange.lower, end: firstRange.upper, wantsBytes: true, options: settings.options,
                wake: { [weak self, mailbox] in mailbox.post { [weak self] in self?.readAvailable() } })
            let isOver = state.withLock { state in
                if !state.isOver { state.reader = reader }
                return state.isOver
            }
            if isOver { reader.leave(explicitly: true) } else { readAvailable() }
        } catch {
            end(.failure(error))
        }
    }

    /// The first range, until the length is known. An end of nil is that of the resource.
    private var firstRange: (lower: Int64, upper: Int64?) {
        switch goal {
        case .range(let range): (range.lowerBound, range.upperBound)
        case .beginning(.bytes(let count, let start)), .part(.bytes(let count, let start)):
            (0, start > 0 ? Self.firstBytes : max(0, min(count, ByteRange.maximumOffset)))
        case .beginning(.seconds), .part(.seconds), .beginning(.segments), .part(.segments): (0, Self.firstBytes)
        case .beginning(.whole), .part(.whole), .manifest: (0, nil)
        }
    }

    /// Returns the plan for the resource that the origin describes.
    private func plan(for representation: Representation) -> PreloadPlan {
        switch goal {
        case .range(let range): return PreloadPlan(range, length: representation.length)
        case .part(let amount): return PreloadPlan(amount, length: representation.length)
        case .manifest: return plan(.bytes(0), for: representation, suspicion: .named)
        case .beginning(let amount):
            let suspicion = ManifestSuspicion(contentType: representation.contentType, url: representation.finalURL ?? url)
            return plan(amount, for: representation, suspicion: suspicion)
        }
    }

    private func plan(_ amount: PreloadAmount, for representation: Representation, suspicion: ManifestSuspicion) -> PreloadPlan {
        // Coded bytes can't be read here.
        PreloadPlan(amount, length: representation.length, suspicion: representation.fields.contentCoding == nil ? suspicion : .none)
    }

    // MARK: Pausing

    /// Changes the state, and lets the reader go or continues it when that changes `isPaused`.
    private func change(_ change: (inout State) -> Void) {
        let (before, after, reader, position, end) = state.withLock { state in
            let before = state.isPaused
            change(&state)
            return (before, state.isPaused, state.reader, state.position, state.target?.upperBound)
        }
        guard before != after else { return }
        guard let reader else { return open() }
        // A reader with an empty range needs no bytes, so its fetch pauses at once.
        if let end { reader.seek(to: position, end: after ? position : end) }
        if !after { readAvailable() }
    }

    // MARK: Reading

    /// Takes the bytes that are available. Runs on the mailbox.
    private func readAvailable() {
        for _ in 0..<Self.chunksAtOnce {
            guard let reader = state.withLock({ !$0.isOver && !$0.isPaused && !$0.isConfirming ? $0.reader : nil }) else { return }
            guard state.withLock({ $0.plan != nil }) || describe(reader) else { return }
            guard state.withLock({ $0.plan?.isMisled != true }) else {
                moveOn(reader)
                continue
            }
            switch reader.next(max: Self.chunkBytes) {
            case .file(let file, let range): take(file, range, reader)
            case .memory(let memory):
                take(memory.count, needsBytes ? memory.copy() : [])
                reader.advance(by: memory.count, fromOrigin: true)
            case .wait: return publish()
            case .end:
                endRange()
                moveOn(reader)
            case .failed(let error): return end(.failure(error))
            }
        }
        if let reason = missingRoom { return end(.failure(reason)) }
        publish()
        mailbox.post { [weak self] in self?.readAvailable() }
    }

    /// Whether the bytes are looked at, and not only stored.
    private var needsBytes: Bool { state.withLock { $0.isExamined || $0.digest != nil } }

    /// Reads the length of the resource, and makes the plan.
    ///
    /// - Returns: Whether there is a plan now.
    private func describe(_ reader: SessionReader) -> Bool {
        switch reader.prepare() {
        case .wait: return false
        case .failed(let error):
            end(.failure(error))
            return false
        case .ready(let generation, let representation):
            reader.markTold()
            if let error = settings.download?.lengthKnown(key, generation, representation.length) {
                end(.failure(error))
                return false
            }
            let plan = plan(for: representation)
            state.withLock { ($0.plan, $0.finalURL) = (plan, representation.finalURL) }
            moveOn(reader)
            return state.withLock { !$0.isOver && !$0.isConfirming }
        }
    }

    private func take(_ file: any StoredBytes, _ range: ByteRange, _ reader: SessionReader) {
        guard needsBytes else {
            take(Int(range.count), [])
            return reader.advance(by: Int(range.count), fromOrigin: false)
        }
        guard let bytes = reader.read(range, of: file) else { return }
        take(bytes.count, bytes)
        reader.advance(by: bytes.count, fromOrigin: false)
    }

    private func take(_ count: Int, _ bytes: [UInt8]) {
        state.withLock { state in
            if state.isExamined { state.plan?.received(bytes, at: state.position) }
            bytes.withUnsafeBytes { state.digest?.append($0) }
            let end = state.position.addingSaturated(Int64(count))
            if let range = ByteRange(state.position, end) { state.plan?.passed(range) }
            state.position = end
        }
    }

    /// Ends the resource if it has ended inside the range.
    private func endRange() {
        state.withLock { state in
            guard let target = state.target, state.position < target.upperBound else { return }
            state.plan?.ended(at: state.position)
        }
    }

    /// Moves the reader to the next range.
    private func moveOn(_ reader: SessionReader) {
        publish()
        let step = state.withLock { state in
            let step = state.plan?.next()
            if case .read(let range, let isExamined) = step {
                (state.target, state.isExamined, state.position) = (range, isExamined, range.lowerBound)
            } else {
                state.isConfirming = true
            }
            return step
        }
        switch step {
        case .read(let target, _): reader.seek(to: target.lowerBound, end: target.upperBound)
        case .manifest(let bytes):
            state.withLock { $0.manifest = bytes }
            // A manifest that may not be stored still names its parts. A download has to store it.
            if settings.subject == .presentation { confirm() } else { finish() }
        case .done, nil: confirm()
        }
    }

    /// Reports the progress, if it is another one than the last.
    private func publish() {
        let progress = state.withLock { state -> PreloadProgress? in
            guard !state.isOver, let plan = state.plan else { return nil }
            var progress = plan.progress
            progress.storedBytes = plan.passedBytes.intersection(state.before).totalBytes
            guard progress != state.reported else { return nil }
            state.reported = progress
            return progress
        }
        if let progress { report(progress) }
    }

    // MARK: Ending

    /// The reason why the bytes are passed on without being stored, or nil.
    private var passReason: NotStoredReason? { cache.engine.liveSession(of: key)?.liveStatus.passReason }

    /// The error of a resource that is not stored for want of room, or nil.
    private var missingRoom: CacheError? {
        switch passReason {
        case .quotaReached?: CacheError(.noRoom, "\(url) was not preloaded: \(NotStoredReason.quotaReached)", key: key)
        case .diskReserved?: CacheError(.noRoom, "\(url) was not preloaded: \(NotStoredReason.diskReserved)", key: key)
        default: nil
        }
    }

    /// Checks that the planned bytes are stored, after all of them were available.
    private func confirm() {
        let (planned, looks, interval, isOver) = state.withLock { state in
            state.looks += 1
            defer { state.interval = min(state.interval * 2, Self.longestInterval) }
            return (state.plan?.planned ?? ByteRangeSet(), state.looks, state.interval, state.isOver)
        }
        guard !isOver else { return }
        let live = cache.storedNow(of: key)
        let stored = live ?? ByteRangeSet()
        // The index has the bytes of another process later.
        if cache.configuration.network.tierStores() || planned.subtracting(stored).isEmpty { return finish() }
        if let reason = missingRoom { return end(.failure(reason)) }
        let reason = passReason
        // No byte is on its way to the disk if the response forbids it from the beginning.
        guard looks < Self.maximumLooks, reason != .noStore || !stored.isEmpty else {
            guard let reason else {
                // A removal ends the session, and an eviction does not. A download, which is not
                // evicted, begins again.
                let isEvicted = live != nil && settings.download == nil
                let reason = "\(url) was \(isEvicted ? "evicted" : "removed") before it was stored as a whole"
                return end(.failure(CacheError(isEvicted ? .noRoom : .removed, reason, key: key)))
            }
            return end(.failure(CacheError(.notStored, "\(url) was fetched, and is not stored: \(reason)", key: key)))
        }
        _ = cache.environment.time.after(interval, on: mailbox) { [weak self] in self?.confirm() }
    }

    /// Removes bytes that do not have the SHA-256 that they must have.
    private func refuse(_ found: [UInt8], insteadOf expected: [UInt8]) {
        let reason = "the SHA-256 of \(url) is \(found.hexadecimal), and must be \(expected.hexadecimal); its bytes were removed"
        cache.engine.remove(
            [key],
            { [weak self, mailbox, key] (removed: Result<Bool, CacheError>) in
                let result = removed.flatMap { _ in Result<Outcome, CacheError>.failure(CacheError(.notStored, reason, key: key)) }
                mailbox.post { [weak self] in self?.end(result) }
            }
        ) { [cache, key] () throws(StoreError) in try cache.store.remove(key) }
    }

    /// Ends with the result, once all planned bytes are stored.
    private func finish() {
        let digest = state.withLock { state in
            defer { state.digest = nil }
            return state.digest?.finish()
        }
        if let expected = settings.download?.sha256, let digest, digest != expected { return refuse(digest, insteadOf: expected) }
        let outcome = outcome
        let bytes = outcome.result.fetchedBytes.addingSaturated(outcome.result.storedBytes)
        if case .range(let range) = goal, bytes < range.count {
            let reason = "\(url) has only \(bytes) of the \(range.count) bytes that its playlist lists"
            return end(.failure(CacheError(.originMalformed, reason, key: key)))
        }
        end(.success(outcome))
    }

    private var outcome: Outcome {
        state.withLock { state in
            let planned = state.plan?.planned ?? ByteRangeSet()
            let stored = planned.intersection(state.before).totalBytes
            let result = PreloadResult(
                key: key, fetchedBytes: planned.totalBytes.subtractingSaturated(stored), storedBytes: stored,
                bytesReason: state.plan?.bytesReason)
            return Outcome(result: result, manifest: state.manifest.map { ($0, state.finalURL ?? url) })
        }
    }

    private func end(_ result: Result<Outcome, CacheError>) {
        if over() { done(result) }
    }

    /// - Returns: Whether this call ended the preload.
    private func over() -> Bool {
        let (reader, isFirst) = state.withLock { state in
            defer { (state.reader, state.isOver) = (nil, true) }
            return (state.reader, !state.isOver)
        }
        reader?.leave(explicitly: true)
        return isFirst
    }
}
