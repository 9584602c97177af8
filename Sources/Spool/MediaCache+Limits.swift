package import SpoolCore

extension StorageLimits {
    /// Returns the limits of a cache at this moment.
    package static func current(of cache: MediaCache) -> StorageLimits { cache.engine.limits.current }

    /// Sets the limits of an open cache. Resources beyond them are evicted at once.
    ///
    /// A resource in use keeps the read-ahead that it began with.
    /// - Throws: `.configuration` if a limit allows nothing. Nothing changes then.
    package func apply(to cache: MediaCache) throws(CacheError) { try cache.engine.change(self) }
}

extension Engine {
    /// Sets the limits, and evicts what is beyond them.
    fileprivate func change(_ new: StorageLimits) throws(CacheError) {
        try new.validate()
        limits.set(new)
        evictor.limitsChanged()
        ageTimer.start(for: self)
    }
}
