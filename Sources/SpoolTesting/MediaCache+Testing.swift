public import Spool
public import SpoolCore
import SpoolOrigin
import SpoolStore
import SpoolSystem

// Whole caches for the tests of an app: a scripted origin instead of the network, memory instead of
// the disk, and a clock that the test moves.

extension MediaCache {
    /// Creates a cache that stores everything in memory and asks a scripted origin.
    ///
    /// Closing the cache leaves the origin as it is, so a test may open the next cache on it.
    ///
    /// ```swift
    /// let film = VirtualResource(url: "https://example.com/film.mp4", seed: 1, length: 5_000_000)
    /// let cache = try MediaCache.inMemory(origin: ScriptedOrigin([film]))
    /// let reader = try cache.reader(for: film.url)
    /// ```
    ///
    /// - Parameters:
    ///   - origin: The origin of every request. `Configuration.network.transport` is ignored.
    ///   - clock: The clocks of the cache, or nil for the real time.
    ///   - capacityBytes: The most bytes in memory, 64 MiB by default.
    ///   - configuration: The settings of the cache.
    /// - Throws: `.configuration` if a value of the configuration is out of bounds.
    public static func inMemory(
        origin: ScriptedOrigin, clock: ManualTime? = nil, capacityBytes: Int64 = 64 << 20,
        configuration: Configuration = Configuration()
    ) throws(CacheError) -> MediaCache {
        try testCache(configuration, MemoryStore(capacityBytes: capacityBytes), origin, clock)
    }

    /// Creates a cache with the built-in store on a disk in memory, for tests of restarts, crashes
    /// and full disks.
    ///
    /// ```swift
    /// let disk = MemoryDisk()
    /// let cache = try MediaCache.onDisk(disk, origin: origin)
    /// // … the process dies here …
    /// let next = try MediaCache.onDisk(disk.crash(), origin: origin)
    /// ```
    ///
    /// - Parameters:
    ///   - disk: The disk. The store uses the directory `/cache`.
    ///   - origin: The origin of every request. `Configuration.network.transport` is ignored.
    ///   - clock: The clocks of the cache, or nil for the real time.
    ///   - configuration: The settings of the cache. Those of the directory are ignored.
    /// - Throws: `.store` if the store can't be opened; `.key`; `.configuration` if a value of the
    ///   configuration is out of bounds.
    public static func onDisk(
        _ disk: MemoryDisk, origin: ScriptedOrigin, clock: ManualTime? = nil, configuration: Configuration = Configuration()
    ) throws(CacheError) -> MediaCache {
        var options = SQLiteStore.Options()
        options.usesFileSystemForIndex = true
        options.isReadOnly = configuration.storage.isReadOnly
        options.encryption = configuration.security.encryption
        let store: SQLiteStore
        do throws(StoreError) {
            store = try SQLiteStore(directory: "/cache", fileSystem: disk, random: SystemRandom(), options: options)
        } catch {
            throw CacheError(error, key: nil)
        }
        return try testCache(configuration, store, origin, clock)
    }

    private static func testCache(
        _ configuration: Configuration, _ store: any ResourceStore, _ origin: ScriptedOrigin, _ clock: ManualTime?
    ) throws(CacheError) -> MediaCache {
        var configuration = configuration
        configuration.network.transport = SharedOrigin(origin: origin)
        let time: any TimeSource = if let clock { clock } else { SystemTime() }
        return try MediaCache(configuration: configuration, store: store, random: SystemRandom(), time: time)
    }
}

/// An origin that several caches ask, one after the other: closing it does nothing. A cache ends
/// its own transfers before it closes its transport.
private final class SharedOrigin: Transport {
    private let origin: ScriptedOrigin

    init(origin: ScriptedOrigin) { self.origin = origin }

    var windowBytes: Int64? { origin.windowBytes }

    func start(_ request: OriginRequest, receiver: any TransferReceiver) -> any Transfer {
        origin.start(request, receiver: receiver)
    }

    func close() {}
}
