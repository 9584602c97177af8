import SpoolSystem

extension CacheWatch {
    /// Takes the events of a cache from now on, in place of its watch before.
    package func watch(_ cache: MediaCache) { cache.engine.feed.watch.withLock { $0 = self } }
}

extension CountsKeeper {
    /// Returns the keeper of the counts of a cache, and makes it at the first call.
    package static func keeper(of cache: MediaCache, make: () -> Self) -> Self {
        cache.engine.countsKeeper.withLock { kept in
            if let known = kept as? Self { return known }
            let made = make()
            kept = made
            return made
        }
    }
}
