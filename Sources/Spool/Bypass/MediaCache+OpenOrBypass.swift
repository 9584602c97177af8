public import SpoolCore
import SpoolStore

// A cache that an app has in any case.

extension MediaCache {
    /// Opens a cache like `init(configuration:)`, or returns one that stores nothing and is bypassed.
    ///
    /// An app that can play without its cache needs no second way then. If the store cannot be
    /// opened, `openError` has the error, one event reports it (`CacheEvent.bypassChanged`), and
    /// `isBypassed` stays true until the process ends. The store is neither created nor emptied nor
    /// set aside, and the next launch tries again. A list of downloads is empty meanwhile, and takes
    /// no entry.
    ///
    /// An app with an encrypted store must look at `openError`: a wrong key is one of the errors.
    /// - Throws: `.configuration` if a value is out of bounds, or if the process is out of
    ///   descriptors.
    public static func openOrBypass(configuration: Configuration = Configuration()) throws(CacheError) -> MediaCache {
        do {
            return try MediaCache(configuration: configuration)
        } catch {
            guard error.code != .configuration else { throw error }
            let cache = try MediaCache(configuration: configuration, store: MemoryStore.readOnly)
            cache.openFailure.withLock { $0 = error }
            cache.changeBypass(error.message) { $0.insert(.notOpened) }
            return cache
        }
    }

    /// The error for which this cache has no store, or nil. Only `openOrBypass` returns such a cache.
    public var openError: CacheError? { openFailure.withLock { $0 } }
}
