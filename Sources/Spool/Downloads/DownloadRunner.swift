import SpoolCore
import SpoolStore
import SpoolSystem

/// Starts and stops the transfers of the list of downloads, and keeps the list in the store.
///
/// The list changes on the control lane, except for the progress of transfers. Each transfer is a
/// `Preload` of the whole resource, or of all parts of a presentation: it yields to players, joins
/// fetches in flight and fetches no stored byte. Each part is entered in the store before its first
/// byte, so that eviction spares it.
final class DownloadRunner: EngineDownloads {
    /// The time between two looks at the transfers.
    private static let interval: Nanoseconds = .milliseconds(100)
    /// The time between two tries to become the writer of the store, which another process writes.
    private static let writerInterval: Nanoseconds = .seconds(2)

    private struct Transfer {
        /// Distinguishes the transfers of one key.
        let number: Int
        let preload: Preload
        let parts: TransferParts
        /// The bytes that were stored when it began, and those that were available at the last
        /// look.
        var storedBytes: Int64
        var seenBytes: Int64 = 0
        /// The version that is read, once it is known.
        var generation: GenerationID?
        /// The check of all bytes, after the last one has arrived.
        var check: DownloadCheck?

        func cancel() {
            preload.cancel()
            check?.cancel()
        }
    }

    /// The resources that a transfer reads besides the one of its key, with the bytes that each must
    /// have: the parts of a presentation.
    private typealias TransferParts = Locked<[ResourceKey: ByteRangeSet]>

    private struct State {
        var list = DownloadList()
        var isLoaded = false
        var waitingForLoad: [Completion<Void>] = []
        var transfers: [ResourceKey: Transfer] = [:]
        /// The downloads whose length the origin does not state. Their bytes are compared with the
        /// room as they come.
        var unbounded: Set<ResourceKey> = []
        var lastNumber = 0
        var pace = DownloadPace()
        var isTicking = false
        /// Whether a timer waits for the process that writes the store.
        var waitsForWriter = false
        /// The time of the timer that waits for the next attempt.
        var wakeTime: MonotonicInstant?
        var listeners: [Int: AsyncStream<[Download]>.Continuation] = [:]
        weak var cache: MediaCache?
    }

    private let environment: CacheEnvironment
    private let store: any ResourceStore
    private let keys: DownloadKeys
    private let limits: LiveLimits
    private let state = Locked(State())

    init(environment: CacheEnvironment, store: any ResourceStore, keys: DownloadKeys, limits: LiveLimits) {
        self.environment = environment
        self.store = store
        self.keys = keys
        self.limits = limits
    }

    // MARK: The store

    func storeChanged() {
        let cache = state.withLock { state in
            state.isLoaded = false
            return state.cache
        }
        do throws(StoreError) { try keys.read(from: store) } catch {
            if error.isTrouble { cache?.record(.storeTrouble("downloads: \(error)")) }
        }
        if let cache { change(cache, { _ in }, { _ in [] }) }
    }

    /// Calls `done` on the control lane, once the list is read. A process that only reads the store
    /// reads the list each time, because the writer changes it.
    private func load(_ cache: MediaCache, _ done: @escaping Completion<Void>) {
        let (isLoaded, isFirst) = state.withLock { state in
            if state.isLoaded { return (true, false) }
            state.waitingForLoad.append(done)
            return (false, state.waitingForLoad.count == 1)
        }
        if isLoaded {
            // The lane of a closed cache may have ended.
            guard !cache.isClosed else { return done(.failure(CacheError(.closed, "the cache is closed"))) }
            return environment.control.post { done(.success(())) }
        }
        guard isFirst else { return }
        cache.onIndexLane(
            nil,
            { [self] (read: Result<DownloadList, CacheError>) in
                if case .failure(let error) = read, error.code == .closed { return loaded(read) }
                environment.control.post { [self] in loaded(read) }
            }
        ) { [store] () throws(StoreError) in
            var list = DownloadList()
            for stored in try store.downloads() {
                let found = try store.lookup(stored.key)
                let isWhole = found.map { $0.representation.length == $0.spans.totalBytes } ?? false
                list.load(stored, storedBytes: try store.storedBytes(ofDownload: stored.key), isWhole: isWhole)
            }
            return list
        }
    }

    private func loaded(_ read: Result<DownloadList, CacheError>) {
        let waiting = state.withLock { state in
            if case .success(var list) = read {
                (list.settings, list.isStarted) = (state.list.settings, state.list.isStarted)
                state.list = list
                state.isLoaded = store.isWritable
            }
            return exchange(&state.waitingForLoad, with: [])
        }
        for done in waiting { done(read.map { _ in }) }
    }

    /// Keeps the entries of some keys. Runs on the control lane, so the writes have the order of
    /// the changes.
    private func save(_ saved: [ResourceKey], _ cache: MediaCache, _ done: @escaping Completion<Void>) {
        let entries = state.withLock { state in saved.map { ($0, state.list.stored($0)) } }
        for (key, entry) in entries where entry != nil { keys.set(key, isDownload: true) }
        guard !entries.isEmpty else { return done(.success(())) }
        cache.onIndexLane(entries.first?.0, done) { [store] () throws(StoreError) in
            for (key, entry) in entries { try store.setDownload(key, entry) }
        }
    }

    private func saveQuietly(_ key: ResourceKey, _ cache: MediaCache) {
        save([key], cache) { self.report($0, cache) }
    }

    /// Reports a change that the store did not take. A closed cache stores none.
    private func report(_ result: Result<Void, CacheError>, _ cache: MediaCache) {
        if case .failure(let error) = result, error.code != .closed { cache.record(.storeTrouble("downloads: \(error)")) }
    }

    /// Removes the entry of a resource that is removed. Runs on the index lane.
    func forget(_ key: ResourceKey) throws(StoreError) {
        guard keys.isEntry(key), store.isWritable else { return }
        try store.setDownload(key, nil)
        keys.set(key, isDownload: false)
        environment.control.post { [self] in
            stop(key)
            drop([key])
            turn()
        }
    }

    /// Takes entries out of the list, and out of the store once more: the end of a transfer may
    /// have entered them again meanwhile. Runs on the control lane.
    private func drop(_ dropped: [ResourceKey]) {
        let cache = state.withLock { state in
            for key in dropped { state.list.remove(key) }
            return state.cache
        }
        // An addition of the same key may have entered it again meanwhile.
        for key in dropped { keys.set(key, isDownload: false) }
        guard let cache else { return }
        save(dropped, cache) { self.report($0, cache) }
    }

    /// Ends all downloads after everything was removed. Callable on any thread.
    func forgetAll() {
        keys.replace(by: [:])
        environment.control.post { [self] in
            for key in state.withLock({ Array($0.transfers.keys) }) { stop(key) }
            drop(state.withLock { $0.list.keys(group: nil) })
            turn()
        }
    }

    func close() {
        let (keys, listeners) = state.withLock { state in
            defer { state.listeners = [:] }
            return (Array(state.transfers.keys), state.listeners.values)
        }
        for key in keys { stop(key) }
        for listener in listeners { listener.finish() }
    }

    // MARK: Changes

    /// Changes the list, keeps the keys that `body` returns, and acts.
    func change(
        _ cache: MediaCache, _ done: @escaping Completion<DownloadList>,
        _ body: @escaping @Sendable (inout DownloadList) throws(CacheError) -> [ResourceKey]
    ) {
        load(cache) { [self] loaded in
            do throws(CacheError) {
                try loaded.get()
                let saved = try state.withLock { (state) throws(CacheError) in
                    state.cache = cache
                    return try body(&state.list)
                }
                let added = saved.filter { !keys.isEntry($0) }
                save(saved, cache) { [self] result in
                    environment.control.post { [self] in
                        if case .failure(let error) = result {
                            // The list has no entry that the store lacks.
                            for key in added {
                                state.withLock { $0.list.remove(key) }
                                keys.set(key, isDownload: false)
                            }
                            return done(.failure(error))
                        }
                        turn()
                        done(.success(state.withLock { $0.list }))
                    }
                }
            } catch {
                done(.failure(error))
            }
        }
    }

    /// Returns whether a resource is a finished download. Before the list is read, every entry
    /// counts as finished.
    func isFinished(_ key: ResourceKey) -> Bool {
        state.withLock { state in state.isLoaded ? state.list[key]?.state == .complete : nil } ?? keys.isEntry(key)
    }

    var settings: DownloadSettings {
        get { state.withLock { $0.list.settings } }
        set {
            state.withLock { $0.list.settings = newValue }
            environment.control.post { [self] in turn() }
        }
    }

    /// The list now, and after each change, the newest first if the consumer is slow.
    var updates: AsyncStream<[Download]> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let (number, downloads) = state.withLock { state in
                state.lastNumber += 1
                state.listeners[state.lastNumber] = continuation
                return (state.lastNumber, state.list.downloads)
            }
            continuation.onTermination = { [weak self] _ in self?.state.withLock { $0.listeners[number] = nil } }
            continuation.yield(downloads)
        }
    }

    private func publish() {
        let (listeners, downloads) = state.withLock { state in
            (state.listeners.values, state.listeners.isEmpty ? [] : state.list.downloads)
        }
        for listener in listeners { listener.yield(downloads) }
    }

    // MARK: Transfers

    /// Reports the running transfers to a door that is newer than they are.
    func report(to door: any PlayerDoor) {
        environment.control.post { [self] in
            for key in state.withLock({ Array($0.transfers.keys) }) { enter(key, at: door) }
        }
    }

    /// Holds the transfer of a download if the door knows that the system fetches its bytes.
    private func enter(_ key: ResourceKey, at door: any PlayerDoor) {
        let (download, preload, cache) = state.withLock { ($0.list[key], $0.transfers[key]?.preload, $0.cache) }
        guard let download, let preload else { return }
        let transfer = ListedTransfer(
            key: key, url: download.url, access: download.details.access,
            rest: { [weak cache] in cache?.missingBytes(of: key) }, hold: { [weak preload] in preload?.hold(.system) },
            release: { [weak preload] in preload?.release(.system) })
        guard door.downloadBegan(transfer) else { return }
        preload.hold(.system)
        // The system may have ended before the hold, and released nothing.
        if !door.downloadBegan(transfer) { preload.release(.system) }
    }

    /// Starts and stops transfers. Runs on the control lane.
    private func turn() {
        guard let cache = state.withLock({ $0.cache }), !cache.isClosed else { return }
        guard store.isWritable else { return waitForWriter() }
        let now = environment.time.now
        let (actions, lost) = state.withLock { state in
            let actions = state.list.turn(now: now)
            return (actions, state.transfers.keys.filter { state.list[$0]?.state != .running })
        }
        for key in lost { stop(key) }
        for action in actions {
            switch action {
            case .stop(let key): stop(key)
            case .start(let key): start(key, cache)
            }
        }
        wakeForRetry(now)
        publish()
    }

    /// Waits until the process that writes the store has ended, if the list is to run here.
    private func waitForWriter() {
        publish()
        let isFirst = state.withLock { state in
            guard state.list.isStarted, !state.waitsForWriter else { return false }
            state.waitsForWriter = true
            return true
        }
        guard isFirst else { return }
        _ = environment.time.after(Self.writerInterval, on: environment.control) { [weak self] in
            guard let self else { return }
            let cache = state.withLock { state in
                state.waitsForWriter = false
                return state.list.isStarted ? state.cache : nil
            }
            guard let cache, !cache.isClosed else { return }
            // The list is read anew, and runs, once this process is the writer.
            cache.engine.tryToBecomeWriter()
            turn()
        }
    }

    private func wakeForRetry(_ now: MonotonicInstant) {
        let due = state.withLock { state -> MonotonicInstant? in
            guard let next = state.list.nextRetry, next > now, state.wakeTime.map({ next < $0 }) ?? true else { return nil }
            state.wakeTime = next
            return next
        }
        guard let due else { return }
        _ = environment.time.after(due - now, on: environment.control) { [weak self] in
            self?.state.withLock { $0.wakeTime = nil }
            self?.turn()
        }
    }

    private func stop(_ key: ResourceKey) {
        let (transfer, cache) = state.withLock { ($0.transfers.removeValue(forKey: key), $0.cache) }
        transfer?.cancel()
        if transfer != nil { cache?.presentDoor?.downloadEnded(key) }
    }

    private func start(_ key: ResourceKey, _ cache: MediaCache) {
        guard let download = state.withLock({ $0.list[key] }) else { return }
        do throws(CacheError) {
            let number = state.withLock { state in
                state.lastNumber += 1
                return state.lastNumber
            }
            let parts = TransferParts([:])
            let preload = try Preload.download(
                in: cache, download,
                .init(
                    beginning: { [weak self, weak cache] read, bytes in cache.flatMap { self?.enter(read, bytes, of: key, parts, $0) } },
                    lengthKnown: { [weak self, weak cache] read, generation, length in
                        // The parts of a presentation are compared with the room as they come.
                        read == key ? cache.flatMap { self?.refusal(of: key, generation, length, $0) } : nil
                    }, sha256: download.details.sha256))
            state.withLock { state in
                state.transfers[key] = Transfer(number: number, preload: preload, parts: parts, storedBytes: download.doneBytes)
            }
            if let door = cache.presentDoor { enter(key, at: door) }
            preload.whenOver { [weak self, weak cache] result in
                guard let self, let cache else { return }
                environment.control.post { [weak self] in self?.ended(key, number, result.map { _ in }, cache) }
            }
            preload.begin()
            tick()
        } catch {
            end(key, error, cache)
        }
    }

    /// Looks at the transfers now, and then at intervals while there are any.
    private func tick() {
        guard !state.withLock({ exchange(&$0.isTicking, with: true) }) else { return }
        look()
    }

    private func look() {
        let now = environment.time.now
        let (preloads, mayRun) = state.withLock { state in
            var fetched: Int64 = 0
            for (key, var transfer) in state.transfers {
                guard let progress = transfer.preload.currentProgress else { continue }
                // After a hold, the stored bytes are read again.
                let done = max(progress.doneBytes, transfer.storedBytes, transfer.seenBytes)
                fetched += done - max(transfer.storedBytes, transfer.seenBytes)
                transfer.seenBytes = done
                let isPresentation = transfer.parts.withLock { !$0.isEmpty }
                let total = progress.totalBytes.map { isPresentation ? max($0, done) : $0 }
                state.list.progressed(key, done: done, total: total, isEstimated: isPresentation, now: now)
                state.transfers[key] = transfer
            }
            let mayRun = state.pace.mayRun(fetched: fetched, limit: state.list.settings.bytesPerSecond, now: now)
            return (state.transfers.values.map(\.preload), mayRun)
        }
        for preload in preloads { if mayRun { preload.resume() } else { preload.pause() } }
        endWithoutRoom()
        publish()
        let isOver = state.withLock { state in
            state.isTicking = !state.transfers.isEmpty
            return !state.isTicking
        }
        if isOver { return }
        _ = environment.time.after(Self.interval, on: environment.control) { [weak self] in self?.look() }
    }

    /// Ends the downloads of unknown length that have outgrown their room. An origin may send
    /// without an end.
    private func endWithoutRoom() {
        guard let cache = state.withLock({ $0.cache }) else { return }
        let ended = state.withLock { state in
            state.unbounded.compactMap { key in state.list.missingRoom(for: key, freeBytes: nil).map { (key, $0) } }
        }
        for (key, reason) in ended where state.withLock({ $0.transfers[key] }) != nil {
            stop(key)
            end(key, CacheError(.noRoom, reason, key: key), cache)
        }
    }

    /// Returns the error of a download without room for its length, which is known now. Runs on a
    /// data lane, before the first byte is taken.
    private func refusal(of key: ResourceKey, _ generation: GenerationID, _ length: Int64?, _ cache: MediaCache) -> CacheError? {
        state.withLock { state in
            state.transfers[key]?.generation = generation
            if length == nil { state.unbounded.insert(key) } else { state.unbounded.remove(key) }
        }
        guard let length else { return nil }
        var room: Int64?
        do throws(StoreError) {
            let kept = limits.current.minimumFreeBytes ?? 0
            room = try store.freeBytes().map { max(0, $0 - kept) }
        } catch {
            // The writes find out then.
            if error.isTrouble { cache.record(.storeTrouble("downloads: \(error)")) }
        }
        let reason = state.withLock { state in
            // Of a presentation, this is the length of its manifest.
            let done = state.list[key]?.doneBytes ?? 0
            state.list.progressed(key, done: done, total: max(done, length))
            return state.list.missingRoom(for: key, freeBytes: room)
        }
        return reason.map { CacheError(.noRoom, $0, key: key) }
    }

    // MARK: Parts

    /// Enters a resource that a transfer is about to read. Callable on any thread.
    private func enter(
        _ part: ResourceKey, _ bytes: ByteRangeSet, of key: ResourceKey, _ parts: TransferParts, _ cache: MediaCache
    ) -> CacheError? {
        guard part != key else { return nil }
        switch keys.insert(part: part, of: key) {
        case .noEntry: return CacheError(.cancelled, "the download was removed", key: key)
        case .full:
            let reason = "the downloads have more than \(StoredDownload.maximumPartCount) parts; remove some of them"
            return CacheError(.noRoom, reason, key: key)
        case .inserted: setPart(part, of: key, true, cache)
        case .isKnown: break
        }
        parts.withLock { $0[part, default: ByteRangeSet()].formUnion(bytes) }
        state.withLock { _ = $0.unbounded.insert(key) }
        return nil
    }

    /// Enters or removes a part in the store. The index lane has the order of the calls, so a part
    /// is entered before its first byte.
    private func setPart(_ part: ResourceKey, of key: ResourceKey, _ isPart: Bool, _ cache: MediaCache) {
        if !isPart { keys.remove(part: part, of: key) }
        cache.onIndexLane(part, { self.report($0, cache) }) { [store, keys] () throws(StoreError) in
            // The entry may have been removed meanwhile.
            guard keys.isEntry(key) else { return }
            try store.setDownloadPart(part, of: key, isPart)
        }
    }

    /// The parts that only one download has. They go with it.
    func ownParts(of key: ResourceKey) -> [ResourceKey] { keys.ownParts(of: key) }

    // MARK: Other versions

    /// The store keeps the bytes of the old version until the other one is complete.
    func replaced(_ key: ResourceKey) {
        environment.control.post { [self] in
            let cache = state.withLock { $0.list.replaced(key) ? $0.cache : nil }
            guard let cache else { return }
            saveQuietly(key, cache)
            turn()
        }
    }

    // MARK: Ends

    private func isCurrent(_ key: ResourceKey, _ number: Int) -> Bool { state.withLock { $0.transfers[key]?.number == number } }

    private func ended(_ key: ResourceKey, _ number: Int, _ result: Result<Void, CacheError>, _ cache: MediaCache) {
        guard isCurrent(key, number) else { return }
        switch result {
        case .failure(let error): end(key, error, cache)
        case .success: verify(key, number, cache)
        }
    }

    /// Compares all bytes with their checks.
    private func verify(_ key: ResourceKey, _ number: Int, _ cache: MediaCache) {
        guard let parts = state.withLock({ $0.transfers[key]?.parts.withLock { $0 } }) else { return }
        // An earlier version of a manifest, or another selection, may have had other parts.
        for part in keys.parts(of: key).subtracting(parts.keys) { setPart(part, of: key, false, cache) }
        let check = DownloadCheck(cache, key, parts: parts) { [weak self, weak cache] found in
            guard let self, let cache else { return }
            environment.control.post { [weak self] in
                guard let self, isCurrent(key, number) else { return }
                verified(key, found, cache)
            }
        }
        state.withLock { $0.transfers[key]?.check = check }
        check.start()
    }

    private func verified(_ key: ResourceKey, _ found: Result<DownloadCheck.Sum, CacheError>, _ cache: MediaCache) {
        do throws(CacheError) {
            let bytes = try found.get().storedBytes
            let live = cache.engine.liveSession(of: key)?.generation
            try state.withLock { (state) throws(CacheError) in
                state.list.progressed(key, done: bytes, total: bytes)
                if state.unbounded.contains(key), let reason = state.list.missingRoom(for: key, freeBytes: nil) {
                    throw CacheError(.noRoom, reason, key: key)
                }
                let compared = state.transfers.removeValue(forKey: key)?.generation
                state.unbounded.remove(key)
                state.list.completed(key, bytes: bytes)
                // Another version came during the check, and its bytes were compared with no digest.
                // `replaced` ignored it, because the download was not finished.
                if let live, let compared, live != compared { _ = state.list.replaced(key) }
            }
            cache.presentDoor?.downloadEnded(key)
            saveQuietly(key, cache)
            turn()
        } catch {
            end(key, error, cache)
        }
    }

    private func end(_ key: ResourceKey, _ error: CacheError, _ cache: MediaCache) {
        // A check fails by a suspension of the store, and is made again.
        guard error.code != .closed || !cache.isClosed else { return }
        let (now, jitter) = (environment.time.now, environment.random.next())
        let failure = DownloadList.Failure(error)
        state.withLock { state in
            state.transfers[key] = nil
            state.unbounded.remove(key)
            state.list.ended(key, failure, now: now, jitter: jitter)
        }
        cache.presentDoor?.downloadEnded(key)
        failure.report(of: key, to: cache.engine.feed)
        saveQuietly(key, cache)
        turn()
    }
}

extension DownloadList.Failure {
    fileprivate init(_ error: CacheError) {
        switch error.code {
        case .originUnreachable, .originTimeout, .networkRefused: self = .network(error.message)
        case .representationChanged, .removed, .closed: self = .temporary(error.message)
        default: self = error.isRetryable ? .temporary(error.message) : .permanent(error.message)
        }
    }

    /// Reports the end of an attempt to a watch.
    fileprivate func report(of key: ResourceKey, to feed: EventFeed) {
        switch self {
        case .network(let reason): feed.paused(key, because: "the download waits: \(reason)")
        case .temporary(let reason), .permanent(let reason): feed.downloadFailed(key, because: reason)
        }
    }
}
