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
/// try await download.completion()
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
        /// The preload that fetches the bytes, and its number among those of the download.
        var preload: Preload?
        var number = 0
        /// Whether the process is about to be suspended. The download then waits without a preload.
        var isHeld = false
        var result: Result<Void, CacheError>?
        var observers: [@Sendable (Result<Void, CacheError>) -> Void] = []
        var waiting: [CheckedContinuation<Result<Void, CacheError>, Never>] = []
    }

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
        state.withLock { $0.preload }?.cancel()
    }

    /// Begins to fetch. Stored bytes are free, so each preload begins with the first byte.
    private func open() {
        let number = state.withLock { state in
            state.number += 1
            return state.number
        }
        let preload = Preload.wholeResource(in: cache, url, key: key, options: options, mailbox: mailbox)
        let isWanted = state.withLock { state in
            guard state.result == nil, !state.isHeld, state.number == number else { return false }
            state.preload = preload
            return true
        }
        guard isWanted else { return preload.cancel() }
        preload.follow { [weak self, mailbox] progress in mailbox.post { [weak self] in self?.came(progress) } }
        preload.whenOver { [weak self, mailbox] result in mailbox.post { [weak self] in self?.ended(number, result.map { _ in }) } }
    }

    /// Goes on after a pause.
    private func reopen() {
        state.withLock { $0.preload = nil }
        _ = cache.environment.time.after(Self.refusalPause, on: mailbox) { [weak self] in
            guard let self, state.withLock({ $0.result == nil && $0.preload == nil && !$0.isHeld }) else { return }
            open()
        }
    }

    // MARK: Suspension

    /// Stops fetching, because the process is about to be suspended.
    func hold() {
        let preload = state.withLock { state in
            (state.isHeld, state.number) = (true, state.number + 1)
            defer { state.preload = nil }
            return state.preload
        }
        preload?.cancel()
    }

    /// Goes on after `hold`. Some of the last bytes may not have reached the store.
    func release() {
        let isDue = state.withLock { state in
            defer { state.isHeld = false }
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
    ///   `.noRoom` when the store lacks room for it, `.closed` after `cancel`.
    public func completion() async throws(CacheError) {
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

    // MARK: Fetching

    private func came(_ new: PreloadProgress) {
        guard state.withLock({ $0.result == nil }) else { return }
        progress.completedUnitCount = max(progress.completedUnitCount, new.doneBytes)
        if let total = new.totalBytes, progress.totalUnitCount < 0 { progress.totalUnitCount = total }
        update { state in
            state.completedBytes = max(state.completedBytes, new.doneBytes)
            state.totalBytes = state.totalBytes ?? new.totalBytes
        }
    }

    private func ended(_ number: Int, _ result: Result<Void, CacheError>) {
        guard state.withLock({ $0.number == number && !$0.isHeld }) else { return }
        // A player of the same resource gave up. The download waits for the network on its own.
        if case .failure(let error) = result, error.code == .networkRefused { return reopen() }
        end(result)
    }

    private func update(_ change: (inout DownloadProgress) -> Void) {
        var progress = broadcast.value
        change(&progress)
        broadcast.send(progress)
    }

    private func end(_ result: Result<Void, CacheError>) {
        let (preload, waiting, observers, isFirst) = state.withLock { state in
            let isFirst = state.result == nil
            if isFirst { state.result = result }
            defer { (state.preload, state.waiting, state.observers) = (nil, [], []) }
            return (state.preload, state.waiting, state.observers, isFirst)
        }
        guard isFirst else { return }
        running.end()
        var isWanted = false
        if case .success = result { isWanted = true }
        preload?.cancel()
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
        mailbox.post { [self] in
            if !door.isHeld { download?.release() }
        }
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
