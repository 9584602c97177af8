package import SpoolCore

/// Decides what happens to the loading requests of one asset: when it is said what the resource is, which bytes go to which request, when
/// one is finished, and when with an error.
///
/// A value without clock, queue, reader or AVFoundation. The shell hands in what happened and carries out the actions, in order, after
/// the callback that brought a request has returned.
///
/// Words: a *request* is one loading request and has an ask. A *feed* is one reader of the cache; it serves the requests that stand at its
/// position and want the same end, so that identical requests that come together cost one read. A feed is *open* while the shell has a
/// reader for it and *resting* while it waits to be opened again.
///
/// Rules, each with the source that it stands on in the headers: information comes before data; bytes go out in order from the request's
/// current offset, never more than were asked; `finish` means that the ask is met or that the resource ends, since the player takes an
/// early finish for the end of the resource; all else is an error.
package struct LoadingRequestStateMachine: Sendable {
    package let limits: LoadingLimits
    package internal(set) var phase: Phase = .unknown
    package internal(set) var requests: [Request] = []
    package internal(set) var feeds: [Feed] = []
    package internal(set) var priority = LoadingPriority.playing
    /// Discoveries that failed in a row, and when the next one begins; nil while one runs.
    var failedDiscoveries = 0
    var rediscoversAt: MonotonicInstant?
    /// What the item plays a second, once somebody knows.
    var mediaBytesPerSecond: Int64?
    var nextRequest: UInt64 = 1
    var nextFeed: UInt64 = 1

    package enum Phase: Hashable, Sendable {
        /// Nobody asked what the resource is; next: `.discovering`, `.ended`.
        case unknown
        /// The shell finds out, or will try again; next: `.known`, `.fellBack`, `.unknown` after a failure, `.ended`.
        case discovering
        /// Told, or about to be; next: `.ended`.
        case known(length: Int64)
        /// Every request is sent to the original URL; next: `.ended`.
        case fellBack(FallbackReason)
        /// The asset is gone: requests end as they come.
        case ended
    }

    /// One open loading request.
    package struct Request: Hashable, Sendable {
        package let id: LoadingRequestID
        package let ask: LoadingAsk
        /// The offset of the next byte that it gets; as AVFoundation's `currentOffset`.
        package var currentOffset: Int64
        package var isInformed: Bool
        /// The feed that it gets bytes from, once it has one.
        package var feed: LoadingFeedID?
        /// When it last got something, or came.
        package var lastProgress: MonotonicInstant
    }

    /// One reader of the cache.
    package struct Feed: Hashable, Sendable {
        package let id: LoadingFeedID
        package var position: Int64
        /// The offset after its last byte.
        package let end: Int64
        /// Bytes that were delivered beyond what the floor rate would have.
        package var aheadBytes: Double = 0
        package var aheadSince: MonotonicInstant
        /// Its reader failed; another is opened then.
        package var reopensAt: MonotonicInstant?
        /// Readers that failed since its last byte.
        package var failures = 0
    }

    package init(limits: LoadingLimits = LoadingLimits()) {
        self.limits = limits
    }
}

/// What the shell has to do after an event, in order.
package enum LoadingAction: Hashable, Sendable {
    /// Find out what the resource is, and answer with `discovered`, `discoveryFailed` or `fellBack`.
    case discover
    /// Fill in the request's content information.
    case inform(LoadingRequestID)
    /// Make a reader of `[start, end)` and go on with `turn`.
    case open(LoadingFeedID, start: Int64, end: Int64)
    /// Let the feed's reader go.
    case close(LoadingFeedID)
    /// Everything that was asked for has been handed over.
    case finish(LoadingRequestID)
    /// End the request with an error.
    case fail(LoadingRequestID, LoadingFailure)
    /// Send the player to the original URL.
    case redirect(LoadingRequestID, FallbackReason)
}

// MARK: - Requests

extension LoadingRequestStateMachine {
    /// The player made a request.
    package mutating func requested(_ ask: LoadingAsk, now: MonotonicInstant) -> (LoadingRequestID, [LoadingAction]) {
        let id = LoadingRequestID(rawValue: nextRequest)
        nextRequest += 1
        let actions = makeRoom()
        requests.append(
            Request(
                id: id, ask: ask, currentOffset: ask.bytes?.start ?? 0, isInformed: !ask.wantsInformation, feed: nil, lastProgress: now))
        return (id, actions + serve(now: now))
    }

    /// The player wants no more of a request. Unknown ones are ignored: it may have been finished meanwhile.
    package mutating func cancelled(_ id: LoadingRequestID) -> [LoadingAction] {
        guard let index = requests.firstIndex(where: { $0.id == id }) else { return [] }
        requests.remove(at: index)
        return dropUnusedFeeds()
    }

    /// The asset is gone, or its loading was called off: everything ends.
    package mutating func end(_ failure: LoadingFailure) -> [LoadingAction] {
        phase = .ended
        rediscoversAt = nil
        return failAll(failure)
    }

    /// The loading of all that is open was called off; the asset may ask again.
    package mutating func failAll(_ failure: LoadingFailure) -> [LoadingAction] {
        let failed = requests.map { LoadingAction.fail($0.id, failure) }
        requests = []
        return failed + dropUnusedFeeds()
    }

    /// More requests than any player has: the oldest was forgotten by its player.
    private mutating func makeRoom() -> [LoadingAction] {
        guard requests.count >= limits.openRequests, let oldest = requests.first else { return [] }
        requests.removeFirst()
        let words = "more than \(limits.openRequests) loading requests of one asset are open; the oldest was ended"
        return [.fail(oldest.id, LoadingFailure(CacheError(.closed, words)))] + dropUnusedFeeds()
    }
}

// MARK: - What the resource is

extension LoadingRequestStateMachine {
    /// The resource is known and can be served.
    ///
    /// - Parameter length: the number of its bytes, at least 1.
    package mutating func discovered(length: Int64, now: MonotonicInstant) -> [LoadingAction] {
        guard phase == .discovering else { return [] }
        phase = .known(length: length)
        rediscoversAt = nil
        return serve(now: now)
    }

    /// It can't be found out, or is nothing that a player plays. Tried again while that may help and the requests can wait; else they end,
    /// and the next request tries anew.
    package mutating func discoveryFailed(_ failure: LoadingFailure, now: MonotonicInstant) -> [LoadingAction] {
        guard phase == .discovering else { return [] }
        failedDiscoveries += 1
        let nextTry = now + retryDelay(after: failedDiscoveries - 1)
        let canWait = requests.contains { nextTry < $0.lastProgress + limits.patience }
        if failure.isWorthAnotherTry, failedDiscoveries < limits.discoveries, canWait {
            rediscoversAt = nextTry
            return []
        }
        forgetDiscovery()
        return failAll(failure)
    }

    /// Nobody waits for what the resource is: the next request asks anew.
    mutating func forgetDiscovery() {
        phase = .unknown
        (failedDiscoveries, rediscoversAt) = (0, nil)
    }

    /// The player has to load it by itself. Only before information was given.
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

    /// Brings every request as far as it can be without bytes.
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

    /// A request without either part is answered by its end.
    private mutating func finishEmptyAsks() -> [LoadingAction] {
        let empty = requests.filter { $0.ask.bytes == nil && !$0.ask.wantsInformation }.map(\.id)
        requests.removeAll { empty.contains($0.id) }
        return empty.map { .finish($0) }
    }

    /// Requests that have all they asked for, or stand at the end of the resource.
    mutating func finishMetAsks(length: Int64) -> [LoadingAction] {
        let met = requests.filter { $0.isInformed && $0.currentOffset >= Self.end(of: $0.ask, length: length) }.map(\.id)
        guard !met.isEmpty else { return [] }
        requests.removeAll { met.contains($0.id) }
        return met.map { .finish($0) } + dropUnusedFeeds()
    }

    /// The offset at which an ask is met; 0 for one without bytes.
    static func end(of ask: LoadingAsk, length: Int64) -> Int64 {
        guard let bytes = ask.bytes else { return 0 }
        return min(bytes.end ?? length, length)
    }
}

extension LoadingFailure {
    /// The asset was let go.
    package static let released = LoadingFailure(CacheError(.closed, "the asset was released or its loading was cancelled"))
}
