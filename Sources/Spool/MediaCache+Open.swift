public import SpoolCore
import SpoolLibc
public import SpoolStore
package import SpoolSystem

#if os(macOS)
import Foundation
#endif

// Opening a cache: over the store that is built in, or over a store of the app.

extension MediaCache {
    /// Opens the store of `configuration`, creating it if it is missing, and starts the threads of
    /// the cache.
    ///
    /// If another process writes the store, this cache reads it and stores nothing. Once that
    /// process is gone, the next fetch makes this cache the writer. The call reads and writes
    /// files, so do not make it on a thread that must not block.
    ///
    /// - Parameter configuration: The settings, which the cache copies.
    /// - Throws: `.configuration` if a value is out of bounds, or if the process is out of
    ///   descriptors; `.store`, with a message that describes the remedy; `.key` if the store needs
    ///   a key and the provider has none or another one; `.storeLocked`.
    public convenience init(configuration: Configuration = Configuration()) throws(CacheError) {
        try configuration.validate()
        let opening = CacheOpening(configuration: configuration)
        let (given, name) = (configuration.storage.directory, configuration.storage.name)
        let directory = if let given { given } else { try Self.defaultDirectory(named: name) }
        opening.setAttributes(of: directory)
        let random = SystemRandom()
        let store: SQLiteStore
        do throws(StoreError) {
            store = try SQLiteStore(
                directory: directory, fileSystem: POSIXFileSystem(), random: random, options: opening.storeOptions)
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
    /// `isReadOnly` and `encryption`, are ignored.
    ///
    /// ```swift
    /// let cache = try MediaCache(store: MemoryStore(capacityBytes: 64 << 20))   // nothing on disk
    /// ```
    ///
    /// - Parameters:
    ///   - configuration: The settings, which the cache copies.
    ///   - store: A store that keeps the rules of `StoreContract` in `SpoolTesting`, and that no
    ///     other cache uses. `MemoryStore` is one.
    /// - Throws: `.configuration` if a value is out of bounds, or if the process is out of
    ///   descriptors.
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
        let environment = try CacheOpening(configuration: configuration).environment(random: random, time: time)
        try self.init(configuration: configuration, environment: environment, store: store)
    }

    /// Returns the directory of a cache of this name, if its configuration names none.
    ///
    /// `Caches/<name>` on Apple's systems, where the system may purge it; purged bytes are gaps. On
    /// macOS, outside the sandbox, `Caches/<bundle identifier>/<name>`.
    /// Elsewhere `$XDG_CACHE_HOME/<name>`, or `~/.cache/<name>` if that variable is not set.
    ///
    /// - Throws: `.configuration` if there is no home directory.
    public static func defaultDirectory(named name: String) throws(CacheError) -> String {
        func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 } }
        #if os(macOS)
        if let home = variable("HOME") { return MacCaches(home: home, bundle: Bundle.main.bundleIdentifier).own(name) }
        #elseif canImport(Darwin)
        if let home = variable("HOME") { return "\(home)/Library/Caches/\(name)" }
        #else
        // The XDG Base Directory Specification requires that a relative path there is ignored.
        if let caches = variable("XDG_CACHE_HOME"), caches.hasPrefix("/") { return "\(caches)/\(name)" }
        if let home = variable("HOME") { return "\(home)/.cache/\(name)" }
        #endif
        throw CacheError(.configuration, "there is no home directory to put the cache in; name a directory")
    }
}
