public import SpoolCore
import SpoolOrigin
package import SpoolStore
import SpoolSystem

/// A cache of media: readers get bytes from the store, gaps are fetched from the origin, everything that arrives is kept.
///
/// Words: a *resource* is what a URL names, its *key* is its identity here. What is stored of it are *spans*, what is missing
/// are *gaps*. A *reader* consumes bytes; a *fetch* fills a gap and is shared by all readers that want it.
///
/// ```swift
/// let cache = try MediaCache()
/// let reader = try cache.reader(for: "https://example.com/song.mp3")
/// for try await chunk in reader.chunks() { decoder.feed(chunk) }
/// ```
///
/// Safe to use from any thread. Close it (`close()`) to make everything durable at once; a process that just ends loses nothing that
/// was committed.
public final class MediaCache: Sendable {
    public let configuration: Configuration
    package let environment: CacheEnvironment
    package let store: any ResourceStore
    let counters = Counters()
    let temporaryPins = TemporaryPins()
    private let rest = Locked(StoreRest())
    let committer: Committer
    let evictor: Evictor
    /// What doors keep beside the cache.
    package let attachments = Attachments()
    private let limiter: FetchLimiter
    private let pool: BufferPool
    private let openFileLimits: OpenFileLimits
    private let backlog = WriteBacklog()
    let sessions: Locked<SessionTable>
    /// When this cache last tried to become the writer.
    let lastWriterTry = Locked<MonotonicInstant?>(nil)
    let keysAreRead = Locked(false)
    /// Whether the store is getting another key.
    let rotationState = Locked(RotationState())
    private let sinks: [any EventSink]
    /// The names that this process gives, once one was needed, and whether a gateway uses them.
    private let names = Locked<(pseudonyms: Pseudonyms?, areInVia: Bool)>((nil, false))
    /// How far the clients of doors get.
    package let bounds = OriginBounds()
    /// Those who wait for the end of `close`; nil once it is over.
    private let waitingForClose = Locked<[@Sendable () -> Void]?>([])

    /// A cache on parts that the caller made; tests and simulations give fakes.
    package init(configuration: Configuration, environment: CacheEnvironment, store: any ResourceStore) throws(CacheError) {
        if let complaint = configuration.complaint() { throw CacheError(.configuration, complaint) }
        self.configuration = configuration
        self.environment = environment
        self.store = store
        sinks = configuration.events + (configuration.log.map { [EventLogger(log: $0)] } ?? [])
        limiter = FetchLimiter(total: configuration.fetchesAtOnce, perHost: configuration.fetchesPerHost)
        pool = BufferPool(capacity: configuration.buffers)
        openFileLimits = configuration.openFileLimits
        let sinks = sinks
        let record: @Sendable (CacheEvent) -> Void = { event in for sink in sinks { sink.record(event) } }
        evictor = Evictor(environment: environment, store: store, limits: configuration.limits, pins: temporaryPins, record: record)
        committer = Committer(environment: environment, store: store, quotaBytes: configuration.limits.quotaBytes, record: record)
        let sessions = Locked(SessionTable(idleLimit: configuration.idleSessions))
        self.sessions = sessions
        evictor.connect(
            Evictor.Hooks(
                writeTouches: { [committer] in committer.writeTouches() },
                release: { key in
                    guard let session = sessions.withLock({ $0.peek(key) }) else { return true }
                    guard session.endIfIdle() else { return false }
                    sessions.withLock { $0.remove(session) }
                    return true
                },
                commitAll: {
                    for session in sessions.withLock({ $0.all }) { session.enterWritten(isEnforcing: false) }
                },
                session: { key in sessions.withLock { $0.peek(key) } }))
        committer.connect { generation, left in
            for session in sessions.withLock({ $0.all }) { session.lost(allBut: left, of: generation) }
        }
        startSweeping()
        startEnforcing()
    }

    // MARK: Reading

    /// A reader for the resource that `url` names. Nothing is fetched before it is asked for something.
    ///
    /// - Parameters:
    ///   - url: an absolute `http` or `https` URL.
    ///   - key: the identity in the cache, where the URL is not it (signed URLs); nil for the normal form of the URL.
    ///   - options: how this reader differs from the configuration.
    /// - Throws: `.unsupportedURL`, `.closed`.
    public func reader(for url: String, key: ResourceKey? = nil, options: ReadOptions = ReadOptions()) throws(CacheError) -> ByteReader {
        try join(url, key) { session in
            ByteReader(session: session, url: url, options: options)
        }
    }

    /// A reader for doors: pulled, with callbacks instead of `async`. `start` and `end` are what it will want first;
    /// `wantsBytes` is false for one that may only want to know what the resource is.
    package func sessionReader(
        for url: String, key: ResourceKey? = nil, start: Int64, end: Int64?, wantsBytes: Bool, options: ReadOptions = ReadOptions(),
        wake: @escaping @Sendable () -> Void
    ) throws(CacheError) -> SessionReader {
        try join(url, key) { session in
            session.reader(
                url: url, start: start, end: end, options: options, wantsBytes: wantsBytes, wake: wake)
        }
    }

    /// Makes a reader of the key's session; of a new one if that was evicted in the moment between.
    private func join<Reader>(_ url: String, _ key: ResourceKey?, _ makeReader: (ResourceSession) -> Reader) throws(CacheError) -> Reader {
        // An eviction takes the session out of the table, so the second try finds a new one; a third would need a second eviction.
        for _ in 0..<2 {
            let session = try session(for: url, key: key)
            let reader = makeReader(session)
            if !session.isRemoved { return reader }
            sessions.withLock { $0.remove(session) }
        }
        return makeReader(try session(for: url, key: key))
    }

    /// Whether `close` was called: nothing can be read any more.
    package var isClosed: Bool { sessions.withLock { $0.isClosed } }

    /// What is stored of a resource, as its session knows at this moment; nil without a session.
    package func storedNow(of key: ResourceKey) -> ByteRangeSet? {
        sessions.withLock { $0.peek(key) }?.liveStatus.stored
    }

    /// The key that a URL has in this cache.
    public func key(for url: String) throws(CacheError) -> ResourceKey {
        do {
            return try configuration.keyPolicy.key(for: url)
        } catch {
            throw CacheError(.unsupportedURL, "only absolute http and https URLs can be cached; '\(url)': \(error)", cause: error)
        }
    }

    /// The key under which a reader of `url` finds and stores bytes.
    ///
    /// In a cache of several users a URL with user information has a key of its own: its content was given to that user, and nobody else
    /// may join its fetches or be served what it left (RFC 9111 §3.5).
    package func readingKey(for url: String, chosen: ResourceKey? = nil) throws(CacheError) -> ResourceKey {
        let key = if let chosen { chosen } else { try self.key(for: url) }
        guard configuration.isShared, let userinfo = url.userinfo else { return key }
        return ResourceKey(normalized: "\(key.string) of user \(pseudonyms.user(userinfo))")
    }

    private func session(for url: String, key: ResourceKey?) throws(CacheError) -> ResourceSession {
        let key = if let key { key } else { try readingKey(for: url) }
        if let session = try existingSession(key) { return session }
        guard let reference = try? URIReference(url), let origin = reference.origin else {
            throw CacheError(.unsupportedURL, "only absolute http and https URLs can be cached; '\(url)'", key: key)
        }
        let number = sessions.withLock { $0.makeNumber() }
        let made = ResourceSession(
            key: key, url: url, number: number, origin: origin, passReason: passReason, shared: shared)
        let idleLimit = idleSessionLimit
        return try sessions.withLock { table throws(CacheError) in
            if table.isClosed { throw CacheError(.closed, "the cache is closed", key: key) }
            table.idleLimit = idleLimit
            return table.use(key) ?? table.insert(made)
        }
    }

    /// An idle session keeps its file open in a process that only reads: another one may punch it as soon as it is closed. Where this
    /// process writes, the store closes files by itself.
    private var idleSessionLimit: Int {
        store.isWritable ? configuration.idleSessions : min(configuration.idleSessions, openFileLimits.keptFiles)
    }

    /// Why a session that begins now stores nothing; nil when it may.
    private var passReason: PassReason? {
        if !store.isWritable { return .readOnlyStore }
        return rest.withLock { $0.isResting(now: environment.time.now) } ? .storeRests : nil
    }

    /// A call of the store failed. After several the store rests; the sessions of that time store nothing, those that follow it do.
    private func storeFailed() {
        guard let pause = rest.withLock({ $0.failed(now: environment.time.now) }) else { return }
        record(.storeRests(seconds: pause / 1_000_000_000))
        let sessions = sessions
        sessions.withLock { $0.makeStale() }
        _ = environment.time.after(pause, on: environment.control) { sessions.withLock { $0.makeStale() } }
    }

    private func existingSession(_ key: ResourceKey) throws(CacheError) -> ResourceSession? {
        try sessions.withLock { table throws(CacheError) in
            if table.isClosed { throw CacheError(.closed, "the cache is closed", key: key) }
            return table.use(key)
        }
    }

    /// Requests to origins say from now on that they came through here (RFC 9110 §7.6.3), so that a loop is noticed. Called by a gateway
    /// before its first request; all gateways of a cache have the same names.
    package func nameInVia() -> Pseudonyms {
        names.withLock { $0.areInVia = true }
        return pseudonyms
    }

    private var pseudonyms: Pseudonyms {
        names.withLock { names in
            let pseudonyms = names.pseudonyms ?? Pseudonyms(random: environment.random)
            names.pseudonyms = pseudonyms
            return pseudonyms
        }
    }

    private var shared: ResourceSession.SharedParts {
        var limits = SessionLimits()
        // A window of each reader fits into a quota several times, so that what plays keeps one.
        let quota = configuration.limits.quotaBytes ?? .max
        limits.readAheadBytes = min(configuration.readAheadBytes, max(65_536, quota / 4))
        limits.keptBehindBytes = min(limits.keptBehindBytes, quota / 8)
        // So does a write: one of almost the whole quota would push out all that is kept, beginnings included.
        let segmentBytes = max(Piece.blockBytes, min(1 << 20, quota / 8) / Piece.blockBytes * Piece.blockBytes)
        limits.requestBytes = environment.transport.windowBytes
        return ResourceSession.SharedParts(
            environment: environment, store: store, pool: pool, backlog: backlog, limiter: limiter, committer: committer, evictor: evictor,
            limits: limits, segmentBytes: Int(segmentBytes), counters: counters, configuration: configuration, record: record,
            gapMet: { [weak self] in self?.gapMet() }, sessionIdle: { [sessions] session in sessions.withLock { $0.noteIdle(session) } },
            storeFailed: { [weak self] in self?.storeFailed() },
            makeStale: { [sessions] key in sessions.withLock { $0.makeStale(key) } },
            via: names.withLock { $0.areInVia ? $0.pseudonyms : nil },
            bounds: bounds)
    }

    package var record: @Sendable (CacheEvent) -> Void {
        { [sinks] event in for sink in sinks { sink.record(event) } }
    }

    // MARK: Asking

    /// What the cache did since it was opened.
    public var statistics: Statistics { counters.current }

    /// What is stored of a resource, by its session if it has one, else by the index. Calls back on the index lane.
    package func status(of key: ResourceKey, _ done: @escaping @Sendable (Result<ResourceStatus?, CacheError>) -> Void) {
        let live = sessions.withLock { $0.peek(key) }?.liveStatus
        onIndexLane(key, done) { [store] () throws(StoreError) in ResourceStatus(stored: try store.lookup(key), live: live) }
    }

    /// Up to `limit` resources in key order, with what their sessions know where they have one. Calls back on the index lane.
    package func list(after key: ResourceKey? = nil, limit: Int, _ done: @escaping @Sendable (Result<[ResourceStatus], CacheError>) -> Void)
    {
        let live = sessions.withLock { $0.all }.map(\.liveStatus)
        onIndexLane(nil, done) { [store] () throws(StoreError) in
            let stored = try store.resources(after: key, limit: limit)
            let byKey = Dictionary(live.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
            var found = stored.compactMap { ResourceStatus(stored: $0, live: byKey[$0.key]) }
            // What is so new that the index does not know it yet.
            let known = Set(stored.map(\.key))
            for status in live where !known.contains(status.key) && status.representation != nil && key.map({ $0 < status.key }) ?? true {
                if let status = ResourceStatus(stored: nil, live: status) { found.append(status) }
            }
            return Array(found.sorted { $0.key < $1.key }.prefix(limit))
        }
    }

    // MARK: Removing

    /// Ends what runs for the key and takes it out of the store, with its pin.
    package func remove(_ key: ResourceKey, _ done: @escaping @Sendable (Result<Bool, CacheError>) -> Void) {
        sessions.withLock { $0.remove(key) }?.end(.removed)
        onIndexLane(key, done) { [self] () throws(StoreError) in
            // Stopped between the two, it is there and may go; the other way round its pin would wait for what is stored next.
            var owesUnpinning = false
            do throws(StoreError) {
                if store.isWritable { _ = try store.setPinned(key, false, time: environment.time.wallNow) }
            } catch {
                // On a full disk the removal makes the room.
                guard error == .full else { throw error }
                owesUnpinning = true
            }
            let existed = try store.remove(key)
            if owesUnpinning { _ = try store.setPinned(key, false, time: environment.time.wallNow) }
            if existed { record(.removed(key)) }
            return existed
        }
    }

    package func removeAll(_ done: @escaping @Sendable (Result<Void, CacheError>) -> Void) {
        for session in sessions.withLock({ $0.removeAll() }) { session.end(.removed) }
        onIndexLane(nil, done) { [store] () throws(StoreError) in try store.removeAll() }
    }

    /// The session of a key, if it has one.
    func liveSession(of key: ResourceKey) -> ResourceSession? { sessions.withLock { $0.peek(key) } }

    /// Runs a store call where it belongs; calls back at once when the cache is closed. Writes of ended sessions that are still under way on data lanes find their version gone.
    package func onIndexLane<Value: Sendable>(
        _ key: ResourceKey?, _ done: @escaping @Sendable (Result<Value, CacheError>) -> Void,
        _ body: @escaping @Sendable () throws(StoreError) -> Value
    ) {
        // The lane of a closed cache may have ended: what is posted there would never be answered.
        if sessions.withLock({ $0.isClosed }) { return done(.failure(CacheError(.closed, "the cache is closed", key: key))) }
        environment.indexLane.post {
            do throws(StoreError) { done(.success(try body())) } catch { done(.failure(CacheError(error, key: key))) }
        }
    }

    // MARK: Closing

    /// Ends every reader and fetch, makes everything durable, closes the store. Idempotent.
    ///
    /// `done` is called once for each call, at once when the cache is closed already: then there may be no thread left to call it on.
    package func close(_ done: @escaping @Sendable () -> Void) {
        let isOver = waitingForClose.withLock { waiting in
            waiting?.append(done)
            return waiting == nil
        }
        if isOver { return done() }
        let (sessions, isFirst) = self.sessions.withLock { table in
            defer { table.isClosed = true }
            return (table.removeAll(), !table.isClosed)
        }
        guard isFirst else { return }
        for session in sessions { session.end(.closed) }
        resumeRotation()
        afterWrites { [self] in
            // A thread may have decided on a write, or queued a commit, and not yet posted it.
            let unwritten = Countdown(sessions.count) { [self] in
                environment.indexLane.post { [self] in
                    for session in sessions { session.enterWritten(isEnforcing: true) }
                    // Behind the release of what could not be entered.
                    environment.indexLane.post { [self] in
                        committer.whenSettled { [self] in closeStore() }
                    }
                }
            }
            for session in sessions { session.whenWritten { unwritten.tick() } }
        }
    }

    /// Calls `body` when the writes are done that were handed over: each data lane passes the word on when it is through with them.
    func afterWrites(_ body: @escaping @Sendable () -> Void) {
        afterDataLanes { [self] in
            // Those that wait for room are answered there, and made after it.
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

    /// On the index lane. The store makes the last durable point itself.
    private func closeStore() {
        committer.writeTouches()
        do { try store.close() } catch { record(.storeTrouble("close: \(error)")) }
        environment.transport.close()
        environment.control.post { [self] in closed() }
    }

    private func closed() {
        let waiting = waitingForClose.withLock { waiting in
            defer { waiting = nil }
            return waiting
        }
        for done in waiting ?? [] { done() }
    }
}

extension CacheError {
    /// The public words for a store's trouble.
    package init(_ error: StoreError, key: ResourceKey?) {
        let code: Code =
            switch error {
            case .locked, .readOnly: .storeLocked
            case .closed, .suspended: .closed
            case .transformFailed: .transform
            case .key: .key
            case .full, .tooLarge, .corrupt, .formatTooNew, .index, .io: .store
            }
        self.init(code, "\(error)", key: key, cause: error)
        switch error {
        case .corrupt(let damaged, _): self.key = damaged
        case .io(let system): cause = system
        default: break
        }
    }
}

extension MediaCache {
    /// What is wrong with the books of the sessions, in words; for simulations, which ask after every step.
    package var violations: [String] {
        sessions.withLock { $0.all }.flatMap { session in session.state.withLock { $0.machine.violations } }
    }
}
