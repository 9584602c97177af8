public import SpoolCore
import SpoolOrigin
import SpoolStore
import SpoolSystem
#if !os(Linux)
import SpoolURLSession
#endif

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

// A cache on the real world: SQLite and sparse files, libcurl (URLSession on Apple's systems), threads.

extension MediaCache {
    /// Opens the store of `configuration`, making it when it is missing, and starts the cache's threads.
    ///
    /// When another process has the store for writing, this one reads it and stores nothing.
    /// - Throws: `.configuration`, `.store` (the message says what to do), `.storeLocked`, `.key`.
    public convenience init(configuration: Configuration = Configuration()) throws(CacheError) {
        if let complaint = configuration.complaint() { throw CacheError(.configuration, complaint) }
        let directory = if let given = configuration.directory { given } else { try Self.defaultDirectory(named: configuration.name) }
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
        try self.init(configuration: configuration, environment: Self.environment(configuration, random: random), store: store)
    }

    /// A store whose files the system treats in another way than is wanted is still a store: it is told, and opened.
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
        options.isReadOnly = configuration.isReadOnly
        options.encryption = configuration.encryption
        options.openFiles = configuration.openFileLimits
        options.expendable = configuration.expendable
        options.onExpended = configuration.onExpended
        let sinks = sinks(configuration)
        options.onRecovery = { note in for sink in sinks { sink.record(.storeTrouble("\(note)")) } }
        return options
    }

    private static func environment(_ configuration: Configuration, random: any RandomSource) -> CacheEnvironment {
        let control = DiskLane(name: "spool-control")
        let index = DiskLane(name: "spool-index")
        let sync = DiskLane(name: "spool-sync")
        // Two: one slow disk operation does not keep another resource's bytes from being written.
        let data = [DiskLane(name: "spool-data-0"), DiskLane(name: "spool-data-1")]
        let lanes = data + [sync, index, control]
        let (wire, loop) = transport(configuration)
        if configuration.keepsLanesOffLoop { loop?.keepOffItsCore(lanes) }
        var transport: any Transport = RedirectingTransport(
            wire, privateNames: configuration.privateNames, fieldsForURL: configuration.requestFieldsForURL)
        if let around = configuration.transportAround { transport = around(transport) }
        if let modifier = configuration.requestModifier { transport = ModifyingTransport(transport, modifier: modifier) }
        return CacheEnvironment(
            time: SystemTime(), random: random, transport: transport, loop: loop, control: control,
            indexLane: index, syncLane: sync, dataLanes: data,
            shutDown: {
                for lane in lanes { lane.shutdown() }
            })
    }

    /// The transport, and what it runs on where that can be shared.
    private static func transport(_ configuration: Configuration) -> (any Transport, LoopThread?) {
        if let given = configuration.transport { return (given, nil) }
        #if os(Linux)
        var options = CurlTransportOptions()
        options.certificateFile = configuration.certificateFile
        options.privateNames = configuration.privateNames
        if configuration.usesHTTP2 { options.version = .http2 }
        do throws(SystemError) {
            let loop = try LoopThread(name: "spool-loop")
            return (CurlTransport(options: options, on: loop), loop)
        } catch {
            preconditionFailure("no descriptor is left for the transport's loop: \(error)")
        }
        #else
        var options = URLSessionTransportOptions()
        options.makeConfiguration = configuration.urlSessionConfiguration
        options.onChallenge = configuration.onChallenge
        return (URLSessionTransport(options: options), nil)
        #endif
    }

    /// Where a cache of this name lies unless told otherwise.
    ///
    /// `Caches/<name>` on Apple's systems, where the system may purge it: a gap, no harm. `$XDG_CACHE_HOME/<name>`, else `~/.cache/<name>`, elsewhere.
    public static func defaultDirectory(named name: String) throws(CacheError) -> String {
        func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 } }
        #if canImport(Darwin)
        if let home = variable("HOME") { return "\(home)/Library/Caches/\(name)" }
        #else
        // A relative path there is to be ignored (XDG Base Directory Specification).
        if let caches = variable("XDG_CACHE_HOME"), caches.hasPrefix("/") { return "\(caches)/\(name)" }
        if let home = variable("HOME") { return "\(home)/.cache/\(name)" }
        #endif
        throw CacheError(.configuration, "there is no home directory to put the cache in; name a directory")
    }
}
