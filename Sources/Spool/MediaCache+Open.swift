public import SpoolCore
import SpoolOrigin
public import SpoolStore
package import SpoolSystem
#if !os(Linux)
import SpoolURLSession
#endif

import SpoolLibc

// A cache with the real implementations: SQLite and sparse files, libcurl (URLSession on Apple's
// systems), threads.

extension MediaCache {
    /// Opens the store of `configuration`, creating it if it is missing, and starts the threads of
    /// the cache.
    ///
    /// If another process writes the store, this cache reads it and stores nothing. Once that
    /// process is gone, the next fetch makes this cache the writer. The call reads and writes
    /// files, so do not make it on a thread that must not block.
    ///
    /// - Parameter configuration: The settings, which the cache copies.
    /// - Throws: `.configuration` if a value is out of bounds, or if the process has no descriptor
    ///   left; `.store`, with a message that describes the remedy; `.key` if the store needs a key and the provider has none or another
    ///   one; `.storeLocked`.
    public convenience init(configuration: Configuration = Configuration()) throws(CacheError) {
        try configuration.validate()
        let directory =
            if let given = configuration.storage.directory { given } else { try Self.defaultDirectory(named: configuration.storage.name) }
        Self.setAttributes(of: directory, configuration)
        let random = SystemRandom()
        let store: SQLiteStore
        do throws(StoreError) {
            store = try SQLiteStore(
                directory: directory, fileSystem: POSIXFileSystem(), random: random, options: Self.storeOptions(configuration))
        } catch {
            var error = CacheError(error, key: nil)
            error.message = "can't open the store at \(directory): \(error.message)"
            throw error
        }
        try self.init(configuration: configuration, store: store, random: random, time: SystemTime())
    }

    /// Creates a cache over a store of the app, and starts the threads of the cache.
    ///
    /// The cache takes over the store: it makes the index calls on one lane and closes the store
    /// with itself. The settings that concern the files of the built-in store, such as `directory`,
    /// `isReadOnly` and `encryption`, have no effect.
    ///
    /// ```swift
    /// let cache = try MediaCache(store: MemoryStore(capacityBytes: 64 << 20))   // nothing on disk
    /// ```
    ///
    /// - Parameters:
    ///   - configuration: The settings, which the cache copies.
    ///   - store: A store that keeps the rules of `StoreContract` in `SpoolTesting`, and that no
    ///     other cache uses. `MemoryStore` is one.
    /// - Throws: `.configuration` if a value is out of bounds, or if the process has no descriptor
    ///   left.
    public convenience init(
        configuration: Configuration = Configuration(), store: any ResourceStore
    ) throws(CacheError) {
        try self.init(configuration: configuration, store: store, random: SystemRandom(), time: SystemTime())
    }

    /// Creates a cache over a store, with threads of its own and the given random numbers and
    /// clocks.
    package convenience init(
        configuration: Configuration, store: any ResourceStore, random: any RandomSource, time: any TimeSource
    ) throws(CacheError) {
        try configuration.validate()
        let environment = try Self.environment(configuration, random: random, time: time)
        try self.init(configuration: configuration, environment: environment, store: store)
    }

    /// Sets the attributes of the directory. A failure is recorded as an event and does not keep
    /// the store from opening.
    private static func setAttributes(of directory: String, _ configuration: Configuration) {
        do { try StoreAttributes(configuration)?.apply(to: directory) } catch {
            for sink in sinks(configuration) { sink.record(.storeTrouble("attributes of \(directory): \(error)")) }
        }
    }

    private static func sinks(_ configuration: Configuration) -> [any EventSink] {
        configuration.events + (configuration.log.map { [EventLogger(log: $0)] } ?? [])
    }

    private static func storeOptions(_ configuration: Configuration) -> SQLiteStore.Options {
        var options = SQLiteStore.Options()
        options.isReadOnly = configuration.storage.isReadOnly
        options.encryption = configuration.security.encryption
        options.openFiles = configuration.storage.openFileLimits
        options.expendable = configuration.storage.expendable
        options.onExpended = configuration.storage.onExpended
        let sinks = sinks(configuration)
        options.onRecovery = { note in for sink in sinks { sink.record(.storeTrouble("\(note)")) } }
        return options
    }

    private static func environment(
        _ configuration: Configuration, random: any RandomSource, time: any TimeSource
    ) throws(CacheError) -> CacheEnvironment {
        // First, because it may throw: threads of lanes would stay.
        let (wire, loop) = try transport(configuration)
        let control = DiskLane(name: "spool-control")
        let index = DiskLane(name: "spool-index")
        let sync = DiskLane(name: "spool-sync")
        // Two lanes: one slow disk operation does not keep the bytes of another resource from being
        // written.
        let data = [DiskLane(name: "spool-data-0"), DiskLane(name: "spool-data-1")]
        let lanes = data + [sync, index, control]
        if configuration.network.keepsLanesOffLoop { loop?.keepOffItsCore(lanes) }
        let doubling = DoublingTransport(wire, time: time, on: control)
        var transport: any Transport = RedirectingTransport(
            doubling, privateNames: configuration.security.privateNames, fieldsForURL: configuration.network.requestFieldsForURL)
        if let around = configuration.network.transportAround { transport = around(transport) }
        if let modifier = configuration.network.requestModifier { transport = ModifyingTransport(transport, modifier: modifier) }
        return CacheEnvironment(
            time: time, random: random, transport: transport, loop: loop, control: control,
            indexLane: index, syncLane: sync, dataLanes: data,
            shutDown: {
                for lane in lanes { lane.shutdown() }
            })
    }

    /// Returns the transport, and its loop if that can be shared.
    private static func transport(_ configuration: Configuration) throws(CacheError) -> (any Transport, LoopThread?) {
        if let given = configuration.network.transport { return (given, nil) }
        #if os(Linux)
        var options = CurlTransportOptions()
        options.certificateFile = configuration.network.certificateFile
        options.privateNames = configuration.security.privateNames
        if configuration.network.usesHTTP2 { options.version = .http2 }
        do throws(SystemError) {
            let loop = try LoopThread(name: "spool-loop")
            return (CurlTransport(options: options, on: loop), loop)
        } catch {
            throw CacheError(
                .configuration, "can't open the descriptors of the network loop; close files or raise the limit: \(error)", cause: error)
        }
        #else
        var options = URLSessionTransportOptions()
        options.makeConfiguration = configuration.network.urlSessionConfiguration
        options.onChallenge = configuration.network.onChallenge
        return (URLSessionTransport(options: options), nil)
        #endif
    }

    /// Returns the directory of a cache of this name, if its configuration names none.
    ///
    /// `Caches/<name>` on Apple's systems, where the system may purge it; purged bytes are gaps.
    /// Elsewhere `$XDG_CACHE_HOME/<name>`, or `~/.cache/<name>` if that variable is not set.
    ///
    /// - Throws: `.configuration` if there is no home directory.
    public static func defaultDirectory(named name: String) throws(CacheError) -> String {
        func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 } }
        #if canImport(Darwin)
        if let home = variable("HOME") { return "\(home)/Library/Caches/\(name)" }
        #else
        // The XDG Base Directory Specification requires that a relative path there is ignored.
        if let caches = variable("XDG_CACHE_HOME"), caches.hasPrefix("/") { return "\(caches)/\(name)" }
        if let home = variable("HOME") { return "\(home)/.cache/\(name)" }
        #endif
        throw CacheError(.configuration, "there is no home directory to put the cache in; name a directory")
    }
}
