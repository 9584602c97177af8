extension MediaCache {
    /// The limits on stored bytes, first those of the configuration. Callable on any thread.
    ///
    /// A change takes effect at once: resources beyond the limits are evicted, and each eviction is
    /// an event `.evicted` with its cause. A resource in use keeps the read-ahead that it began
    /// with. A limit below its least value counts as that value: 1 byte, 1 resource, 1 nanosecond.
    public var limits: StorageLimits {
        get { engine.limits.current }
        set { engine.change(newValue.raisedToLeast) }
    }

    /// Sets the limits of an open cache.
    ///
    /// - Throws: `.configuration` if a limit allows nothing. Nothing changes then.
    package func setLimits(_ new: StorageLimits) throws(CacheError) {
        try new.validate()
        engine.change(new)
    }
}

extension StorageLimits {
    /// These limits, with each value at least the least that `validate()` accepts.
    fileprivate var raisedToLeast: StorageLimits {
        var limits = self
        limits.quotaBytes = quotaBytes.map { max(1, $0) }
        limits.maximumAge = maximumAge.map { max(.nanoseconds(1), $0) }
        limits.maximumCount = maximumCount.map { max(1, $0) }
        limits.minimumFreeBytes = minimumFreeBytes.map { max(1, $0) }
        return limits
    }
}

extension Engine {
    /// Sets the limits, and evicts what is beyond them.
    fileprivate func change(_ new: StorageLimits) {
        limits.set(new)
        evictor.limitsChanged()
        ageTimer.start(for: self)
    }
}
