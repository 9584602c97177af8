// Planning of fetches: which gaps are fetched, and when fetches are joined, paused, left to linger
// or ended.

extension SessionStateMachine {
    /// Brings the fetches in line with the readers' windows and the goal.
    ///
    /// Each event that changes a window, a lease or the version calls this, unless a shortcut has
    /// shown that no plan changes. Without a version it starts the discovery. With a version it
    /// verifies stored bytes, revalidates, fetches the gaps that readers wait at, and fetches
    /// ahead. Then it pauses, resumes or ends the running fetches and sets the timer.
    mutating func replan(now: MonotonicInstant) -> [SessionAction] {
        guard phase == .ready else { return [] }
        dropMetGoal()
        var actions: [SessionAction] = owesUpdate ? [.representationUpdated] : []
        owesUpdate = false
        if version == nil {
            actions += discover(now: now)
        } else {
            actions += verifyForWaiting()
            actions += revalidate(now: now)
            if version?.isCombinable == false { actions += serveWaitingApart(now: now) }
            actions += fetchUrgentGaps(now: now)
            actions += fetchAhead(now: now)
        }
        actions += settleFetches(now: now) + dropUnfinished()
        if let deadline = nextDeadline { actions.append(.setTimer(deadline)) }
        return actions
    }

    /// Applies the deadlines that have passed by `now`. Late and repeated calls are harmless.
    package mutating func timePassed(now: MonotonicInstant) -> [SessionAction] {
        if let retryAt, retryAt <= now { self.retryAt = nil }
        for index in fetches.indices where fetches[index].blockedSince.map({ now - $0 >= limits.relayPatience }) ?? false {
            fetches[index].isBlocked = true
        }
        let linger = limits.linger
        let actions = cancelFetches { fetch in
            fetch.lingersSince.map { now - $0 >= linger } ?? false
        }
        return actions + replan(now: now) + wakeReaders()
    }

    // MARK: Starting

    /// Starts the request that discovers the resource: one response supplies its head and its first
    /// bytes.
    private mutating func discover(now: MonotonicInstant) -> [SessionAction] {
        guard fetches.allSatisfy(\.isOwn) else { return [] }
        let wanting = readers.filter { $0.failure == nil && !$0.onlyStored && !isApart($0) && ($0.wantsBytes || $0.waitsFor != .nothing) }
        let asking = wanting.filter { mayTry(for: $0, now: now) }
        guard wanting.isEmpty || !asking.isEmpty else { return failOnlyStored() }
        guard let reader = asking.first(where: { $0.waitsFor != .nothing }) ?? asking.first else { return failOnlyStored() }
        // A request from offset 0 on is open-ended, whatever range the reader has. Its head
        // supplies length and type, and its body goes on to serve the next request.
        var upper = reader.position == 0 ? nil : end(of: reader)
        // A reader at the end of its range only asks for the version. A request for no byte would
        // end before it begins.
        if let end = upper, end <= reader.position { upper = nil }
        if let requestBytes = limits.requestBytes, !asksOpenEnded {
            upper = min(upper ?? .max, reader.position.addingClamped(requestBytes))
        }
        let stores = wanting.contains { !$0.storesNothing }
        guard !asksPlainly else {
            return failOnlyStored() + start(lower: 0, upper: nil, for: reader, stores: stores, isPlain: true, now: now)
        }
        return failOnlyStored() + start(lower: reader.position, upper: upper, for: reader, stores: stores, now: now)
    }

    /// Starts a fetch for each reader that waits at a gap that no running fetch will bring in time.
    private mutating func fetchUrgentGaps(now: MonotonicInstant) -> [SessionAction] {
        var actions = failOnlyStored()
        guard version?.isCombinable == true else { return actions }
        for reader in readers where !isApart(reader) && reader.waitsFor == .bytes && !waitsForVerification(reader) {
            guard window(of: reader) != nil, mayTry(for: reader, now: now) else { continue }
            guard !isCovered(reader.position) else { continue }
            actions += startAt(reader.position, end: end(of: reader), for: reader, stores: !reader.storesNothing, now: now)
        }
        return actions
    }

    /// Starts at most one fetch that no reader waits for: for the next gap of a window, or of the
    /// goal.
    private mutating func fetchAhead(now: MonotonicInstant) -> [SessionAction] {
        guard let version, !version.isComplete, mayTry(now: now) else { return [] }
        guard !fetches.contains(where: { !$0.isRelay && $0.phase != .draining && $0.lingersSince == nil && !$0.isPaused }) else {
            return []
        }
        for reader in readers where !reader.storesNothing && !isApart(reader) {
            guard let window = window(of: reader) else { continue }
            if let gap = firstFreeOffset(in: window), mayStore(from: gap) {
                return startAt(gap, end: end(of: reader), for: reader, stores: true, now: now)
            }
        }
        guard let goal = goal.flatMap({ $0.intersection(ByteRange(lower: 0, upper: version.representation.length ?? .max)) }),
            let gap = firstFreeOffset(in: goal), mayStore(from: gap)
        else { return [] }
        return startAt(gap, end: goal.upperBound == .max ? nil : goal.upperBound, for: nil, stores: true, now: now)
    }

    /// Whether a response from `offset` on may be stored, so that nothing is relayed ahead of its
    /// readers.
    private func mayStore(from offset: Int64) -> Bool {
        version?.storesResponse(from: offset) == true && (offset > 0 || version?.isCombinable == true || !fetches.contains { !$0.isRelay })
    }

    /// Whether a running fetch will bring the byte at `offset` sooner than a new request would, so
    /// that the reader joins it.
    private func isCovered(_ offset: Int64) -> Bool {
        guard let version else { return false }
        let distance = pace.joinDistance(within: limits.joinBytes)
        return fetches.contains { fetch in
            if fetch.isOwn { return false }
            if fetch.isRelay { return fetch.leases(offset) && fetch.serves(offset) && !(fetch.isBlocked && offset == fetch.front) }
            if fetch.remembers(offset) { return true }
            return fetch.leases(offset) && (offset - fetch.front <= distance || version.refusesRanges)
        }
    }

    /// The offset of the first byte in `range` that is neither stored, nor in memory, nor leased.
    private func firstFreeOffset(in range: ByteRange) -> Int64? {
        var offset = range.lowerBound
        // Each iteration passes one stored run or one lease.
        for _ in 0...(2 * fetches.count + 1) {
            guard let rest = ByteRange(offset, range.upperBound), let gap = version?.stored.firstGap(in: rest) else { return nil }
            offset = gap.lowerBound
            guard let fetch = fetches.first(where: { !$0.isRelay && ($0.remembers(offset) || $0.leases(offset)) }) else { return offset }
            guard let upper = fetch.upper else { return nil }
            offset = upper
        }
        return nil
    }

    /// Starts a fetch from `lower` on. Its range stops at `end`, at the next stored or remembered
    /// byte, and at the next lease.
    private mutating func startAt(
        _ lower: Int64, end: Int64?, for reader: Reader?, stores: Bool, now: MonotonicInstant
    ) -> [SessionAction] {
        let cleared = stores ? clearCrowdedBlock(at: lower, end: end) : (lower: lower, end: end, actions: [])
        let lower = cleared.lower
        var upper = cleared.end
        func clip(_ bound: Int64) { upper = min(upper ?? bound, bound) }
        if let length = version?.representation.length { clip(length) }
        if let next = version?.stored.firstRange(atOrAfter: lower) { clip(next.lowerBound) }
        for fetch in fetches where !fetch.isRelay && fetch.released > lower { clip(fetch.released) }
        for fetch in fetches where !fetch.isRelay && !fetch.isValidation && fetch.front > lower { clip(fetch.front) }
        for fetch in fetches { fetch.skipped.prefix(from: lower, upTo: .max).map { clip($0.upperBound) } }
        if let requestBytes = limits.requestBytes, version?.isCombinable != false { clip(lower.addingClamped(requestBytes)) }
        var actions = cleared.actions
        if let upper, upper <= lower { return actions }
        // The lease that contains `lower` now ends there, so that no byte is requested twice.
        for index in fetches.indices where !fetches[index].isRelay && fetches[index].leases(lower) {
            if let old = fetches[index].upper { clip(old) }
            fetches[index].upper = lower
        }
        actions += start(lower: lower, upper: upper, for: reader, stores: stores, now: now)
        return actions
    }

    /// Returns the identity of the next fetch.
    mutating func makeFetchID() -> FetchID {
        defer { nextFetch += 1 }
        return FetchID(rawValue: nextFetch)
    }

    /// Adds a fetch of `[lower, upper)` and returns the action that starts it.
    mutating func start(
        lower: Int64, upper: Int64?, for reader: Reader?, stores: Bool, isPlain: Bool = false, now: MonotonicInstant
    ) -> [SessionAction] {
        let id = makeFetchID()
        var fetch = Fetch(
            id: id, start: lower, upper: upper, front: lower, released: lower,
            selecting: Selecting(fields: requestFields, site: reader?.site), askedBy: reader?.id, startedAt: now)
        var ifRange: String?
        if let version, version.identity == .validator, version.representation.validator.isStrong {
            ifRange = version.representation.validator.ifRangeValue
            fetch.condition = version.generation
        }
        fetch.storesNothing = !stores
        fetch.isRelay = version != nil && (!stores || !mayStore(from: lower))
        fetches.append(fetch)
        var asked = upper
        if let length = version?.representation.length, asked == length { asked = nil }
        var ask = OriginAsk(lower: lower, upper: limits.requestBytes == nil ? asked : upper, ifRange: ifRange)
        ask.isPlain = isPlain
        ask.site = reader?.site
        return [.start(id, ask)]
    }

    /// The offset up to which the reader's policy has its range fetched; nil for the end of the
    /// resource.
    private func end(of reader: Reader) -> Int64? {
        switch reader.policy {
        case .whilePlaying: reader.end
        case .readAhead(let bytes): reader.end.map { max($0, reader.position.addingClamped(bytes)) }
        case .wholeResource: nil
        }
    }

    /// Whether the back-off time has passed.
    func mayTry(now: MonotonicInstant) -> Bool {
        retryAt.map { $0 <= now } ?? true
    }

    /// Whether a fetch may start for this reader now. A waiting reader that has seen no failure yet
    /// may try at once, so that it does not pay for the failures of other readers.
    func mayTry(for reader: Reader, now: MonotonicInstant) -> Bool {
        mayTry(now: now) || (reader.waitsFor != .nothing && reader.failures == 0)
    }

    /// Fails the readers of stored bytes only that wait at a gap.
    private mutating func failOnlyStored() -> [SessionAction] {
        for index in readers.indices where readers[index].onlyStored && readers[index].failure == nil && readers[index].waitsFor != .nothing
        {
            if !waitsForVerification(readers[index]) { readers[index].failure = .notStored }
        }
        return wakeReaders()
    }

    /// Drops the goal when all of it is stored, or when the version is not stored at all.
    private mutating func dropMetGoal() {
        guard let goal, let version else { return }
        let wanted = goal.intersection(ByteRange(lower: 0, upper: max(version.representation.length ?? .max, 1)))
        if version.isComplete || version.passReason != nil || wanted.map({ version.stored.contains($0) }) ?? true { self.goal = nil }
    }

    // MARK: Pausing and ending

    /// The offset up to which readers and the goal need this fetch.
    /// - Returns: nil if none of them needs it.
    func demand(of fetch: Fetch) -> Int64? {
        var demand: Int64?
        for reader in readers {
            // Until the version is known, every reader depends on the fetch that discovers it.
            if version == nil, reader.failure == nil, !reader.onlyStored, !fetch.isOwn, !isApart(reader) {
                demand = max(demand ?? fetch.front, reader.position == fetch.start ? unknownDemand(of: reader) : fetch.front)
                continue
            }
            guard draws(reader, from: fetch), let window = window(of: reader) else { continue }
            guard window.upperBound > fetch.front, fetch.upper.map({ reader.position < $0 }) ?? true else { continue }
            guard !fetch.isRelay || fetch.serves(reader.position) else { continue }
            demand = max(demand ?? 0, window.upperBound)
        }
        if let goal, !fetch.isRelay, !fetch.isOwn, goal.upperBound > fetch.front, fetch.upper.map({ goal.lowerBound < $0 }) ?? true {
            demand = max(demand ?? 0, goal.upperBound)
        }
        guard let demand else { return nil }
        return fetch.isRelay ? min(demand, fetch.released.addingClamped(limits.relayBytes)) : demand
    }

    /// The end of the reader's window before the version is known.
    private func unknownDemand(of reader: Reader) -> Int64 {
        window(of: reader)?.upperBound ?? reader.position
    }

    /// Resumes the fetches that are needed, lets the others linger, and ends those that are
    /// complete.
    private mutating func settleFetches(now: MonotonicInstant) -> [SessionAction] {
        var actions: [SessionAction] = []
        var over: [FetchID] = []
        for index in fetches.indices where fetches[index].phase != .draining && !fetches[index].isValidation {
            let fetch = fetches[index]
            if let upper = fetch.upper, fetch.front >= upper {
                // A body that ends here by its framing is left to end, so that its connection can
                // be reused.
                if fetch.servedEnd != upper { over.append(fetch.id) }
                continue
            }
            guard let demand = demand(of: fetch) else {
                if !fetch.isRelay {
                    if fetch.lingersSince == nil { fetches[index].lingersSince = now }
                } else if !isAwaited(fetch) {
                    over.append(fetch.id)
                }
                continue
            }
            fetches[index].lingersSince = nil
            if fetch.isPaused, shouldResume(fetch, demand: demand) {
                fetches[index].isPaused = false
                fetches[index].waitsForBuffer = false
                actions.append(.resume(fetch.id))
            }
            noteWhetherBlocked(index, now: now)
        }
        if !over.isEmpty {
            actions += endFetches(over)
            actions += replan(now: now)
        }
        return actions
    }

    /// Records since when a relay is held back: a slow reader has not taken the bytes in its
    /// memory, and another reader waits at its front.
    private mutating func noteWhetherBlocked(_ index: Int, now: MonotonicInstant) {
        let fetch = fetches[index]
        let isHeldBack =
            fetch.isRelay && !fetch.isOwn && fetch.isPaused && version?.isCombinable == true && version?.refusesRanges == false
            && readers.contains { $0.waitsFor == .bytes && $0.failure == nil && $0.position == fetch.front && draws($0, from: fetch) }
        if !isHeldBack {
            fetches[index].blockedSince = nil
            fetches[index].isBlocked = false
        } else if fetch.blockedSince == nil {
            fetches[index].blockedSince = now
        }
    }

    /// Whether a relay stays although no window needs its bytes.
    ///
    /// That is so for a reader that waits for the head of its own response, and for a reader that
    /// has asked only for the version. The second may need the relay's bytes next, and would
    /// otherwise request them twice.
    private func isAwaited(_ relay: Fetch) -> Bool {
        readers.contains { reader in
            guard reader.failure == nil, !reader.onlyStored else { return false }
            if reader.source == .own(relay.id, nil) { return true }
            return !reader.wantsBytes && relay.serves(reader.position) && (draws(reader, from: relay) || !isApart(reader))
        }
    }

    /// Whether a paused fetch resumes: when a reader waits for it, or when half of its window is
    /// free again. It does not resume for every chunk.
    private func shouldResume(_ fetch: Fetch, demand: Int64) -> Bool {
        guard demand > fetch.front else { return false }
        // The goal does not move. If less than half of a window of it remained, no later event
        // would resume the fetch.
        if let goal, demand == goal.upperBound { return true }
        if readers.contains(where: { $0.waitsFor == .bytes && $0.position >= fetch.front && fetch.leases($0.position) }) { return true }
        let window = fetch.isRelay ? limits.relayBytes : limits.readAheadBytes
        let end = min(fetch.upper ?? .max, version?.representation.length ?? .max)
        return demand - fetch.front >= window / 2 || demand >= end
    }

    /// Cancels the fetches that match. Bytes that they have brought stay.
    mutating func cancelFetches(where matches: (Fetch) -> Bool) -> [SessionAction] {
        endFetches(fetches.filter { $0.phase != .draining && matches($0) }.map(\.id))
    }

    /// Ends the leases of these fetches. The bytes in memory drain to the store, or to the readers
    /// of a relay.
    mutating func endFetches(_ ids: [FetchID]) -> [SessionAction] {
        for index in fetches.indices where ids.contains(fetches[index].id) { fetches[index].drain() }
        fetches.removeAll { $0.isDrained }
        return ids.flatMap { [SessionAction.cancel($0), .ended($0, nil)] } + releaseRelays()
    }

    /// Releases the memory of each relay below its slowest attached reader.
    mutating func releaseRelays() -> [SessionAction] {
        var actions: [SessionAction] = []
        for index in fetches.indices where fetches[index].isRelay {
            let fetch = fetches[index]
            let attached = readers.filter {
                draws($0, from: fetch) && window(of: $0) != nil && $0.position >= fetch.released && $0.position <= fetch.front
            }
            let lowest = attached.map(\.position).min() ?? fetch.front
            guard lowest > fetch.released else { continue }
            fetches[index].released = lowest
            actions.append(.release(fetch.id, below: lowest))
        }
        fetches.removeAll { $0.isDrained }
        return actions
    }

    /// Ends a fetch that is paused or lingers, because the limiter needs its slot. Its reader, if
    /// it has one, starts another fetch when it needs bytes.
    package mutating func preempt(_ id: FetchID, now: MonotonicInstant) -> [SessionAction] {
        guard isIdle(id), let fetch = fetches.first(where: { $0.id == id }) else { return [] }
        guard
            !readers.contains(where: {
                $0.waitsFor != .nothing && draws($0, from: fetch) && fetch.leases($0.position)
                    && (!fetch.isRelay || fetch.serves($0.position))
            })
        else { return [] }
        return endFetches([id]) + replan(now: now)
    }

    /// Whether `preempt` would end the fetch now. The limiter calls it.
    package func isIdle(_ id: FetchID) -> Bool {
        guard let fetch = fetches.first(where: { $0.id == id }), fetch.phase != .draining else { return false }
        // The readers of a relay would go on with requests of their own from their positions. That
        // takes an origin that serves ranges, and a version that identifies the bytes.
        if fetch.isRelay, version?.isCombinable != true || version?.refusesRanges == true { return false }
        // No other response could continue one that belongs to its readers alone.
        if fetch.isOwn || (version?.isCombinable == false && fetch.lingersSince == nil) { return false }
        if fetch.lingersSince != nil { return true }
        // A relay without a buffer gets one only when its readers advance; a storing fetch gets one
        // when the disk advances.
        return fetch.isPaused && (demand(of: fetch) ?? fetch.front <= fetch.front || (fetch.isRelay && fetch.waitsForBuffer))
    }

    /// The next moment at which `timePassed` has something to do.
    private var nextDeadline: MonotonicInstant? {
        let lingering = fetches.compactMap { $0.phase == .draining ? nil : $0.lingersSince.map { $0 + limits.linger } }.min()
        let blocked = fetches.compactMap { $0.isBlocked ? nil : $0.blockedSince.map { $0 + limits.relayPatience } }.min()
        return [lingering, retryAt, blocked].compactMap { $0 }.min()
    }
}
