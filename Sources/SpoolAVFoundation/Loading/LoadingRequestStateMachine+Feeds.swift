package import SpoolCore

// Feeds: which reader serves which requests, the pace of delivery, and the handling of failed
// readers.

extension LoadingRequestStateMachine {
    /// The next step that the shell may take with a feed.
    package enum Turn: Hashable, Sendable {
        /// Take up to `max` bytes from the feed's reader and deliver them, then call `delivered`.
        case read(max: Int)
        /// Wait until this moment and ask again. The feed is far enough ahead, or waits to be
        /// opened again.
        case rest(until: MonotonicInstant)
        /// The feed is gone.
        case over
    }

    // MARK: Attaching

    /// Gives each request for bytes a feed. A request joins a feed with the same position and end,
    /// or gets its own.
    mutating func attach(length: Int64, now: MonotonicInstant) -> [LoadingAction] {
        var actions: [LoadingAction] = []
        for index in requests.indices where requests[index].feed == nil && requests[index].ask.bytes != nil {
            let start = requests[index].currentOffset
            let end = Self.end(of: requests[index].ask, length: length)
            if let feed = feeds.first(where: { $0.position == start && $0.end == end }) {
                requests[index].feed = feed.id
                continue
            }
            let feed = Feed(id: LoadingFeedID(rawValue: nextFeed), position: start, end: end, aheadSince: now)
            nextFeed += 1
            feeds.append(feed)
            requests[index].feed = feed.id
            actions.append(.open(feed.id, start: start, end: end))
        }
        return actions
    }

    /// Returns the requests that a feed's bytes go to, oldest first.
    package func requests(of feed: LoadingFeedID) -> [LoadingRequestID] {
        requests.filter { $0.feed == feed }.map(\.id)
    }

    mutating func dropUnusedFeeds() -> [LoadingAction] {
        let unused = feeds.filter { feed in !requests.contains { $0.feed == feed.id } }
        guard !unused.isEmpty else { return [] }
        feeds.removeAll { feed in unused.contains { $0.id == feed.id } }
        return unused.map { .close($0.id) }
    }

    // MARK: Pace

    /// Returns whether the feed may read now, and how much.
    package mutating func turn(of id: LoadingFeedID, now: MonotonicInstant) -> Turn {
        guard let index = feeds.firstIndex(where: { $0.id == id }) else { return .over }
        if let reopensAt = feeds[index].reopensAt { return .rest(until: reopensAt) }
        if feeds[index].isPostponed { return .over }
        leak(index, now: now)
        let feed = feeds[index]
        let rest = feed.end - feed.position
        let room = Double(mayBeAheadBytes) - feed.aheadBytes
        let least = Double(min(rest, Int64(limits.slowPieceBytes)))
        if room >= least { return .read(max: Int(min(rest, Int64(limits.pieceBytes), Int64(room)))) }
        let wait = (least - room) / Double(floorBytesPerSecond) * 1e9
        return .rest(until: now + max(1, Nanoseconds(wait.rounded(.up))))
    }

    /// How far a feed may be ahead of the floor rate, in bytes. At least one small piece, because
    /// the feed would otherwise stall.
    var mayBeAheadBytes: Int64 {
        let wanted =
            switch priority {
            case .playing: min(limits.longestRunAheadBytes, max(limits.runAheadBytes, limits.runAheadSeconds * (mediaBytesPerSecond ?? 0)))
            case .upcoming: limits.upcomingRunAheadBytes
            case .yielding, .parked: Int64(limits.slowPieceBytes)
            }
        // The bound of the process, in equal parts.
        let share = limits.processBytes / Int64(max(1, assetCount * max(1, feeds.count)))
        return max(min(wanted, share), Int64(limits.slowPieceBytes))
    }

    /// Sets the number of assets with open requests, which share the bound of the process.
    package mutating func shared(amongAssets count: Int) {
        assetCount = max(1, count)
    }

    /// The rate below which delivery does not fall, in bytes a second.
    package var floorBytesPerSecond: Int64 {
        if priority == .yielding { return max(1, limits.yieldingBytesPerSecond) }
        if priority == .parked { return max(1, limits.parkedBytesPerSecond) }
        return max(1, limits.floorBytesPerSecond, mediaBytesPerSecond.map { 2 * $0 } ?? 0)
    }

    /// Reduces the surplus of a feed by the bytes that became due at the floor rate.
    private mutating func leak(_ index: Int, now: MonotonicInstant) {
        let passed = Double(now - feeds[index].aheadSince) / 1e9
        feeds[index].aheadBytes = max(0, feeds[index].aheadBytes - passed * Double(floorBytesPerSecond))
        feeds[index].aheadSince = now
    }

    /// Sets the urgency of the asset. The shell lets resting feeds check again.
    package mutating func prioritized(_ priority: LoadingPriority) {
        guard priority != self.priority else { return }
        self.priority = priority
        // A surplus from before would keep a slow feed waiting longer than its requests can wait.
        for index in feeds.indices { feeds[index].aheadBytes = min(feeds[index].aheadBytes, Double(mayBeAheadBytes)) }
    }

    /// Sets the item's average rate, which raises the floor. Ignores implausible rates.
    package mutating func mediaRateLearnt(bytesPerSecond: Int64) {
        // No media needs more than 1 GiB a second. Such a rate means that the duration is not known
        // yet.
        guard bytesPerSecond > 0, bytesPerSecond <= 1 << 30 else { return }
        mediaBytesPerSecond = bytesPerSecond
    }

    // MARK: Bytes

    /// Accounts for `count` bytes that were delivered to each request of a feed.
    package mutating func delivered(_ id: LoadingFeedID, count: Int, now: MonotonicInstant) -> [LoadingAction] {
        guard let index = feeds.firstIndex(where: { $0.id == id }), count > 0, case .known(let length) = phase else { return [] }
        leak(index, now: now)
        feeds[index].position += Int64(count)
        feeds[index].aheadBytes += Double(count)
        feeds[index].failures = 0
        for request in requests.indices where requests[request].feed == id {
            requests[request].currentOffset += Int64(count)
            requests[request].lastProgress = now
        }
        return finishMetAsks(length: length)
    }

    /// Handles a feed whose reader has no more bytes. Before the announced end this is a failure,
    /// because the player would cut the item short.
    package mutating func ended(_ id: LoadingFeedID, now: MonotonicInstant) -> [LoadingAction] {
        guard let feed = feeds.first(where: { $0.id == id }) else { return [] }
        let words = "the bytes end at \(feed.position), before \(feed.end) that were told"
        return failed(id, LoadingFailure(CacheError(.originMalformed, words)), now: now)
    }

    /// Handles a feed whose reader failed. The feed is opened again while that may help and the
    /// requests can wait. Otherwise they end with the failure.
    package mutating func failed(_ id: LoadingFeedID, _ failure: LoadingFailure, now: MonotonicInstant) -> [LoadingAction] {
        guard let index = feeds.firstIndex(where: { $0.id == id }) else { return [] }
        let delay = retryDelay(after: feeds[index].failures)
        let reopensAt = now + delay
        let canWait = requests.contains { $0.feed == id && reopensAt < $0.lastProgress + limits.patience }
        if failure.isWorthAnotherTry, canWait {
            feeds[index].failures += 1
            feeds[index].reopensAt = reopensAt
            return [.close(id)]
        }
        let ending = requests(of: id)
        requests.removeAll { $0.feed == id }
        return ending.map { .fail($0, failure) } + dropUnusedFeeds()
    }

    /// Handles a feed whose reader failed for a reason that will be removed, and is then reported
    /// by `released`.
    package mutating func postponed(_ id: LoadingFeedID) -> [LoadingAction] {
        guard let index = feeds.firstIndex(where: { $0.id == id }) else { return [] }
        feeds[index].isPostponed = true
        return [.close(id)]
    }

    /// Goes on with everything that waits: for a fresh URL, or for the process after a suspension.
    /// The shell has no reader at this moment, except those of feeds that went on.
    package mutating func released(now: MonotonicInstant) -> [LoadingAction] {
        var actions: [LoadingAction] = []
        if phase == .discovering {
            rediscoversAt = nil
            actions.append(.discover)
        }
        for index in feeds.indices {
            feeds[index].reopensAt = nil
            feeds[index].isPostponed = false
            actions.append(.open(feeds[index].id, start: feeds[index].position, end: feeds[index].end))
        }
        return actions
    }

    /// Lets the time of a suspension not count against the patience of requests.
    package mutating func timeStoodStill(until now: MonotonicInstant) {
        for index in requests.indices { requests[index].lastProgress = now }
    }

    func retryDelay(after failures: Int) -> Nanoseconds {
        min(limits.longestRetryDelay, limits.retryDelay << Int64(min(failures, 16)))
    }

    // MARK: Time

    /// Does the work that is due. Call it at the moment of `nextDeadline`. Late and repeated calls
    /// are harmless.
    package mutating func timePassed(now: MonotonicInstant) -> [LoadingAction] {
        failOverdue(now: now) + rediscover(now: now) + reopen(now: now)
    }

    /// The next moment at which `timePassed` has work to do, or nil.
    package var nextDeadline: MonotonicInstant? {
        let overdue = requests.map { $0.lastProgress + limits.patience }.min()
        let reopening = feeds.compactMap(\.reopensAt).min()
        return [overdue, reopening, rediscoversAt].compactMap(\.self).min()
    }

    private mutating func failOverdue(now: MonotonicInstant) -> [LoadingAction] {
        let overdue = requests.filter { $0.lastProgress + limits.patience <= now }.map(\.id)
        guard !overdue.isEmpty else { return [] }
        let words = "nothing came for \(limits.patience / 1_000_000_000) seconds; try again when the network is better"
        let failure = LoadingFailure(CacheError(.originTimeout, words))
        if mayFallBack, phase == .discovering { return giveUpDiscovery(failure) }
        requests.removeAll { overdue.contains($0.id) }
        // No request waits for the answer any more, so the next request starts a new discovery.
        if requests.isEmpty, phase == .discovering { forgetDiscovery() }
        return overdue.map { .fail($0, failure) } + dropUnusedFeeds()
    }

    private mutating func rediscover(now: MonotonicInstant) -> [LoadingAction] {
        guard let at = rediscoversAt, at <= now, phase == .discovering else { return [] }
        rediscoversAt = nil
        if requests.isEmpty {
            forgetDiscovery()
            return []
        }
        return [.discover]
    }

    private mutating func reopen(now: MonotonicInstant) -> [LoadingAction] {
        var actions: [LoadingAction] = []
        for index in feeds.indices {
            guard let reopensAt = feeds[index].reopensAt, reopensAt <= now else { continue }
            feeds[index].reopensAt = nil
            actions.append(.open(feeds[index].id, start: feeds[index].position, end: feeds[index].end))
        }
        return actions
    }

    /// Opens at once all feeds that wait to be opened again, because the network or the app came
    /// back.
    package mutating func triedAgain(now: MonotonicInstant) -> [LoadingAction] {
        for index in feeds.indices where feeds[index].reopensAt != nil { feeds[index].reopensAt = now }
        if rediscoversAt != nil { rediscoversAt = now }
        return rediscover(now: now) + reopen(now: now)
    }
}
