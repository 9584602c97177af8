public import SpoolCore
import SpoolOrigin
package import SpoolStore
import SpoolSystem

/// A cache of media. Readers get stored bytes from the store and missing bytes from the origin, and
/// the cache keeps the bytes that arrive.
///
/// A *resource* is the content that a URL names, and its *key* is its identity in the cache. Its
/// stored byte ranges are *spans*, the missing ones are *gaps*. A *reader* consumes bytes. A
/// *fetch* fills a gap, and all readers that need the gap share it.
///
/// ```swift
/// let cache = try MediaCache()
/// let reader = try cache.reader(for: "https://example.com/song.mp3")
/// for try await chunk in reader.chunks() { decoder.feed(chunk) }
/// ```
///
/// All methods may be called on any thread, and do their work on the threads of the cache.
/// Cancelling the calling task ends reads, imports, exports and key rotations; the other methods
/// run to their end. `close()` makes everything durable at once. A process that ends without it
/// loses no committed bytes.
public final class MediaCache: Sendable {
    /// The configuration that the cache was opened with.
    public let configuration: Configuration
    /// The clocks, disk, transport and threads that the cache uses.
    package let environment: CacheEnvironment
    /// The store that keeps the bytes.
    package let store: any ResourceStore
    let counters = Counters()
    let temporaryPins = TemporaryPins()
    private let rest = Locked(StoreRest())
    let committer: Committer
    let evictor: Evictor
    /// The objects that doors keep beside the cache.
    package let attachments = Attachments()
    private let limiter: FetchLimiter
    private let pool: BufferPool
    private let openFileLimits: OpenFileLimits
    private let backlog = WriteBacklog()
    let sessions: Locked<SessionTable>
    /// The time of the last try to become the writer.
    let lastWriterTry = Locked<MonotonicInstant?>(nil)
    let keysAreRead = Locked(false)
    /// The state of a key rotation.
    let rotationState = Locked(RotationState())
    private let sinks: [any EventSink]
    /// The names of this process, once one was needed, and whether a gateway uses them.
    private let names = Locked<(pseudonyms: Pseudonyms?, areInVia: Bool)>((nil, false))
    /// The networks that the clients of doors can reach.
    package let bounds = OriginBounds()
    /// The callers that wait for the end of `close`. Nil once the cache is closed.
    private let waitingForClose = Locked<[@Sendable () -> Void]?>([])

    /// Creates a cache on parts that the caller made. Tests and simulations pass fakes.
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

    /// Returns a reader for the resource that `url` names. Nothing is fetched before the first call
    /// of the reader.
    ///
    /// - Parameters:
    ///   - url: An absolute `http` or `https` URL.
    ///   - key: The identity in the cache, if the URL is not stable (signed URLs), or nil for the
    ///     key of the URL.
    ///   - options: The settings in which this reader differs from the configuration.
    /// - Throws: `.unsupportedURL` for any other URL, `.closed` after `close()`.
    public func reader(for url: String, key: ResourceKey? = nil, options: ReadOptions = ReadOptions()) throws(CacheError) -> ByteReader {
        try join(url, key) { session in
            ByteReader(session: session, url: url, options: options)
        }
    }

    /// Returns a reader for doors, which is pulled and uses callbacks instead of `async`.
    ///
    /// - Parameters:
    ///   - start: The first offset that the door expects to need.
    ///   - end: The end of that range, or nil for the end of the resource.
    ///   - wantsBytes: False for a door that may only need the metadata of the resource.
    ///   - wake: Called, on any thread, when a `.wait` of the reader is over.
    package func sessionReader(
        for url: String, key: ResourceKey? = nil, start: Int64, end: Int64?, wantsBytes: Bool, options: ReadOptions = ReadOptions(),
        wake: @escaping @Sendable () -> Void
    ) throws(CacheError) -> SessionReader {
        try join(url, key) { session in
            session.reader(
                url: url, start: start, end: end, options: options, wantsBytes: wantsBytes, wake: wake)
        }
    }

    /// Makes a reader in the session of the key, or in a new session if the first one was evicted
    /// meanwhile.
    private func join<Reader>(_ url: String, _ key: ResourceKey?, _ makeReader: (ResourceSession) -> Reader) throws(CacheError) -> Reader {
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
    package var isClosed: Bool { sessions.withLock { $0.isClosed } }

    /// Returns the stored bytes of a resource as its session has them now, or nil if it has no
    /// session.
    package func storedNow(of key: ResourceKey) -> ByteRangeSet? {
        sessions.withLock { $0.peek(key) }?.liveStatus.stored
    }

    /// Returns the key of a URL in this cache, by the `keyPolicy` of the configuration.
    ///
    /// - Throws: `.unsupportedURL` if `url` is not an absolute `http` or `https` URL.
    public func key(for url: String) throws(CacheError) -> ResourceKey {
        do {
            return try configuration.keyPolicy.key(for: url)
        } catch {
            throw CacheError(.unsupportedURL, "only absolute http and https URLs can be cached; '\(url)': \(error)", cause: error)
        }
    }

    /// Returns the key under which a reader of `url` finds and stores bytes.
    ///
    /// In a shared cache, a URL with user information has a key of its own. Its content was sent to
    /// that user, so no other user may join its fetches or read its stored bytes (RFC 9111 §3.5).
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

    /// The number of idle sessions that stay. In a process that only reads, an idle session keeps
    /// its file open, because the writer may punch the file once it is closed. In the process that
    /// writes, the store closes files by itself.
    private var idleSessionLimit: Int {
        store.isWritable ? configuration.idleSessions : min(configuration.idleSessions, openFileLimits.keptFiles)
    }

    /// The reason why a session that begins now stores nothing, or nil if it may store.
    private var passReason: PassReason? {
        if !store.isWritable { return .readOnlyStore }
        return rest.withLock { $0.isResting(now: environment.time.now) } ? .storeRests : nil
    }

    /// Counts a failed call of the store. After several failures nothing is stored for a while:
    /// sessions of that time store nothing, and later ones do.
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

    /// Makes requests to origins name this cache in `Via` from now on (RFC 9110 §7.6.3), so that a
    /// loop is noticed. A gateway calls it before its first request. All gateways of a cache have
    /// the same names.
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
        // The window of each reader fits into the quota several times, so that each playing
        // resource keeps one.
        let quota = configuration.limits.quotaBytes ?? .max
        limits.readAheadBytes = min(configuration.readAheadBytes, max(65_536, quota / 4))
        limits.keptBehindBytes = min(limits.keptBehindBytes, quota / 8)
        // So does a write: one of almost the whole quota would push out everything else, beginnings
        // included.
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

    /// Passes an event to every sink. Callable on any thread, outside every lock.
    package var record: @Sendable (CacheEvent) -> Void {
        { [sinks] event in for sink in sinks { sink.record(event) } }
    }

    // MARK: Asking

    /// The counts of the cache since it was opened. Callable on any thread.
    public var statistics: Statistics { counters.current }

    /// Passes the status of a resource to `done` on the index lane. The state of its session is
    /// newer than the index.
    package func status(of key: ResourceKey, _ done: @escaping @Sendable (Result<ResourceStatus?, CacheError>) -> Void) {
        let live = sessions.withLock { $0.peek(key) }?.liveStatus
        onIndexLane(key, done) { [store] () throws(StoreError) in ResourceStatus(stored: try store.lookup(key), live: live) }
    }

    /// Passes up to `limit` resources in the order of their keys to `done` on the index lane. Where
    /// a resource has a session, its status comes from there.
    package func list(after key: ResourceKey? = nil, limit: Int, _ done: @escaping @Sendable (Result<[ResourceStatus], CacheError>) -> Void)
    {
        let live = sessions.withLock { $0.all }.map(\.liveStatus)
        onIndexLane(nil, done) { [store] () throws(StoreError) in
            let stored = try store.resources(after: key, limit: limit)
            let byKey = Dictionary(live.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
            var found = stored.compactMap { ResourceStatus(stored: $0, live: byKey[$0.key]) }
            // Resources that are so new that the index does not have them yet.
            let known = Set(stored.map(\.key))
            for status in live where !known.contains(status.key) && status.representation != nil && key.map({ $0 < status.key }) ?? true {
                if let status = ResourceStatus(stored: nil, live: status) { found.append(status) }
            }
            return Array(found.sorted { $0.key < $1.key }.prefix(limit))
        }
    }

    // MARK: Removing

    /// Ends the session of a key, and removes the resource and its pin from the store.
    package func remove(_ key: ResourceKey, _ done: @escaping @Sendable (Result<Bool, CacheError>) -> Void) {
        sessions.withLock { $0.remove(key) }?.end(.removed)
        onIndexLane(key, done) { [self] () throws(StoreError) in
            // The pin goes first. A process that stops in between leaves the resource, which may be
            // evicted. In the other order it would leave a pin on bytes that are stored later.
            var owesUnpinning = false
            do throws(StoreError) {
                if store.isWritable { _ = try store.setPinned(key, false, time: environment.time.wallNow) }
            } catch {
                // On a full disk, the removal makes the room for the change of the pin.
                guard error == .full else { throw error }
                owesUnpinning = true
            }
            let existed = try store.remove(key)
            if owesUnpinning { _ = try store.setPinned(key, false, time: environment.time.wallNow) }
            if existed { record(.removed(key)) }
            return existed
        }
    }

    /// Ends all sessions, and removes all resources and pins from the store.
    package func removeAll(_ done: @escaping @Sendable (Result<Void, CacheError>) -> Void) {
        for session in sessions.withLock({ $0.removeAll() }) { session.end(.removed) }
        onIndexLane(nil, done) { [store] () throws(StoreError) in try store.removeAll() }
    }

    /// Returns the session of a key, if it has one.
    func liveSession(of key: ResourceKey) -> ResourceSession? { sessions.withLock { $0.peek(key) } }

    /// Runs a call of the store on the index lane, or fails at once if the cache is closed. Writes
    /// of ended sessions that are still queued on data lanes find their version gone.
    package func onIndexLane<Value: Sendable>(
        _ key: ResourceKey?, _ done: @escaping @Sendable (Result<Value, CacheError>) -> Void,
        _ body: @escaping @Sendable () throws(StoreError) -> Value
    ) {
        // The lane of a closed cache may have ended, and a job posted there would never run.
        if sessions.withLock({ $0.isClosed }) { return done(.failure(CacheError(.closed, "the cache is closed", key: key))) }
        environment.indexLane.post {
            do throws(StoreError) { done(.success(try body())) } catch { done(.failure(CacheError(error, key: key))) }
        }
    }

    // MARK: Closing

    /// Ends every reader and fetch, makes everything durable and closes the store. Idempotent.
    ///
    /// `done` is called once for each call. If the cache is closed already, it is called at once,
    /// because there may be no thread left to call it on.
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
            // A thread may have decided on a write, or queued a commit, and not posted it yet.
            let unwritten = Countdown(sessions.count) { [self] in
                environment.indexLane.post { [self] in
                    for session in sessions { session.enterWritten(isEnforcing: true) }
                    // Behind the release of bytes that could not be entered.
                    environment.indexLane.post { [self] in
                        committer.whenSettled { [self] in closeStore() }
                    }
                }
            }
            for session in sessions { session.whenWritten { unwritten.tick() } }
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
    /// Creates the public error for an error of the store.
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
    /// Descriptions of the broken invariants of the sessions, for simulations, which check them
    /// after every step.
    package var violations: [String] {
        sessions.withLock { $0.all }.flatMap { session in session.state.withLock { $0.machine.violations } }
    }
}
