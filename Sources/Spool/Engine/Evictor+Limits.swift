import SpoolCore
import SpoolStore
import SpoolSystem

// Limits of age and number, and a quota that is exceeded all the same. Everything runs on the index
// lane.

extension Evictor {
    /// Removes resources that are too old or too many, and evicts what is beyond the quota, as far
    /// as they are not in use. Runs on the index lane.
    ///
    /// - Parameter key: A resource to spare, because it was stored just now.
    func enforce(sparing key: ResourceKey? = nil) {
        do throws(StoreError) {
            if let age = limits.maximumAge {
                let start = Timestamp(nanoseconds: ageNow.nanoseconds.subtractingSaturated(Nanoseconds(saturating: age)))
                try removeUnused(since: start, sparing: key)
            }
            if let maximum = limits.maximumCount { try removeUnused(try store.count() - downloads.count - maximum, sparing: key) }
        } catch { note(error) }
        enforceQuota()
    }

    /// The time that ages count from. A clock that is set forward while the store is open makes
    /// nothing older than the time that has passed.
    var ageNow: Timestamp {
        let passed = Timestamp(nanoseconds: opened.wall.nanoseconds.addingSaturated(environment.time.now - opened.at))
        return min(environment.time.wallNow, passed)
    }

    /// Evicts what is beyond the quota.
    func enforceQuota() {
        do throws(StoreError) {
            guard let quota = try quota() else { return }
            let excess = try countedBytes() - quota
            guard excess > 0 else { return }
            committer.writeTouches()
            try evict(excess, slack: 0, .quota)
        } catch { note(error) }
    }

    func removeUnused(since time: Timestamp, sparing key: ResourceKey?) throws(StoreError) {
        var isFirst = true
        try forEachCandidate(largerThan: -1, by: LeastRecentlyUsed()) { (candidate) throws(StoreError) in
            guard candidate.lastAccess < time else { return false }
            if isFirst { committer.writeTouches() }
            isFirst = false
            // A later access time may have been entered after the candidate was read.
            let isOld = try store.lookup(candidate.key).map { $0.lastAccess < time } != false
            if candidate.key != key, isOld { _ = try removeIfIdle(candidate.key, .maximumAge) }
            return true
        }
    }

    func removeUnused(_ excess: Int, sparing key: ResourceKey?) throws(StoreError) {
        guard excess > 0 else { return }
        committer.writeTouches()
        var missing = excess
        // The limit -1 includes resources without bytes, because they are counted as well.
        try forEachCandidate(largerThan: -1) { (candidate) throws(StoreError) in
            if candidate.key != key, try removeIfIdle(candidate.key, .maximumCount) { missing -= 1 }
            return missing > 0
        }
    }

    func removeIfIdle(_ key: ResourceKey, _ cause: EvictionCause) throws(StoreError) -> Bool {
        guard !pins.contains(key), hooks.release(key) else { return false }
        _ = try measured(key, cause) { () throws(StoreError) in _ = try store.remove(key) }
        return true
    }
}
