package import SpoolCore
import SpoolSystem

/// The limits of an open store, which may change while it is open.
final class LiveLimits: Sendable {
    private let limits: Locked<StorageLimits>

    init(_ limits: StorageLimits) { self.limits = Locked(limits) }

    /// The limits at this moment.
    var current: StorageLimits { limits.withLock { $0 } }

    func set(_ new: StorageLimits) { limits.withLock { $0 = new } }
}

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
