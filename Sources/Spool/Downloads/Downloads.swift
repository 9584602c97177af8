public import SpoolCore
public import SpoolManifests
import SpoolStore
import SpoolSystem

extension MediaCache {
    /// The list of downloads of this cache's store.
    public var downloads: Downloads { Downloads(cache: self) }
}

/// The downloads of a store: a list that outlives the process.
///
/// ```swift
/// try await cache.downloads.start()
/// try await cache.downloads.add("https://example.com/film.mp4")
/// for await list in cache.downloads.updates { show(list) }
/// ```
///
/// Downloads are added in any process that writes the store, and run in the one that writes it and
/// called `start()`.
/// After a restart they go on at the first missing byte. They yield to players as preloads do, and
/// respect the network policy.
///
/// The bytes of downloads are not evicted, and do not count towards the quota. They have an
/// allowance of their own (``DownloadSettings/allowanceBytes``). A pin does not change that.
public struct Downloads: Sendable {
    private let cache: MediaCache

    init(cache: MediaCache) { self.cache = cache }

    private var runner: DownloadRunner { cache.downloadRunner }

    // MARK: Running

    /// Runs the list in this process, until `stop()` or the end of the cache.
    ///
    /// While another process writes the store, the list runs there or waits. It runs here within
    /// seconds after that process has ended.
    ///
    /// - Throws: `.storeLocked` if this cache only reads, by ``Configuration/Storage/isReadOnly``;
    ///   `.store`, `.closed`.
    public func start() async throws(CacheError) {
        guard cache.store.isWritable || !cache.engine.configuration.storage.isReadOnly else {
            throw CacheError(.storeLocked, "this cache only reads the store; downloads run in a process that writes it")
        }
        _ = try await change { list in
            list.isStarted = true
            return []
        }
    }

    /// Stops running the list. The entries stay, and so do the bytes that arrived.
    ///
    /// - Throws: `.store`, `.closed`.
    public func stop() async throws(CacheError) {
        _ = try await change { list in
            list.isStarted = false
            return []
        }
    }

    /// The settings of the list in this process. A change applies at once.
    public var settings: DownloadSettings {
        get { runner.settings }
        nonmutating set { runner.settings = newValue }
    }

    // MARK: The list

    /// Adds the resource or the HLS or DASH presentation of a URL to the list. Type and first bytes
    /// decide which of them it is.
    ///
    /// If the URL is in the list, its entry gets the group, the priority and the selection, and is
    /// tried again if it had failed. With another selection, a finished one runs again. Other
    /// details apply to its next attempt.
    ///
    /// - Parameters:
    ///   - url: An absolute `http` or `https` URL.
    ///   - selection: The renditions of a presentation. The default is the best variant with its
    ///     sound, without subtitles. Of any other resource it has no meaning.
    ///   - key: The identity in the cache, if the URL is not stable, or nil for the key of the URL.
    ///   - group: The name of a group that may be paused and resumed as one.
    ///   - priority: Higher ones run first.
    ///   - details: Request fields, data of the app, requirements, a limit of its own; or nil for
    ///     those of the entry, if there is one.
    /// - Returns: The entry.
    /// - Throws: `.unsupportedURL` for any other URL, `.configuration` for details beyond their
    ///   bounds, `.noRoom` if the list has 10 000 entries, `.store`, `.storeLocked` if another
    ///   process writes the store, `.closed`.
    @discardableResult
    public func add(
        _ url: String, selection: PresentationSelection = PresentationSelection(), key: ResourceKey? = nil, group: String = "",
        priority: Int = 0, details: DownloadDetails? = nil
    ) async throws(CacheError) -> Download {
        let key = cache.readingKey(for: try MediaURL(cachable: url), chosen: key)
        try details?.validate(for: key)
        let words = ["url": url, "group": group, "audio": selection.audio.word, "subtitles": selection.subtitles.word]
        guard StoredDownload(key: key, members: words).isStorable else {
            let reason = "the URL, its key, the group or a language of a download has a line break or is too long"
            throw CacheError(.unsupportedURL, reason, key: key)
        }
        let list = try await change { (list) throws(CacheError) in
            guard list.add(key, url: url, group: group, priority: priority, selection: selection, details: details) else {
                throw CacheError(.noRoom, "the list has \(StoredDownload.maximumCount) downloads; remove some of them", key: key)
            }
            return [key]
        }
        guard let download = list[key] else { throw CacheError(.removed, "the download was removed while it was added", key: key) }
        return download
    }

    /// Returns all downloads in the order in which they run.
    ///
    /// - Throws: `.store`, `.closed`.
    public func list() async throws(CacheError) -> [Download] { try await change { _ in [] }.downloads }

    /// The list now, and after each change and each step of its transfers, as far as it was read. A
    /// slow consumer gets the newest.
    public var updates: AsyncStream<[Download]> { runner.updates }

    /// Returns the room that downloads take and may take.
    ///
    /// - Throws: `.store`, `.closed`.
    public func room() async throws(CacheError) -> DownloadRoom {
        let used = try await cache.onIndexLane { [store = cache.store] () throws(StoreError) in try store.downloadBytes() }
        return DownloadRoom(usedBytes: used, allowanceBytes: settings.allowanceBytes)
    }

    // MARK: Changes

    /// Pauses a download.
    ///
    /// - Returns: False if it is over or paused, or not in the list.
    /// - Throws: `.store`, `.storeLocked`, `.closed`, `.unsupportedURL`.
    @discardableResult
    public func pause(_ name: some ResourceName) async throws(CacheError) -> Bool {
        try await changeEach([name.key(in: cache)], pausing) > 0
    }

    /// Resumes a download that was paused or has failed.
    ///
    /// - Returns: False if it is neither, or not in the list.
    /// - Throws: `.store`, `.storeLocked`, `.closed`, `.unsupportedURL`.
    @discardableResult
    public func resume(_ name: some ResourceName) async throws(CacheError) -> Bool {
        try await changeEach([name.key(in: cache)]) { list, key in list.resume(key) } > 0
    }

    /// Pauses the downloads of a group, or all for nil.
    ///
    /// - Returns: The number of downloads that changed.
    /// - Throws: `.store`, `.storeLocked`, `.closed`.
    @discardableResult
    public func pauseAll(group: String? = nil) async throws(CacheError) -> Int {
        try await changeEach(nil, group: group, pausing)
    }

    /// Resumes the paused and failed downloads of a group, or all for nil.
    ///
    /// - Returns: The number of downloads that changed.
    /// - Throws: `.store`, `.storeLocked`, `.closed`.
    @discardableResult
    public func resumeAll(group: String? = nil) async throws(CacheError) -> Int {
        try await changeEach(nil, group: group) { list, key in list.resume(key) }
    }

    /// Sets the priority of a download.
    ///
    /// - Returns: False if it has that priority, or is not in the list.
    /// - Throws: `.store`, `.storeLocked`, `.closed`, `.unsupportedURL`.
    @discardableResult
    public func setPriority(_ priority: Int, of name: some ResourceName) async throws(CacheError) -> Bool {
        try await changeEach([name.key(in: cache)]) { list, key in list.setPriority(priority, of: key) } > 0
    }

    /// Moves a download before or after all others of its priority.
    ///
    /// - Returns: False if it is not in the list.
    /// - Throws: `.store`, `.storeLocked`, `.closed`, `.unsupportedURL`.
    @discardableResult
    public func move(_ name: some ResourceName, to place: DownloadPlace) async throws(CacheError) -> Bool {
        try await changeEach([name.key(in: cache)]) { list, key in list.move(key, to: place) } > 0
    }

    /// Removes a download from the list, with its bytes unless `keepingBytes`. Kept bytes count
    /// towards the quota again, and may be evicted. Parts of a presentation that another download
    /// shares stay.
    ///
    /// - Returns: False if it is not in the list.
    /// - Throws: `.store`, `.storeLocked`, `.closed`, `.unsupportedURL`.
    @discardableResult
    public func remove(_ name: some ResourceName, keepingBytes: Bool = false) async throws(CacheError) -> Bool {
        let key = try name.key(in: cache)
        guard try await change({ _ in [] })[key] != nil else { return false }
        let parts = keepingBytes ? [] : runner.ownParts(of: key)
        if keepingBytes {
            try await cache.onIndexLane(key) { [runner] () throws(StoreError) in try runner.forget(key) }
        } else {
            _ = try await result { done in cache.remove(key, done) }
        }
        for part in parts { try await cache.remove(part) }
        _ = try await change { list in
            list.remove(key)
            return []
        }
        return true
    }

    /// Pauses a download, and reports it to a watch.
    private var pausing: @Sendable (inout DownloadList, ResourceKey) -> Bool {
        let feed = cache.engine.feed
        return { list, key in
            guard list.pause(key) else { return false }
            feed.paused(key, because: "a command paused the download")
            return true
        }
    }

    private func changeEach(
        _ keys: [ResourceKey]?, group: String? = nil, _ body: @escaping @Sendable (inout DownloadList, ResourceKey) -> Bool
    ) async throws(CacheError) -> Int {
        let count = Locked(0)
        _ = try await change { list in
            let changed = (keys ?? list.keys(group: group)).filter { body(&list, $0) }
            count.withLock { $0 = changed.count }
            return changed
        }
        return count.withLock { $0 }
    }

    private func change(
        _ body: @escaping @Sendable (inout DownloadList) throws(CacheError) -> [ResourceKey]
    ) async throws(CacheError) -> DownloadList {
        try await result { done in change(done, body) }
    }

    /// Changes the list, and keeps the entries of the keys that `body` returns. Calls `done` on the
    /// control lane.
    package func change(
        _ done: @escaping Completion<DownloadList>, _ body: @escaping @Sendable (inout DownloadList) throws(CacheError) -> [ResourceKey]
    ) {
        runner.change(cache, done, body)
    }

    /// Returns whether a resource is a finished download.
    package func isFinished(_ key: ResourceKey) -> Bool { runner.isFinished(key) }
}
