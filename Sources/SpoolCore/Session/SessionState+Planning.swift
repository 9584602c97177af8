// The plan of fetches: applies the decisions of `FetchPlanner`.

extension SessionState {
    /// Brings the fetches in line with the readers' windows and the goal.
    ///
    /// Each event that changes a window, a lease or the version calls this, unless a shortcut has
    /// shown that no plan changes. Without a version it starts the discovery. With a version it
    /// verifies stored bytes, revalidates, fetches the gaps that readers wait at, and fetches
    /// ahead. Then it pauses, resumes or ends the running fetches and sets the timer.
    mutating func replan(now: MonotonicInstant) -> [SessionAction] {
        guard phase == .ready else { return [] }
        placeSuffixes()
        if FetchPlanner.isGoalMet(self) { goal = nil }
        var actions: [SessionAction] = ledger.owesUpdate ? [.representationUpdated] : []
        ledger.owesUpdate = false
        if version == nil {
            actions += discover(now: now)
        } else {
            actions += ledger.version?.verify(forWaiting: readers.filter { !$0.isApart }, limits) ?? []
            actions += revalidate(now: now)
            if let gap = GapQuestion.request(self, now: now) { actions += startAt(gap, now: now) }
            if readers.contains(where: { $0.validation == .awaitsGap }) { actions += GapQuestion.end(&self, now: now) }
            if version?.isCombinable == false { actions += serveWaitingApart(now: now) }
            actions += fetchUrgentGaps(now: now)
            actions += fetchAhead(now: now)
        }
        actions += BodiesApart.drop(from: &self) + BodiesApart.verify(in: &self)
        actions += settleFetches(now: now) + VersionDoubt.dropUnfinished(&self)
        if let deadline = FetchPlanner.nextDeadline(self) { actions.append(.setTimer(deadline)) }
        return actions
    }

    /// Applies the deadlines that have passed by `now`.
    mutating func timePassed(now: MonotonicInstant) -> [SessionAction] {
        backOff.timePassed(now: now)
        for index in fetches.indices {
            if case .since(let start) = fetches[index].blocking, now - start >= limits.relayPatience { fetches[index].blocking = .overdue }
        }
        let linger = limits.linger
        let over = fetches.filter { $0.lingersSince.map { now - $0 >= linger } == true }
        let actions = AbandonedFetches.end(over.map(\.id), in: &self) + releaseRelays()
        let questions = PlayRecord.endQuestions(&self, now: now)
        return actions + questions + replan(now: now) + wakeReaders()
    }

    // MARK: Starting

    /// Starts the request that discovers the resource: one response supplies its head and its first
    /// bytes.
    private mutating func discover(now: MonotonicInstant) -> [SessionAction] {
        guard fetches.allSatisfy(\.isOwn) else { return [] }
        let request = FetchPlanner.discovery(self, now: now)
        let failed = failOnlyStored()
        guard let request else { return failed }
        return failed + start(request, now: now)
    }

    /// Asks the origin whether the version is current, if a reader waits for that or has used a
    /// stale version.
    private mutating func revalidate(now: MonotonicInstant) -> [SessionAction] {
        guard let version, let request = FetchPlanner.revalidation(self, now: now) else { return [] }
        ledger.owesRevalidation = false
        // A revalidation in the background repeats the site of the request that selected the
        // version.
        let site = request.reader.map(\.site) ?? version.selectedBy?.site
        var fetch = FetchState(
            id: makeFetchID(), purpose: .validation(of: version.generation, namedEnd: request.upper), lower: request.lower,
            upper: request.lower, asks: request.reader?.asks ?? ledger.asks, site: site, askedBy: request.reader?.id, startedAt: now)
        (fetch.asksEnd, fetch.asksGap, fetch.isWindow) = (request.asksEnd, request.asksGap, request.isWindow)
        add(fetch)
        // `If-Range` takes the place of the conditions.
        let asksBytes = request.asksEnd || request.asksGap
        var ask = OriginAsk(
            lower: request.lower, upper: request.asksGap ? request.namedEnd(self) : request.upper,
            ifRange: asksBytes ? version.representation.validator.ifRangeValue : nil,
            revalidation: asksBytes ? Revalidation(entityTag: nil, lastModified: nil) : version.representation.revalidation)
        // Where the origin serves no ranges, it may refuse a request that names one.
        ask.isPlain = !asksBytes && (version.refusesRanges || origin.omitsRange) && request.lower == 0
        ask.site = site
        if request.asksGap { (ask.client, ask.isWindow) = (request.reader?.clientRange(from: request.lower), request.isWindow) }
        ask.isBrief = !request.asksGap && request.reader.map { $0.mayDoWithoutOrigin || $0.validation == .awaitsGap } ?? true
        return [.start(fetch.id, ask)]
    }

    /// Starts a fetch for each reader that waits at a gap that no running fetch will bring in time.
    private mutating func fetchUrgentGaps(now: MonotonicInstant) -> [SessionAction] {
        var actions = failOnlyStored()
        guard version?.isCombinable == true else { return actions }
        var next = 0
        while let index = FetchPlanner.urgentReader(self, from: next, now: now) {
            let reader = readers[index]
            let gap = FetchPlanner.Request(lower: reader.position, upper: reader.fetchEnd, reader: reader, stores: !reader.storesNothing)
            actions += startAt(gap, now: now) + AbandonedFetches.endUnneeded(in: &self)
            next = index + 1
        }
        return actions
    }

    /// Starts at most one fetch that no reader waits for: for the next gap of a window, or of the
    /// goal.
    private mutating func fetchAhead(now: MonotonicInstant) -> [SessionAction] {
        guard let gap = FetchPlanner.ahead(self, now: now) else { return [] }
        // A reader that moved may not have asked for its first byte yet.
        return startAt(gap, now: now) + (gap.reader?.position == gap.lower ? AbandonedFetches.endUnneeded(in: &self) : [])
    }

    /// Starts a fetch from the beginning of `gap` on. Its range stops at the end of `gap`, at the
    /// next stored or remembered byte, and at the next lease.
    private mutating func startAt(_ gap: FetchPlanner.Request, now: MonotonicInstant) -> [SessionAction] {
        var gap = gap
        let actions = gap.stores ? StoredRuns.clearCrowdedBlock(at: &gap, in: &self) : []
        gap = gap.bounded(self)
        if let upper = gap.upper, upper <= gap.lower { return actions }
        // The lease that contains the gap now ends there, so that no byte is stored twice.
        for index in fetches.indices where !fetches[index].isRelay && fetches[index].leases(gap.lower) {
            if fetches[index].isReceiving, !gap.stores { continue }
            if let old = fetches[index].upper { gap.upper = min(gap.upper ?? old, old) }
            fetches[index].upper = gap.lower
        }
        return actions + start(gap, now: now)
    }

    /// Adds a fetch and returns the action that starts it.
    private mutating func start(_ request: FetchPlanner.Request, isOwn: Bool = false, now: MonotonicInstant) -> [SessionAction] {
        let strong = version.flatMap { FetchPlanner.isStrong($0) ? $0 : nil }
        var fetch = FetchState(
            id: makeFetchID(), purpose: .bytes(ifRange: strong?.generation), lower: request.lower, upper: request.upper,
            asks: request.reader?.asks ?? ledger.asks, site: request.reader?.site, askedBy: request.reader?.id, startedAt: now)
        fetch.storesNothing = !request.stores
        fetch.isWindow = request.isWindow
        fetch.suffix = request.suffix
        fetch.isRelay = version != nil && (!request.stores || !FetchPlanner.mayStore(self, from: request.lower))
        fetch.isOwn = isOwn
        fetch.isUnread = request.reader.map { $0.position < request.lower } ?? true
        add(fetch)
        var ask = OriginAsk(
            lower: request.lower, upper: request.namedEnd(self), ifRange: strong?.representation.validator.ifRangeValue)
        ask.isPlain = request.omitsRange
        ask.suffix = request.omitsRange ? nil : request.suffix
        (ask.client, ask.isWindow) = (request.reader?.clientRange(from: request.lower), request.isWindow)
        ask.site = request.reader?.site
        ask.isBrief = request.reader == nil
        return [.start(fetch.id, ask)]
    }

    private mutating func add(_ fetch: FetchState) {
        fetches.append(fetch)
        if let index = fetch.askedBy.flatMap({ index(of: $0) }) { readers[index].hasAsked = true }
    }

    // MARK: Own responses

    /// Starts a response of its own for the reader if the version cannot serve it.
    /// - Returns: the actions that follow, or nil if the version serves the reader.
    mutating func startOwnResponse(_ index: Int, wallNow: Timestamp? = nil, now: MonotonicInstant) -> [SessionAction]? {
        let choice = SourceChoice(for: readers[index], in: self, wallNow: wallNow, now: now)
        readers[index].awaitsRetry = choice == .ownLater
        switch choice {
        case .asBefore: return nil
        case .version:
            readers[index].bind(to: .version)
            return nil
        case .ownAlready, .ownLater: return []
        case .exhausted:
            readers[index].failure = .origin(.representationChanged)
            return []
        case .own:
            let request = SourceChoice.request(for: readers[index], in: self)
            let actions = start(request, isOwn: true, now: now)
            readers[index].ownResponses += 1
            if readers[index].told == nil { readers[index].awaitedVersion = true }
            if let fetch = fetches.last { readers[index].bind(to: .awaited(fetch.id)) }
            return actions
        }
    }

    /// Starts an own response for each waiting reader that needs one, and ends the readers whose
    /// response broke off.
    private mutating func serveWaitingApart(now: MonotonicInstant) -> [SessionAction] {
        var actions: [SessionAction] = []
        for index in readers.indices {
            guard let version, readers[index].waitsFor == .bytes, readers[index].failure == nil, !readers[index].onlyStored else {
                continue
            }
            if readers[index].source == .version, !readers[index].waitsForVerification(in: version) {
                guard !SourceChoice.versionStillServes(readers[index], version, fetches) else { continue }
                // The rest of another response must not follow. A consumer that has bytes of this
                // one has to request the range again.
                if readers[index].told != nil, readers[index].boundAt != readers[index].position {
                    readers[index].failure = .origin(version.brokenBy ?? .representationChanged)
                    continue
                }
                readers[index].source = .undecided
            }
            // A reader that has committed to no version is woken instead, and its next step
            // decides.
            guard readers[index].told != nil, window(of: readers[index]) != nil else { continue }
            actions += startOwnResponse(index, now: now) ?? []
        }
        return actions + wakeReaders()
    }

    // MARK: Pausing and ending

    /// Resumes the fetches that are needed, lets the others linger, and ends those that are
    /// complete.
    private mutating func settleFetches(now: MonotonicInstant) -> [SessionAction] {
        var actions: [SessionAction] = []
        var over: [FetchID] = []
        for index in fetches.indices where fetches[index].isOpen && !fetches[index].isValidation {
            let settlement = FetchPlanner.settlement(of: fetches[index], self)
            if settlement == .over { over.append(fetches[index].id) }
            if settlement == .resumed { actions.append(.resume(fetches[index].id)) }
            fetches[index].settle(settlement, now: now)
        }
        if !over.isEmpty {
            // A reader that waits for the head of such a response decides about its source again.
            for index in readers.indices {
                if case .awaited(let id) = readers[index].source, over.contains(id) { readers[index].unbind(version) }
            }
            actions += endFetches(over)
            actions += wakeReaders() + replan(now: now)
        }
        return actions
    }
}
