#if !os(watchOS)
public import Foundation
public import Spool
public import SpoolCore
package import SpoolSystem

/// Fetches a whole resource into the cache, with a `Progress` for a progress view.
///
/// ```swift
/// let download = cache.download(url)
/// progressView.observedProgress = download.progress
/// try await download.finish()
/// ```
///
/// The download shares its origin requests with players of the same resource, and does not fetch
/// stored bytes again. Releasing it cancels it, and bytes that arrived stay stored. Safe to use
/// from any thread.
public final class MediaDownload: @unchecked Sendable {
    // Safe to share: `progress` protects itself, as its documentation states. The rest is behind
    // the lock.

    /// The available bytes, of all. Cancelling the progress cancels the download.
    public let progress = Progress(totalUnitCount: -1)

    private struct State {
        var reader: SessionReader?
        var position: Int64 = 0
        var length: Int64?
        var looks = 0
        /// Whether the process is about to be suspended. The download then waits without a reader.
        var isHeld = false
        var result: Result<Void, CacheError>?
        var observers: [@Sendable (Result<Void, CacheError>) -> Void] = []
        var waiting: [CheckedContinuation<Result<Void, CacheError>, Never>] = []
    }

    /// The number of chunks that one job takes.
    private static let chunksAtOnce = 64
    /// The largest chunk, in bytes.
    private static let chunkBytes = 1 << 20
    /// The number of checks for the last bytes, which may still be on their way to the disk after
    /// they were read, and the time between two checks.
    private static let maxLooks = 100
    private static let lookInterval: Nanoseconds = .milliseconds(100)
    /// The pause before the next attempt after the network policy refused one.
    private static let refusalPause: Nanoseconds = .seconds(5)

    private let cache: MediaCache
    private let url: String
    private let key: ResourceKey
    private let options: ReadOptions
    private let mailbox: any Mailbox
    /// The download's entry among those that keep the app's cache in use, until it ends.
    private let running: DownloadHold
    private let state = Locked(State())
    /// The states for `updates`.
    let broadcast = Broadcast(DownloadProgress())

    /// Starts the download.
    ///
    /// - Parameter waitsForSystem: Whether it waits while the system continues a download of the
    ///   resource, and may be continued by the system itself.
    package init(
        cache: MediaCache, url: String, key: ResourceKey, options: ReadOptions, mailbox: any Mailbox, waitsForSystem: Bool = true
    ) {
        self.cache = cache
        self.url = url
        self.key = key
        self.options = options
        self.mailbox = mailbox
        running = DownloadHold(
            door: cache.playerDoor(make: DoorState.init), mailbox: mailbox, downloadKey: waitsForSystem ? key : nil)
        progress.kind = .file
        progress.cancellationHandler = { [weak self] in self?.cancel() }
        state.withLock { $0.isHeld = true }
        running.begin(self)
        if !running.mustWait { release() }
    }

    deinit {
        running.end()
        broadcast.finish()
        state.withLock { $0.reader }?.leave(explicitly: true)
    }

    /// Opens a reader at the download's position.
    private func open() {
        do {
            let position = state.withLock { $0.position }
            let reader = try cache.sessionReader(
                for: url, key: key, start: position, end: nil, wantsBytes: true, options: options,
                wake: { [weak self, mailbox] in mailbox.post { [weak self] in self?.look() } })
            state.withLock { $0.reader = reader }
            mailbox.post { [weak self] in self?.look() }
        } catch {
            end(.failure(error))
        }
    }

    /// Goes on with a new reader after a pause.
    private func reopen() {
        state.withLock { ($0.position, $0.reader) = (0, nil) }
        _ = cache.environment.time.after(Self.refusalPause, on: mailbox) { [weak self] in
            guard let self, state.withLock({ $0.result == nil && $0.reader == nil && !$0.isHeld }) else { return }
            open()
        }
    }

    // MARK: Suspension

    /// Releases the reader, because the process is about to be suspended.
    func hold() {
        let reader = state.withLock { state in
            state.isHeld = true
            defer { state.reader = nil }
            return state.reader
        }
        reader?.leave(explicitly: true)
    }

    /// Goes on after `hold`, with a new reader. It starts at the first byte, because some of the
    /// last bytes may not have reached the store. Stored bytes cost nothing.
    func release() {
        let isDue = state.withLock { state in
            defer { state.isHeld = false }
            (state.position, state.looks) = (0, 0)
            return state.isHeld && state.result == nil
        }
        if isDue { open() }
    }

    /// The rest of the download, as the system can continue it in the background. Nil if it is
    /// over, if nothing is known about the stored bytes, or if a part cannot be added to them.
    var handOver: HandOver? {
        guard state.withLock({ $0.result == nil }) else { return nil }
        return cache.continuation(of: key).flatMap { HandOver(url: url, key: key, access: options.access, rest: $0) }
    }

    /// Calls `done` with the result: at once if the download is over, or when it ends.
    func whenOver(_ done: @escaping @Sendable (Result<Void, CacheError>) -> Void) {
        let known = state.withLock { state in
            if state.result == nil { state.observers.append(done) }
            return state.result
        }
        if let known { done(known) }
    }

    /// Waits until every byte is stored. Cancelling the waiting task cancels the download.
    ///
    /// - Throws: The error that prevents it. `.notStored` for a resource that must not be stored,
    ///   `.closed` after `cancel`.
    public func finish() async throws(CacheError) {
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let known = state.withLock { state in
                    if state.result == nil { state.waiting.append(continuation) }
                    return state.result
                }
                if let known { continuation.resume(returning: known) }
            }
        } onCancel: { [weak self] in
            self?.cancel()
        }
        try result.get()
    }

    /// Cancels the download. Bytes that arrived stay stored.
    public func cancel() {
        end(.failure(CacheError(.closed, "the download was cancelled", key: key)))
    }

    /// The result of the download, or nil while it runs.
    package var result: Result<Void, CacheError>? { state.withLock { $0.result } }

    // MARK: Reading

    private func look() {
        guard let reader = state.withLock({ $0.result == nil ? $0.reader : nil }) else { return }
        guard state.withLock({ $0.length != nil }) || learn(reader) else { return }
        for _ in 0..<Self.chunksAtOnce {
            switch reader.next(max: Self.chunkBytes) {
            case .file(_, let range): took(Int(range.count), reader, fromOrigin: false)
            case .memory(let memory, _): took(memory.count, reader, fromOrigin: true)
            case .wait: return
            case .end: return confirm()
            // A player of the same resource gave up. The download waits for the network on its own.
            case .failed(let error) where error.code == .networkRefused: return reopen()
            case .failed(let error): return end(.failure(error))
            }
        }
        mailbox.post { [weak self] in self?.look() }
    }

    /// Reads the length of the resource.
    ///
    /// - Returns: Whether the length is known now.
    private func learn(_ reader: SessionReader) -> Bool {
        switch reader.prepare() {
        case .wait: return false
        case .failed(let error):
            end(.failure(error))
            return false
        case .ready(_, let representation):
            reader.markTold()
            state.withLock { $0.length = representation.length ?? 0 }
            if let length = representation.length {
                progress.totalUnitCount = length
                update { $0.totalBytes = length }
            }
            return true
        }
    }

    private func took(_ count: Int, _ reader: SessionReader, fromOrigin: Bool) {
        reader.advance(by: count, fromOrigin: fromOrigin)
        let position = state.withLock { state in
            state.position += Int64(count)
            return state.position
        }
        progress.completedUnitCount = max(progress.completedUnitCount, position)
        update { $0.completedBytes = max($0.completedBytes, position) }
    }

    private func update(_ change: (inout DownloadProgress) -> Void) {
        var progress = broadcast.value
        change(&progress)
        broadcast.send(progress)
    }

    /// Checks that the bytes are stored, after all of them were available.
    private func confirm() {
        guard !state.withLock({ $0.isHeld }) else { return }
        let (length, looks) = state.withLock { state in
            state.looks += 1
            return (state.position, state.looks)
        }
        let whole = ByteRange(0, length)
        if whole.map({ cache.storedNow(of: key)?.contains($0) == true }) != false { return end(.success(())) }
        guard looks < Self.maxLooks else {
            return end(.failure(CacheError(.notStored, "the resource was fetched, and is not or must not be stored", key: key)))
        }
        _ = cache.environment.time.after(Self.lookInterval, on: mailbox) { [weak self] in self?.confirm() }
    }

    private func end(_ result: Result<Void, CacheError>) {
        let (reader, waiting, observers, isFirst) = state.withLock { state in
            let isFirst = state.result == nil
            if isFirst { state.result = result }
            defer { (state.reader, state.waiting, state.observers) = (nil, [], []) }
            return (state.reader, state.waiting, state.observers, isFirst)
        }
        guard isFirst else { return }
        running.end()
        var isWanted = false
        if case .success = result { isWanted = true }
        reader?.leave(explicitly: !isWanted)
        if isWanted, progress.totalUnitCount < 0 { progress.totalUnitCount = progress.completedUnitCount }
        update { progress in
            progress.isOver = true
            if isWanted, progress.totalBytes == nil { progress.totalBytes = progress.completedBytes }
        }
        broadcast.finish()
        for continuation in waiting { continuation.resume(returning: result) }
        for done in observers { done(result) }
    }
}

/// Keeps a cache in use while a download runs, and passes a suspension on to it. It does not keep
/// the download alive.
private final class DownloadHold: LoadingParty {
    private struct State {
        weak var download: MediaDownload?
    }

    private let door: DoorState
    private let mailbox: any Mailbox
    private let state = Locked(State())
    /// Nil for a download that stores a file of the system.
    let downloadKey: ResourceKey?

    init(door: DoorState, mailbox: any Mailbox, downloadKey: ResourceKey?) {
        self.door = door
        self.mailbox = mailbox
        self.downloadKey = downloadKey
    }

    /// Whether the store is suspended, or the system continues the download.
    var mustWait: Bool { door.isHeld || downloadKey.map(door.isInBackground) == true }

    var handOver: HandOver? { downloadKey == nil ? nil : download?.handOver }

    func begin(_ download: MediaDownload) {
        state.withLock { $0.download = download }
        door.note(self, isDownloading: true)
    }

    func end() { door.note(self, isDownloading: false) }

    private var download: MediaDownload? { state.withLock { $0.download } }

    func tryAgainSoon() {}

    func holdSoon(_ done: @escaping @Sendable () -> Void) {
        mailbox.post { [self] in
            download?.hold()
            done()
        }
    }

    func releaseSoon() {
        mailbox.post { [self] in download?.release() }
    }
}

extension CachingAssetFactory {
    /// Fetches a whole resource into the cache. The parameters are those of `asset(for:)`. The
    /// cookies are those of this moment.
    ///
    /// - Throws: `.unsupportedURL` for a URL that cannot be cached.
    public func download(
        _ url: URL, key: ResourceKey? = nil, headers: [String: String] = [:], options: [String: Any]? = nil
    ) throws(CacheError) -> MediaDownload {
        var read = ReadOptions(fetchPolicy: .wholeResource)
        read.priority = .prefetch
        let (key, options) = try reading(url, key, headers, options, read)
        return MediaDownload(cache: cache, url: url.absoluteString, key: key, options: options, mailbox: makeQueue().mailbox)
    }
}

extension MediaCache {
    /// Fetches a whole resource into the cache.
    ///
    /// - Throws: `.unsupportedURL` for a URL that cannot be cached.
    public func download(
        _ url: URL, key: ResourceKey? = nil, headers: [String: String] = [:], options: [String: Any]? = nil
    ) throws(CacheError) -> MediaDownload {
        try CachingAssetFactory(cache: self).download(url, key: key, headers: headers, options: options)
    }
}
#endif
