package import SpoolStore

/// Keeps the counts of a cache for longer than the cache is open.
package protocol CountsKeeper: AnyObject, Sendable {
    /// Keeps the growth of the counts. Called on the index lane: with access times, with durable
    /// points, and before the store is closed or suspended.
    ///
    /// - Parameter isLast: Whether the next call may never come.
    /// - Throws: The error of the store. The next call repeats what this one could not keep.
    func keep(_ counts: Statistics, isLast: Bool) throws(StoreError)
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

extension Engine {
    /// Passes the counts to their keeper, if there is one. Runs on the index lane.
    ///
    /// - Parameter isLast: Whether the next call may never come.
    func keepCounts(isLast: Bool) {
        guard let keeper = countsKeeper.withLock({ $0 }) else { return }
        do throws(StoreError) { try keeper.keep(statistics, isLast: isLast) } catch {
            // A full disk is reported by what it keeps from being stored.
            if ![.closed, .suspended, .full].contains(error) { record(.storeTrouble("history: \(error)")) }
        }
    }
}
