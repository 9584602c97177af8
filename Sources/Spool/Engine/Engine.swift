import SpoolCore
import SpoolOrigin
import SpoolStore
import SpoolSystem

/// The parts of one open cache, and the sessions of its resources.
///
/// The public API is a façade over it. `+Sharing` has what a cache does beside other processes, and
/// `+Rotation` gives an encrypted store another key.
final class Engine: Sendable {
    /// The configuration that the cache was opened with.
    let configuration: Configuration
    /// The clocks, disk, transport and threads that the cache uses.
    let environment: CacheEnvironment
    /// The store that keeps the bytes.
    let store: any ResourceStore
    let counters = Counters()
    let temporaryPins = TemporaryPins()
    let downloadKeys: DownloadKeys
    let downloads: any EngineDownloads
    private let rest = Locked(StoreCooldown())
    let committer: Committer
    /// Keeps the counts over restarts, if anything does.
    let countsKeeper = Locked<(any CountsKeeper)?>(nil)
    /// The limits of the store.
    let limits: LiveLimits
    let ageTimer = AgeTimer()
    let evictor: Evictor
    let limiter: FetchLimiter
    let preloads = RunningPreloads()
    /// Starts the requests that a proxy forwards to its fixed origin.
    let forwarding: FetchLimiter
    private let pool: BufferPool
    private let openFileLimits: OpenFileLimits
    private let backlog = WriteBacklog()
    /// The counts of the cache, and of its transport.
    var statistics: Statistics {
        var statistics = counters.current
        statistics.sentByOriginsBytes = environment.transport.receivedBytes
        return statistics
    }
    let sessions: Locked<SessionTable>
    /// Whether `suspend` was called, and `resume` was not since. A suspension that finds another number
    /// of resumes is over.
    let suspension = Locked<(isWanted: Bool, resumes: Int)>((false, 0))
    /// The time of the last try to become the writer.
    let lastWriterTry = Locked<MonotonicInstant?>(nil)
    let keysAreRead = Locked(false)
    /// Digests of credentials and selecting values, under a secret of the store.
    let digests: KeyedDigest
    /// The places of new variants, with the digest of the request that each was reserved for.
    let pendingVariants = Locked<[ResourceKey: PendingVariant]>([:])
    /// The state of a key rotation.
    let rotationState = Locked(RotationState())
    private let sinks: [any EventSink]
    /// Whether a sink of the configuration takes the events of readers.
    private let sinksTakeReaders: Bool
    /// Whether the configuration has a transform. To look there, a hit would copy the transform.
    let isTransforming: Bool
    /// The events for streams and for a watch.
    let feed = EventFeed()
    let names: CacheNames
    /// The networks that the clients of doors can reach.
    let bounds = OriginBounds()
    private let hostAnswers = Locked(HostAnswers())
    private let outages = Locked(OriginOutages())
    /// The callers that wait for the end of `close`. Nil once the cache is closed.
    private let waitingForClose = Locked<[@Sendable () -> Void]?>([])

    init(
        configuration: Configuration, environment: CacheEnvironment, store: any ResourceStore, limits: LiveLimits,
        downloadKeys: DownloadKeys, downloads: any EngineDownloads
    ) throws(CacheError) {
        try configuration.validate()
        self.configuration = configuration
        self.environment = environment
        self.store = store
        digests = KeyedDigest(secret: store.secret)
        names = CacheNames { Pseudonyms(random: environment.random, secret: store.secret) }
        sinks = configuration.events + (configuration.log.map { [EventLogger(log: $0)] } ?? []) + [feed] + environment.tiers
        sinksTakeReaders = configuration.events.contains(where: \.recordsReaders)
        isTransforming = configuration.contentTransform != nil
        let scheduler = FetchScheduler(
            total: configuration.fetching.maximumFetches, perHost: configuration.fetching.maximumFetchesPerHost,
            policy: configuration.network.policy, share: configuration.network.shareBesidePlayers)
        limiter = FetchLimiter(scheduler, time: environment.time, control: environment.control)
        forwarding = .ofForwardedRequests(time: environment.time, control: environment.control)
        pool = BufferPool(capacity: configuration.fetching.bufferCount)
        openFileLimits = configuration.storage.openFileLimits
        let sinks = sinks
        let record: @Sendable (CacheEvent) -> Void = { event in for sink in sinks { sink.record(event) } }
        (self.limits, self.downloadKeys, self.downloads) = (limits, downloadKeys, downloads)
        committer = Committer(environment: environment, store: store, limits: limits, record: record)
        evictor = Evictor(
            environment: environment, store: store, limits: limits, pins: temporaryPins,
            downloads: downloadKeys, committer: committer, record: record)
        let sessions = Locked(SessionTable(idleLimit: configuration.fetching.idleSessionCount))
        self.sessions = sessions
        evictor.connect(
            Evictor.Hooks(
                release: { key in
                    guard let session = sessions.withLock({ $0.peek(key) }) else { return true }
                    guard session.endIfIdle() else { return false }
                    sessions.withLock { $0.remove(session) }
                    return true
                },
                commitAll: {
                    for session in sessions.withLock({ $0.all }) { session.writes.enterWritten(isEnforcing: false) }
                },
                session: { key in sessions.withLock { $0.peek(key) } }))
        committer.connect(writesCounts: { [weak self] in self?.keepCounts(isLast: false) }) { generation, left in
            for session in sessions.withLock({ $0.all }) { session.lost(allBut: left, of: generation) }
        }
        // First, so that the bytes of downloads do not count towards the quota.
        environment.indexLane.post { [self] in
            do throws(StoreError) { try downloadKeys.read(from: store) } catch { failed("downloads", error) }
        }
        startSweeping()
        ageTimer.start(for: self)
        for tier in environment.tiers { tier.connect(self) }
        monitor?.start { [limiter] conditions in limiter.change { scheduler, _ in scheduler.networkChanged(conditions: conditions) } }
    }

    /// The monitor of the app, or of the system.
    private var monitor: (any NetworkMonitor)? { configuration.network.monitor ?? environment.monitor }

    /// The conditions under which requests may run.
    var networkPolicy: NetworkPolicy {
        get { limiter.policy }
        set { limiter.policy = newValue }
    }

    // MARK: Sessions

    /// Makes a reader in the session of the key, or in a new session if the first one was evicted
    /// meanwhile.
    func join<Reader>(_ url: MediaURL, _ key: ResourceKey?, _ makeReader: (ResourceSession) -> Reader) throws(CacheError) -> Reader {
        // An eviction takes the session out of the table, so the second try finds a new one. A
        // third try would need a second eviction.
        for _ in 0..<2 {
            let session = try session(for: url, key: key)
            let reader = makeReader(session)
            if !session.isRemoved { return reader }
            sessions.withLock { $0.remove(session) }
        }
        return makeReader(try session(for: url, key: key))
    }

    /// Whether `close` was called. Nothing can be read any more.
    var isClosed: Bool { sessions.withLock { $0.isClosed } }

    /// Returns the key under which a reader of `url` finds and stores bytes.
    ///
    /// In a shared cache, and for a client that counts as one of several users, a URL with user
    /// information has a key of its own. Its content was sent to that user, so no other user may
    /// join its fetches or read its stored bytes (RFC 9111 §3.5).
    func readingKey(for url: MediaURL, chosen: ResourceKey? = nil, isStranger: Bool = false) -> ResourceKey {
        let key = chosen ?? DeliveryDirectives(url: url.text).key(configuration.freshness.keyPolicy.key(for: url))
        guard isStranger || configuration.freshness.isShared, let userinfo = url.userinfo else { return key }
        return ResourceKey(normalized: "\(key.string) of user \(names.pseudonyms.user(userinfo))")
    }

    private func session(for url: MediaURL, key: ResourceKey?) throws(CacheError) -> ResourceSession {
        let key = key ?? readingKey(for: url)
        if let session = try existingSession(key) { return session }
        let number = sessions.withLock { $0.makeNumber() }
        let made = ResourceSession(key: key, url: url, number: number, passReason: passReason, shared: shared)
        let idleLimit = openFileLimits.idleSessions(configuration.fetching.idleSessionCount, isWritable: store.isWritable)
        return try sessions.withLock { table throws(CacheError) in
            if table.isClosed { throw CacheError(.closed, "the cache is closed", key: key) }
            table.idleLimit = idleLimit
            return table.use(key) ?? table.insert(made)
        }
    }

    /// The reason why a session that begins now stores nothing, or nil if it may store.
    private var passReason: NotStoredReason? {
        if !store.isWritable { return configuration.network.tierStores() ? .storedByServer : .readOnlyStore }
        return rest.withLock { $0.isResting(now: environment.time.now) } ? .storeRests : nil
    }

    /// Counts a failed call of the store, unless the store was closed or suspended. After several
    /// failures nothing is stored for a while: sessions of that time store nothing, and later ones
    /// do.
    private func storeFailed(_ error: StoreError) {
        guard error.isTrouble, let pause = rest.withLock({ $0.failed(now: environment.time.now) }) else { return }
        record(.storeRests(seconds: pause / 1_000_000_000))
        let sessions = sessions
        sessions.withLock { $0.makeStale() }
        _ = environment.time.after(pause, on: environment.control) { sessions.withLock { $0.makeStale() } }
    }

    /// Records a failed call of the store. One that was closed or suspended meanwhile is no
    /// trouble.
    func failed(_ what: String, _ error: StoreError) {
        if error.isTrouble { record(.storeTrouble("\(what): \(error)")) }
    }

    private func existingSession(_ key: ResourceKey) throws(CacheError) -> ResourceSession? {
        try sessions.withLock { table throws(CacheError) in
            if table.isClosed { throw CacheError(.closed, "the cache is closed", key: key) }
            return table.use(key)
        }
    }

    private var shared: ResourceSession.SharedParts {
        var limits = SessionLimits()
        // The window of each reader fits into the quota several times, so that each playing
        // resource keeps one.
        let quota = self.limits.current.quotaBytes ?? .max
        limits.readAheadBytes = min(configuration.fetching.readAheadBytes, max(65_536, quota / 4))
        limits.fit(quotaBytes: quota)
        // So does a write: one of almost the whole quota would push out everything else, beginnings
        // included.
        let segmentBytes = max(Piece.blockBytes, min(1 << 20, quota / 8) / Piece.blockBytes * Piece.blockBytes)
        limits.requestBytes = environment.transport.windowBytes
        let isLogged = configuration.log.map { log in { @Sendable in log.level <= EventLogger.readersLevel } }
        return ResourceSession.SharedParts(
            environment: environment, store: store, pool: pool, backlog: backlog, limiter: limiter, committer: committer, evictor: evictor,
            limits: limits, segmentBytes: Int(segmentBytes), counters: counters, configuration: configuration, record: record,
            recordReader: { [feed, sinksTakeReaders, record] key, start, end in
                guard sinksTakeReaders || feed.hasStreams || isLogged?() == true else { return }
                record(.readerJoined(key, start: start, end: end))
            },
            feed: feed,
            gapMet: { [weak self] in self?.gapMet() }, sessionIdle: { [sessions] session in sessions.withLock { $0.noteIdle(session) } },
            storeFailed: { [weak self] in self?.storeFailed($0) },
            makeStale: { [sessions] key in sessions.withLock { $0.makeStale(key) } },
            via: names.inVia,
            bounds: bounds, hostAnswers: hostAnswers, outages: outages, downloadKeys: downloadKeys,
            downloadReplaced: { [downloads] in downloads.replaced($0) })
    }

    /// Passes an event to every sink. Callable on any thread, outside every lock.
    var record: @Sendable (CacheEvent) -> Void {
        { [sinks] event in for sink in sinks { sink.record(event) } }
    }

    /// Returns the session of a key, if it has one.
    func liveSession(of key: ResourceKey) -> ResourceSession? { sessions.withLock { $0.peek(key) } }

    /// Ends the session of a resource that is about to be removed.
    func endSession(of key: ResourceKey) { sessions.withLock { $0.remove(key) }?.end(.removed) }

    /// Ends the sessions of resources, and runs `body`, which removes these, on the index lane.
    ///
    /// A reader that comes in between opens another session. If that has found the stored bytes
    /// already, it ends as well, because their file is about to go.
    func remove<Value: Sendable>(
        _ keys: [ResourceKey], _ done: @escaping Completion<Value>, _ body: @escaping @Sendable () throws(StoreError) -> Value
    ) {
        for key in keys { endSession(of: key) }
        onIndexLane(keys.first, done) { [self] () throws(StoreError) in
            for key in keys {
                guard let session = liveSession(of: key), let stored = try store.lookup(key)?.generation else { continue }
                if session.end(if: { $0.machine.version?.generation == stored }) { sessions.withLock { $0.remove(session) } }
            }
            return try body()
        }
    }

    /// Runs a call of the store on the index lane, or fails at once if the cache is closed. Writes
    /// of ended sessions that are still queued on data lanes find their version gone.
    func onIndexLane<Value: Sendable>(
        _ key: ResourceKey?, _ done: @escaping Completion<Value>, _ body: @escaping @Sendable () throws(StoreError) -> Value
    ) {
        // The lane of a closed cache may have ended, and a job posted there would never run.
        if sessions.withLock({ $0.isClosed }) { return done(.failure(CacheError(.closed, "the cache is closed", key: key))) }
        environment.indexLane.post {
            do throws(StoreError) { done(.success(try body())) } catch { done(.failure(CacheError(error, key: key))) }
        }
    }

    /// Runs a call of the store on the index lane, then `next` with its value, or `failed` with its
    /// error.
    func onIndexLane<Value: Sendable>(
        _ key: ResourceKey?, _ body: @escaping @Sendable () throws(StoreError) -> Value,
        failed: @escaping @Sendable (CacheError) -> Void, _ next: @escaping @Sendable (Value) -> Void
    ) {
        onIndexLane(
            key,
            { (result: Result<Value, CacheError>) in
                do throws(CacheError) { next(try result.get()) } catch { failed(error) }
            }, body)
    }

    // MARK: Closing

    /// Ends every reader and fetch, makes everything durable and closes the store. Idempotent.
    ///
    /// `done` is called once for each call. If the cache is closed already, it is called at once,
    /// because there may be no thread left to call it on.
    func close(_ done: @escaping @Sendable () -> Void) {
        let isOver = waitingForClose.withLock { waiting in
            waiting?.append(done)
            return waiting == nil
        }
        if isOver { return done() }
        let (sessions, isFirst) = self.sessions.withLock { ($0.removeAll(), !exchange(&$0.isClosed, with: true)) }
        guard isFirst else { return }
        monitor?.stop()
        downloads.close()
        for tier in environment.tiers { tier.close() }
        for session in sessions { session.close() }
        resumeRotation()
        afterWrites { [self] in
            // A thread may have decided on a write, or queued a commit, and not posted it yet.
            let unwritten = Countdown(sessions.count) { [self] in
                environment.indexLane.post { [self] in
                    for session in sessions {
                        session.writes.enterWritten(isEnforcing: true)
                        session.writes.dropHeldBack()
                    }
                    // Behind the release of bytes that could not be entered.
                    environment.indexLane.post { [self] in
                        committer.whenSettled { [self] in closeStore() }
                    }
                }
            }
            for session in sessions { session.writes.whenWritten { unwritten.tick() } }
        }
    }

    /// Calls `body` when the writes that were handed over are done: each data lane counts down when
    /// it is through with them.
    func afterWrites(_ body: @escaping @Sendable () -> Void) {
        afterDataLanes { [self] in
            // Writes that wait for room are answered there, and run after it.
            environment.indexLane.post { [self] in
                evictor.stopWaiting()
                afterDataLanes(body)
            }
        }
    }

    private func afterDataLanes(_ body: @escaping @Sendable () -> Void) {
        let passed = Countdown(environment.dataLanes.count, body)
        for lane in environment.dataLanes { environment.postBehindReaders(lane) { passed.tick() } }
    }

    /// Closes the store, which makes the last durable point itself. Runs on the index lane.
    private func closeStore() {
        committer.writeTouches()
        keepCounts(isLast: true)
        do { try store.close() } catch { record(.storeTrouble("close: \(error)")) }
        environment.transport.close()
        environment.control.post { [self] in closed() }
    }

    private func closed() {
        let waiting = waitingForClose.withLock { $0.take() }
        feed.finish()
        for done in waiting ?? [] { done() }
    }
}

extension Configuration {
    /// Returns the key of a URL, by `freshness.keyPolicy`.
    func key(for url: String) throws(CacheError) -> ResourceKey {
        freshness.keyPolicy.key(for: try MediaURL(cachable: url))
    }
}

extension MediaURL {
    /// Parses the URL of a resource for the cache.
    ///
    /// - Throws: `.unsupportedURL` if `text` is not an absolute `http` or `https` URL.
    package init(cachable text: String) throws(CacheError) {
        do {
            try self.init(text)
        } catch {
            let reason = text.contains("://") ? "\(error)" : "perhaps 'https://\(text)'?"
            throw CacheError(.unsupportedURL, "only absolute http and https URLs can be cached; '\(text)': \(reason)", cause: error)
        }
    }
}
