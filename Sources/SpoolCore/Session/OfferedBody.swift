/// The decision about offered body bytes.
package enum BodyIntake: Hashable, Sendable {
    /// Keep `count` bytes, which belong at `offset`.
    case keep(at: Int64, count: Int)
    /// Skip the first `count` bytes: they are already stored, or lie before the requested offset.
    case drop(Int)
    /// Take no byte of this call; `.resume` follows.
    case pause
    /// End the transfer: its lease is complete, or the fetch is over.
    case enough
}

/// Body bytes that a transport offers.
struct OfferedBody {
    let id: FetchID
    /// The number of bytes.
    let available: Int
    /// Whether these are the first bytes of a call of the transport. Only then may the answer be
    /// `.pause`.
    let isFirst: Bool

    /// Decides about the bytes, and moves the front of the fetch past those that are taken.
    func take(_ session: inout SessionState) -> BodyIntake {
        guard let index = session.index(of: id) else { return .enough }
        let fetch = session.fetches[index]
        // A fetch that closes takes everything that is stored.
        guard fetch.isReceiving || (fetch.isClosing && !fetch.isRelay) else { return .enough }
        if fetch.skip > 0 {
            let count = Int(min(fetch.skip, Int64(available)))
            session.fetches[index].skip -= Int64(count)
            return .drop(count)
        }
        if fetch.isLeaseFilled { return .enough }
        if isFirst, !fetch.isClosing, FetchPlanner.demand(of: fetch, session) ?? fetch.front <= fetch.front {
            session.fetches[index].pause()
            return .pause
        }
        var count = min(Int64(available), (fetch.upper ?? .max) - fetch.front)
        if fetch.isRelay {
            if let distance = distanceToNextReader(of: fetch, session), distance > 0 {
                // No reader is at the front, and a relay keeps nothing for later.
                count = min(count, distance)
                session.fetches[index].front += count
                session.fetches[index].released = session.fetches[index].front
                notePassed(session.fetches[index], &session)
                return .drop(Int(count))
            }
        } else if let run = unneededRun(of: fetch, &count, session) {
            session.fetches[index].pass(run)
            return .drop(Int(run.count))
        }
        session.fetches[index].front += count
        session.fetches[index].flow = .running
        if fetch.isRelay { notePassed(session.fetches[index], &session) }
        session.backOff.succeeded()
        return .keep(at: fetch.front, count: Int(count))
    }

    /// The run of the next `count` bytes that begins at the front of the fetch and is stored, or in
    /// the memory of another fetch. Reduces `count` to the bytes before such a run.
    /// - Returns: nil if the byte at the front is needed.
    private func unneededRun(of fetch: FetchState, _ count: inout Int64, _ session: SessionState) -> ByteRange? {
        guard let version = session.version else { return nil }
        if let run = version.stored.prefix(from: fetch.front, upTo: fetch.front + count) { return run }
        if let next = version.stored.firstRange(atOrAfter: fetch.front) { count = min(count, next.lowerBound - fetch.front) }
        // A whole body skips bytes that an earlier fetch has in memory and that are not on disk
        // yet.
        for other in session.fetches where other.id != id && !other.isRelay && !other.isOwn {
            guard let remembered = other.firstRemembered(from: fetch.front) else { continue }
            if remembered == fetch.front {
                return ByteRange(lower: fetch.front, upper: min(other.runEnd(from: fetch.front), fetch.front + count))
            }
            count = min(count, remembered - fetch.front)
        }
        return nil
    }

    /// Records how far a relay has come, because passed bytes leave no other trace.
    private func notePassed(_ relay: FetchState, _ session: inout SessionState) {
        guard let version = session.version, !relay.isOwn, relay.generation == version.generation else { return }
        session.ledger.version?.passedEnd = max(version.passedEnd, relay.front)
    }

    /// The distance from the front of a relay to the first of its readers.
    /// - Returns: 0 if a reader is at or behind the front, or nil if the relay has no reader.
    private func distanceToNextReader(of fetch: FetchState, _ session: SessionState) -> Int64? {
        let positions = session.readers
            .filter { $0.draws(from: fetch) && session.window(of: $0) != nil && FetchPlanner.isAttached($0, to: fetch, session) }
            .map(\.position)
        guard let first = positions.min() else { return nil }
        return max(0, first - fetch.front)
    }
}

extension SessionState {
    /// Ends one batch of bytes, and wakes the readers that waited for them.
    mutating func batchEnded(_ id: FetchID, now: MonotonicInstant) -> [SessionAction] {
        guard let fetch = fetches.first(where: { $0.id == id }) else { return [] }
        origin.batchCame(fetch, now: now)
        var actions = wakeReaders()
        let limit = version?.storedBytesLimit(ledger.rules, limits)
        if let limit, !fetch.isRelay, fetch.front > limit, let generation = fetch.generation {
            // The origin stated no length, and the body has now exceeded the limit.
            actions += storeFailed(generation, .tooLarge(limit: limit), now: now)
        }
        if fetch.isRelay { actions += releaseRelays() }
        // The bytes of the goal may have come after its reader left. From now on nothing needs the
        // fetch.
        let isUnwanted = readers.isEmpty && fetch.lingersSince == nil && FetchPlanner.demand(of: fetch, self) == nil
        if fetch.isRelay || fetch.isLeaseFilled || isUnwanted { actions += replan(now: now) }
        return actions
    }

    /// Moves `range` from the memory of the fetch to the stored bytes of the version.
    /// - Parameter remaining: the lowest offset of the fetch that is still in memory.
    mutating func wrote(
        _ range: ByteRange, of generation: GenerationID, by id: FetchID, remaining: Int64, now: MonotonicInstant
    ) -> [SessionAction] {
        var discards: [SessionAction] = []
        let isKnown = change(generation) { $0.stored.insert(range) }
        if isKnown, version?.generation == generation { discards = StoredRuns.dropShortest(sparing: range, in: &self) }
        if let index = index(of: id) {
            fetches[index].wrote(range, remaining: remaining)
            if fetches[index].isDrained {
                fetches.remove(at: index)
                return discards + wakeReaders() + replan(now: now)
            }
        }
        return discards + wakeReaders()
    }

    /// Turns the fetches of this generation into relays, because the store cannot take its bytes.
    mutating func storeFailed(_ generation: GenerationID, _ reason: NotStoredReason, now: MonotonicInstant) -> [SessionAction] {
        guard let version, version.generation == generation else { return [] }
        // A version that may not be stored any more can still have fetches that began to store.
        let isNews = version.passReason == nil
        guard isNews || fetches.contains(where: { !$0.isRelay }) else { return [] }
        if isNews { ledger.version?.passReason = reason }
        goal = nil
        for index in fetches.indices { fetches[index].isRelay = true }
        fetches.removeAll(where: \.isDrained)
        return (isNews ? [.passing(reason)] : []) + releaseRelays() + replan(now: now)
    }

    /// Ends the session: readers fail and fetches stop. When the cache closes, fetches first take what
    /// has arrived already. A second call ends those that still do.
    mutating func end(_ failure: ReadFailure) -> [SessionAction] {
        if case .ended = phase { return cancelFetches(where: \.isClosing) }
        goal = nil
        let actions = failure == .closed ? AbandonedFetches.endAll(in: &self) : cancelFetches { _ in true }
        phase = .ended(failure)
        if failure == .removed {
            ledger.version = nil
            bodies = []
            forgetRetiredFetches()
        }
        for index in readers.indices where readers[index].failure == nil { readers[index].failure = failure }
        return actions + wakeReaders()
    }
}
