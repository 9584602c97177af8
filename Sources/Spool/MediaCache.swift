public import SpoolCore
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
    /// The parts of the cache.
    let engine: Engine
    let downloadRunner: DownloadRunner
    package var forwarding: FetchLimiter { engine.forwarding }
    package var fetchesAhead: Bool { engine.limiter.fetchesAhead }
    let loopbackReference = LoopbackReference()
    private let playerDoor = PlayerDoorPlace()
    package let bypass: CacheBypass

    /// Creates a cache on parts that the caller made. Tests and simulations pass fakes.
    package init(configuration: Configuration, environment: CacheEnvironment, store: any ResourceStore) throws(CacheError) {
        let (limits, keys) = (LiveLimits(configuration.limits), DownloadKeys())
        downloadRunner = DownloadRunner(environment: environment, store: store, keys: keys, limits: limits)
        engine = try Engine(
            configuration: configuration, environment: environment, store: store, limits: limits, downloadKeys: keys,
            downloads: downloadRunner)
        bypass = CacheBypass(engine: engine, downloads: downloadRunner, door: playerDoor)
        (self.configuration, self.environment, self.store) = (configuration, environment, store)
    }

    /// The variants of the resources in the cache.
    package var variants: Variants { Variants(engine: engine) }
    /// The room of the store.
    package var room: Room { Room(engine: engine) }

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
        let url = try MediaURL(cachable: url)
        return try engine.join(url, key) { session in
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
        for url: MediaURL, key: ResourceKey? = nil, start: Int64, end: Int64?, wantsBytes: Bool, options: ReadOptions = ReadOptions(),
        wake: @escaping @Sendable () -> Void
    ) throws(CacheError) -> SessionReader {
        try engine.join(url, key) { session in
            session.reader(
                url: url, start: start, end: end, options: options, wantsBytes: wantsBytes, wake: wake)
        }
    }

    /// Returns a reader for doors whose clients give the text of a URL.
    ///
    /// - Throws: `.unsupportedURL` if `url` is not an absolute `http` or `https` URL.
    package func sessionReader(
        for url: String, key: ResourceKey? = nil, start: Int64, end: Int64?, wantsBytes: Bool, options: ReadOptions = ReadOptions(),
        wake: @escaping @Sendable () -> Void
    ) throws(CacheError) -> SessionReader {
        try sessionReader(
            for: MediaURL(cachable: url), key: key, start: start, end: end, wantsBytes: wantsBytes, options: options, wake: wake)
    }

    /// The conditions under which requests run. A change applies to running requests at once.
    public var networkPolicy: NetworkPolicy {
        get { engine.networkPolicy }
        set { engine.networkPolicy = newValue }
    }

    /// Whether `close` was called. Nothing can be read any more.
    package var isClosed: Bool { engine.isClosed }

    /// The networks that the clients of doors can reach.
    package var bounds: OriginBounds { engine.bounds }

    /// Passes an event to every sink. Callable on any thread, outside every lock.
    package var record: @Sendable (CacheEvent) -> Void { engine.record }

    /// Makes requests to origins name this cache in `Via` from now on (RFC 9110 §7.6.3), so that a
    /// loop is noticed. A gateway calls it first. All gateways of a cache have the same names.
    package func nameInVia() -> Pseudonyms { engine.names.nameInVia() }

    /// Returns the key under which a reader of `url` finds and stores bytes. In a shared cache, a
    /// URL with user information has a key of its own.
    package func readingKey(for url: MediaURL, chosen: ResourceKey? = nil, isStranger: Bool = false) -> ResourceKey {
        engine.readingKey(for: url, chosen: chosen, isStranger: isStranger)
    }

    /// Returns the stored bytes of a resource as its session has them now, or nil if it has no
    /// session.
    package func storedNow(of key: ResourceKey) -> ByteRangeSet? {
        engine.sessions.withLock { $0.peek(key) }?.liveStatus.stored
    }

    /// Returns the key of a URL in this cache, by the `keyPolicy` of the configuration.
    ///
    /// - Throws: `.unsupportedURL` if `url` is not an absolute `http` or `https` URL.
    public func key(for url: String) throws(CacheError) -> ResourceKey { try configuration.key(for: url) }

    /// Returns the key of a URL in this cache, by the `keyPolicy` of the configuration.
    package func key(for url: MediaURL) -> ResourceKey { configuration.freshness.keyPolicy.key(for: url) }

    // MARK: Asking

    /// The counts of the cache since it was opened. Callable on any thread.
    public var statistics: Statistics { engine.statistics }

    /// Passes the status of a resource to `done` on the index lane. The state of its session is
    /// newer than the index.
    package func status(of key: ResourceKey, _ done: @escaping Completion<ResourceStatus?>) {
        let live = engine.sessions.withLock { $0.peek(key) }?.liveStatus
        onIndexLane(key, done) { [store] () throws(StoreError) in ResourceStatus(stored: try store.lookup(key), live: live) }
    }

    /// Passes up to `limit` resources in the order of their keys to `done` on the index lane. Where
    /// a resource has a session, its status comes from there.
    package func list(after key: ResourceKey? = nil, limit: Int, _ done: @escaping Completion<[ResourceStatus]>) {
        catalog.list(after: key, limit: limit, done)
    }

    /// The states of all sessions now, in any order.
    package var liveStatuses: [ResourceStatus.Live] { engine.sessions.withLock { $0.all }.map(\.liveStatus) }
    package var catalog: ResourceCatalog { ResourceCatalog(engine: engine, downloads: downloadRunner) }

    // MARK: Removing

    /// Ends the session of a key, and removes the resource and its pin from the store.
    package func remove(_ key: ResourceKey, _ done: @escaping Completion<Bool>) {
        engine.remove(Variants.keys(of: key), done) { [catalog, variants] () throws(StoreError) in
            defer { variants.removeFurther(of: key) }
            return try catalog.remove(key)
        }
    }

    /// The state that the players of this cache share, or nil before there is any.
    var presentDoor: (any PlayerDoor)? { playerDoor.current }

    /// Reports the running transfers of the list of downloads to a new door.
    package func reportDownloads(to door: any PlayerDoor) { downloadRunner.report(to: door) }

    /// Returns the state that the players of this cache share, and makes it at the first call.
    package func playerDoor<Door: PlayerDoor>(make: () -> Door) -> Door { playerDoor.door(make: make) }

    /// Runs a call of the store on the index lane, or fails at once if the cache is closed.
    package func onIndexLane<Value: Sendable>(
        _ key: ResourceKey?, _ done: @escaping Completion<Value>, _ body: @escaping @Sendable () throws(StoreError) -> Value
    ) {
        engine.onIndexLane(key, done, body)
    }

    /// Ends every reader and fetch, makes everything durable and closes the store. Idempotent.
    /// `done` is called once for each call, and at once if the cache is closed already.
    package func close(_ done: @escaping @Sendable () -> Void) {
        playerDoor.current?.cacheCloses()
        engine.close(done)
    }
}

extension SessionLink {
    /// Returns a reader of bytes that can be sent at once. The call updates the link.
    ///
    /// - Parameters:
    ///   - spec: The requested range, or nil for the whole resource.
    ///   - policy: The result of `Configuration.policy(for:_:)` for the URL.
    ///   - max: The most bytes that the door sends before it asks the reader for more.
    /// - Returns: The hit, or nil if anything has to be waited for, fetched or decided first.
    ///   `sessionReader` handles those requests.
    package mutating func hit(
        in cache: MediaCache, key: ResourceKey, url: MediaURL, spec: RangeHeader.Spec?, policy: CachePolicy, max: Int64
    ) -> StoredHit? {
        cache.engine.hit(&self, key: key, url: url, spec: spec, policy: policy, max: max)
    }
}
