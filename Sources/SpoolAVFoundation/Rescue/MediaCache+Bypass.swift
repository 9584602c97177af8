#if !os(watchOS)
public import Spool
public import SpoolCore
import SpoolStore

extension MediaCache {
    /// Whether players load originals by themselves. Settable on any thread, with effect at once.
    ///
    /// Items that have their information go on to their end. True concerns finished downloads too.
    /// False also ends a bypass after rescues and crashes. docs/rollout.md has the rules.
    public var isBypassed: Bool {
        get { !bypass.causes.isEmpty }
        set { bypass.app(sets: newValue) }
    }

    /// Opens a cache, or returns one that stores nothing and is bypassed until the process ends.
    ///
    /// `openError` has the reason then, and one event reports it. A wrong key is such a reason. The
    /// store stays as it is, and the next launch tries again. Downloads cannot be added meanwhile.
    /// - Throws: `.configuration`, as `init(configuration:)`.
    public static func openOrBypass(configuration: Configuration = Configuration()) throws(CacheError) -> MediaCache {
        do { return try MediaCache(configuration: configuration) } catch {
            guard error.code != .configuration else { throw error }
            let cache = try MediaCache(configuration: configuration, store: MemoryStore.readOnly)
            cache.bypass.openFailure.withLock { $0 = error }
            cache.bypass.change(error.message) { $0.insert(.notOpened) }
            return cache
        }
    }

    /// The error for which this cache has no store, or nil. Only `openOrBypass` returns such a
    /// cache.
    public var openError: CacheError? { bypass.openFailure.withLock { $0 } }

    /// The group of the user in `Configuration.rollout`, or nil without a rollout.
    public var rolloutGroup: Rollout.Group? { configuration.rollout?.group }
}
#endif
