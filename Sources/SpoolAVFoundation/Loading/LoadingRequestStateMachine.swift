package import SpoolCore

/// Manages the loading requests of one asset: when each gets its content information, which bytes
/// it gets, and whether it ends with success or an error.
///
/// A value without clock, queue, reader or AVFoundation. The shell reports events and performs the
/// actions, in order, after the callback that brought a request has returned.
///
/// Words: a *request* is one loading request and has an ask. A *feed* is one reader of the cache.
/// It serves the requests at its position with the same end, so that identical requests that come
/// together cost one read. A feed is *open* while the shell has a reader for it and *resting* while
/// it waits to be opened again.
///
/// Rules, each based on AVFoundation's headers:
///
/// - Information comes before data.
/// - Bytes go out in order from the request's current offset, and never more than were asked for.
/// - `finish` means that the ask is met or that the resource ends, because the player takes an
///   early finish for the end of the resource.
/// - Every other end is an error.
package struct LoadingRequestStateMachine: Sendable {
    /// The limits of the requests.
    package let limits: LoadingLimits
    /// The present state of the resource.
    package internal(set) var phase: Phase = .unknown
    /// The open requests, oldest first.
    package internal(set) var requests: [Request] = []
    /// The feeds, oldest first.
    package internal(set) var feeds: [Feed] = []
    /// The urgency of the asset.
    package internal(set) var priority = LoadingPriority.playing
    /// The number of failed discoveries in a row.
    var failedDiscoveries = 0
    var rediscoversAt: MonotonicInstant?
    /// Whether the original may play where the discovery fails.
    var mayFallBack = false
    /// The item's average rate in bytes a second, once it is known.
    var mediaBytesPerSecond: Int64?
    /// The number of assets with open requests in this process.
    var assetCount = 1
    var nextRequest: UInt64 = 1
    var nextFeed: UInt64 = 1

    /// The states of the resource, with their successors.
    package enum Phase: Hashable, Sendable {
        /// No request asked for the resource yet. Next: `.discovering`, `.ended`.
        case unknown
        /// The shell discovers the resource, or will try again. Next: `.known`, `.fellBack`,
        /// `.unknown` after a failure, `.ended`.
        case discovering
        /// Requests have the content information, or are about to get it. Next: `.ended`.
        case known(length: Int64)
        /// Every request is sent to the original URL. Next: `.ended`.
        case fellBack(FallbackReason)
        /// The asset is gone. New requests end at once.
        case ended
    }

    /// One open loading request.
    package struct Request: Hashable, Sendable {
        /// The identity of the request.
        package let id: LoadingRequestID
        /// The ask of the request.
        package let ask: LoadingAsk
        /// The offset of the next byte for the request, as in AVFoundation's `currentOffset`.
        package var currentOffset: Int64
        /// Whether the request has its content information, or asked for none.
        package var isInformed: Bool
        /// The feed that supplies the request's bytes, once it has one.
        package var feed: LoadingFeedID?
        /// When the request last got information or bytes, or arrived.
        package var lastProgress: MonotonicInstant
    }

    /// One reader of the cache.
    package struct Feed: Hashable, Sendable {
        /// The identity of the feed.
        package let id: LoadingFeedID
        /// The offset of the feed's next byte.
        package var position: Int64
        /// The offset after the feed's last byte.
        package let end: Int64
        /// The bytes that were delivered beyond the floor rate.
        package var aheadBytes: Double = 0
        /// The moment to which `aheadBytes` refers.
        package var aheadSince: MonotonicInstant
        /// When a failed feed is opened again, or nil for an open one.
        package var reopensAt: MonotonicInstant?
        /// Whether the feed waits for `released`.
        package var isPostponed = false
        /// The number of failed readers since the feed's last byte.
        package var failures = 0
    }

    /// Creates a machine without requests.
    package init(limits: LoadingLimits = LoadingLimits()) {
        self.limits = limits
    }
}

/// An action for the shell after an event, to be performed in order.
package enum LoadingAction: Hashable, Sendable {
    /// Discover the resource, and answer with `discovered`, `discoveryFailed` or `fellBack`.
    case discover
    /// Fill in the request's content information.
    case inform(LoadingRequestID)
    /// Make a reader of `[start, end)` and go on with `turn`.
    case open(LoadingFeedID, start: Int64, end: Int64)
    /// Release the feed's reader.
    case close(LoadingFeedID)
    /// Finish the request, which got everything that it asked for.
    case finish(LoadingRequestID)
    /// End the request with an error.
    case fail(LoadingRequestID, LoadingFailure)
    /// Send the player to the original URL.
    case redirect(LoadingRequestID, FallbackReason)
}

// MARK: - Requests

extension LoadingRequestStateMachine {
    /// Adds a request of the player.
    package mutating func requested(_ ask: LoadingAsk, now: MonotonicInstant) -> (LoadingRequestID, [LoadingAction]) {
        let id = LoadingRequestID(rawValue: nextRequest)
        nextRequest += 1
        let actions = makeRoom()
        requests.append(
            Request(
                id: id, ask: ask, currentOffset: ask.bytes?.start ?? 0, isInformed: !ask.wantsInformation, feed: nil, lastProgress: now))
        return (id, actions + serve(now: now))
    }

    /// Removes a request that the player cancelled. Ignores an unknown one, which may have finished
    /// meanwhile.
    package mutating func cancelled(_ id: LoadingRequestID) -> [LoadingAction] {
        guard let index = requests.firstIndex(where: { $0.id == id }) else { return [] }
        requests.remove(at: index)
        return dropUnusedFeeds()
    }

    /// Ends everything, because the asset is gone or its loading was cancelled.
    package mutating func end(_ failure: LoadingFailure) -> [LoadingAction] {
        phase = .ended
        rediscoversAt = nil
        return failAll(failure)
    }

    /// Fails all open requests, because their loading was cancelled. The asset may ask again.
    package mutating func failAll(_ failure: LoadingFailure) -> [LoadingAction] {
        let failed = requests.map { LoadingAction.fail($0.id, failure) }
        requests = []
        return failed + dropUnusedFeeds()
    }

    /// Ends the oldest request when there are more than any player uses. Its player has probably
    /// abandoned it.
    private mutating func makeRoom() -> [LoadingAction] {
        guard requests.count >= limits.openRequests, let oldest = requests.first else { return [] }
        requests.removeFirst()
        let words = "more than \(limits.openRequests) loading requests of one asset are open; the oldest was ended"
        return [.fail(oldest.id, LoadingFailure(CacheError(.closed, words)))] + dropUnusedFeeds()
    }
}

// MARK: - Discovery

extension LoadingRequestStateMachine {
    /// Handles a successful discovery of a resource that can be served.
    ///
    /// - Parameter length: The number of its bytes, at least 1.
    package mutating func discovered(length: Int64, now: MonotonicInstant) -> [LoadingAction] {
        guard phase == .discovering else { return [] }
        phase = .known(length: length)
        rediscoversAt = nil
        return serve(now: now)
    }

    /// Handles a discovery that failed or found no media. It is tried again while that may help and
    /// the requests can wait. Otherwise they end, and the next request starts a new discovery.
    package mutating func discoveryFailed(_ failure: LoadingFailure, now: MonotonicInstant) -> [LoadingAction] {
        guard phase == .discovering else { return [] }
        failedDiscoveries += 1
        let nextTry = now + retryDelay(after: failedDiscoveries - 1)
        let canWait = requests.contains { nextTry < $0.lastProgress + limits.patience }
        if failure.isWorthAnotherTry, failedDiscoveries < limits.discoveries, canWait {
            rediscoversAt = nextTry
            return []
        }
        return giveUpDiscovery(failure)
    }

    /// Sends the player to the original after a failure that the original may not have. Otherwise
    /// fails all requests.
    mutating func giveUpDiscovery(_ failure: LoadingFailure) -> [LoadingAction] {
        if mayFallBack, failure.error.mayPlayFromOriginal { return fellBack(.trouble(failure.error.code)) }
        forgetDiscovery()
        return failAll(failure)
    }

    /// Cancels the discovery, because no request waits for it. The next request starts a new one.
    mutating func forgetDiscovery() {
        phase = .unknown
        (failedDiscoveries, rediscoversAt) = (0, nil)
    }

    /// Sends the player to the original URL. Only possible before information was given.
    package mutating func fellBack(_ reason: FallbackReason) -> [LoadingAction] {
        guard phase == .discovering || phase == .unknown else { return [] }
        phase = .fellBack(reason)
        rediscoversAt = nil
        return redirectAll(reason)
    }

    private mutating func redirectAll(_ reason: FallbackReason) -> [LoadingAction] {
        defer { requests = [] }
        return requests.map { .redirect($0.id, reason) }
    }

    /// Advances every request as far as possible without bytes.
    mutating func serve(now: MonotonicInstant) -> [LoadingAction] {
        switch phase {
        case .unknown:
            let finished = finishEmptyAsks()
            guard !requests.isEmpty else { return finished }
            phase = .discovering
            return finished + [.discover]
        case .discovering:
            return finishEmptyAsks()
        case .fellBack(let reason):
            return redirectAll(reason)
        case .ended:
            return failAll(.released)
        case .known(let length):
            var actions: [LoadingAction] = []
            for index in requests.indices where !requests[index].isInformed {
                requests[index].isInformed = true
                requests[index].lastProgress = now
                actions.append(.inform(requests[index].id))
            }
            return actions + finishMetAsks(length: length) + attach(length: length, now: now)
        }
    }

    /// Finishes requests that ask for neither information nor bytes.
    private mutating func finishEmptyAsks() -> [LoadingAction] {
        let empty = requests.filter { $0.ask.bytes == nil && !$0.ask.wantsInformation }.map(\.id)
        requests.removeAll { empty.contains($0.id) }
        return empty.map { .finish($0) }
    }

    /// Finishes the requests that got all they asked for, or are at the end of the resource.
    mutating func finishMetAsks(length: Int64) -> [LoadingAction] {
        let met = requests.filter { $0.isInformed && $0.currentOffset >= Self.end(of: $0.ask, length: length) }.map(\.id)
        guard !met.isEmpty else { return [] }
        requests.removeAll { met.contains($0.id) }
        return met.map { .finish($0) } + dropUnusedFeeds()
    }

    /// Returns the offset at which an ask is met, or 0 for one without bytes.
    static func end(of ask: LoadingAsk, length: Int64) -> Int64 {
        guard let bytes = ask.bytes else { return 0 }
        return min(bytes.end ?? length, length)
    }
}

extension LoadingFailure {
    /// The failure of requests whose asset was released.
    package static let released = LoadingFailure(CacheError(.closed, "the asset was released or its loading was cancelled"))
}
