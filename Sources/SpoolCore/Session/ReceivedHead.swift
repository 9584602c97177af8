/// The head of a response, with its times and the decisions about it so far.
///
/// `receive` confirms or replaces the version, prepares the fetch for its body, or ends it.
struct ReceivedHead {
    /// The status and fields.
    let head: ResponseHead
    /// When the request was sent.
    let requestTime: Timestamp
    /// When the head arrived.
    let responseTime: Timestamp
    /// The generation to use if the response is of another version.
    let newGeneration: GenerationID
    /// The reason not to store the body, or nil.
    private(set) var passReason: NotStoredReason?
    /// Whether the head states a length or a last position beyond `ByteRange.maximumOffset`.
    private(set) var isEndless = false

    init(
        _ head: ResponseHead, requestTime: Timestamp, responseTime: Timestamp, newGeneration: GenerationID, passReason: NotStoredReason?
    ) {
        self.head = head
        self.requestTime = requestTime
        self.responseTime = responseTime
        self.newGeneration = newGeneration
        self.passReason = passReason
    }

    /// The representation that this head describes, with the given complete length.
    func representation(length: Int64?) -> Representation {
        var representation = Representation(
            status: [206, 304, 416].contains(head.status) ? 200 : head.status, length: length, validator: Validator(fields: head.fields),
            fields: storedFields(of: head.fields),
            requestTime: requestTime, responseTime: responseTime)
        representation.keepFinalURL(of: head)
        representation.mark = head.mark
        return representation
    }

    /// Handles the head of this fetch.
    mutating func receive(_ id: FetchID, _ session: inout SessionState, now: MonotonicInstant) -> [SessionAction] {
        guard let index = session.index(of: id), session.fetches[index].isRequested else { return [] }
        let fetch = session.fetches[index]
        session.origin.headCame(fetch, now: now)
        let outcome = ResponseOutcome(head, start: fetch.start)
        session.fetches[index].placeSuffix(in: outcome)
        isEndless = outcome.passReason == .lengthBeyondBound
        session.ledger.rules.isAuthorized = fetch.asks.value.isAuthorized
        passReason =
            passReason ?? outcome.passReason
            ?? session.ledger.rules.passReason(status: head.status, for: head.fields, length: outcome.length)
        if isUnchangedManifest(fetch, session) { return notModified(index, &session, now: now) }
        if case .failed(.status) = outcome, let actions = otherStatus(index, &session, now: now) { return actions }
        if let error = contradiction(outcome, session.ledger) { return contradicted(index, by: error, outcome, &session, now: now) }
        if outcome.bringsBytes {
            session.origin.pagesInARow = 0
            if isRest(fetch, session) { VersionDoubt.reopenEnd(&session, for: index) }
        }
        if session.version == nil, fetch.storesNothing { passReason = passReason ?? .byRequest }
        switch outcome {
        case .notModified:
            return notModified(index, &session, now: now)
        case .partial(let served, let total):
            return partial(index, served: served, total: total.bytes, &session, now: now)
        case .full(let length):
            return full(index, length: length.bytes, &session, now: now)
        case .notSatisfiable(let length):
            return notSatisfiable(index, length: length, &session, now: now)
        case .failed(let error):
            return failed(id, error, &session, now: now)
        }
    }

    /// Whether a 204 means that a stored manifest has not changed. Servers of DASH answer a refresh
    /// in this way, with or without a condition in the request.
    private func isUnchangedManifest(_ fetch: FetchState, _ session: SessionState) -> Bool {
        guard head.status == 204, let version = session.version else { return false }
        return fetch.revalidates == version.generation && version.representation.isPlaylist && ReaderView.hasWhole(version, session)
    }

    /// Whether the response has bytes behind an end that only a closed connection showed.
    private func isRest(_ fetch: FetchState, _ session: SessionState) -> Bool {
        guard fetch.asksEnd, let version = session.version, fetch.revalidates == version.generation else { return false }
        return version.representation.endsByClose && session.ledger.isSameVersion(representation(length: nil), isConditional: false)
    }

    /// Ends the fetch with `error`.
    func failed(_ id: FetchID, _ error: OriginError, _ session: inout SessionState, now: MonotonicInstant) -> [SessionAction] {
        FetchEnd(id: id, error: error, responseTime: responseTime).apply(to: &session, now: now) + [.cancel(id)]
    }

    // MARK: Bodies that follow

    /// Handles a 206: confirms the version, adopts another one, or binds the response to its
    /// reader.
    private func partial(
        _ index: Int, served: ByteRange, total: Int64?, _ session: inout SessionState, now: MonotonicInstant
    ) -> [SessionAction] {
        if let actions = sameVersion(index, length: total, isWhole: false, &session, now: now) { return actions }
        session.fetches[index].becomeOrdinary()
        if session.fetches[index].asksGap {
            // Another fetch may have begun in the gap meanwhile.
            let gap = FetchPlanner.Request(lower: session.fetches[index].start, upper: session.fetches[index].upper)
            session.fetches[index].upper = FetchPlanner.clippedEnd(of: gap, session)
        }
        let fetch = session.fetches[index]
        guard served.lowerBound <= fetch.start, fetch.start - served.lowerBound <= session.limits.skipBytes, served.contains(fetch.start),
            served.lowerBound == fetch.start || agrees(with: served)
        else {
            let error = OriginError.malformed("asked for bytes from \(fetch.start), got \(served)")
            return failed(fetch.id, error, &session, now: now)
        }
        if isTooShort(fetch, served: served, total: total, &session) {
            return session.endFetches([fetch.id]) + session.replan(now: now)
        }
        let candidate = representation(length: total)
        let actions = adopt(
            candidate, servedUpper: served.upperBound, beginsAtZero: fetch.start == 0, index,
            isConditional: fetch.isConditional && !head.omitsCondition, &session)
        // `adopt` may have ended other fetches, which changes the index of this one. It may also
        // have ended this one, by a length that ends before its bytes.
        guard let index = session.index(of: fetch.id) else { return actions + session.wakeReaders() + session.replan(now: now) }
        session.fetches[index].skip = fetch.start - served.lowerBound
        // Where a part reaches beyond the bound, its end is not known.
        let servedEnd = isEndless ? nil : served.upperBound
        if let servedEnd { session.fetches[index].upper = min(session.fetches[index].upper ?? servedEnd, servedEnd) }
        // A fetch that began as a relay lies beside the leases of others. It stores only if it
        // brings a version of its own.
        let isNews = session.version?.generation == newGeneration
        let isOwn = session.fetches[index].isOwn
        session.fetches[index].isRelay = (fetch.isRelay && !isNews) || (isOwn && !isNews) || !mayStore(index, from: fetch.start, session)
        let ownGeneration = bindAsker(index, candidate, &session)
        return actions + accepted(index, ownGeneration, servedEnd: servedEnd, &session, now: now)
    }

    /// Whether `Content-Length` confirms that the body is the part `served`.
    ///
    /// This matters when another part was requested. A length that fits neither part may belong to
    /// the requested one, and then `Content-Range` may be the wrong field.
    private func agrees(with served: ByteRange) -> Bool {
        head.fields.values(of: .contentLength).allSatisfy { $0 == String(served.count) }
    }

    /// Handles a 200: confirms the version, adopts another one, or binds the response to its
    /// reader.
    func full(_ index: Int, length: Int64?, _ session: inout SessionState, now: MonotonicInstant) -> [SessionAction] {
        if let actions = sameVersion(index, length: length, isWhole: true, &session, now: now) { return actions }
        session.fetches[index].becomeOrdinary()
        let fetch = session.fetches[index]
        // The whole body begins at 0. It is worth storing, and readers of later bytes wait for them
        // (RFC 9110 §14.2).
        let candidate = representation(length: length)
        let renewsWhole = fetch.isValidation && fetch.askedBy == nil && session.version?.isComplete == true
        var actions = adopt(candidate, servedUpper: length ?? 0, beginsAtZero: true, index, isConditional: false, &session)
        guard let index = session.index(of: fetch.id) else { return actions + session.wakeReaders() + session.replan(now: now) }
        let acceptsRanges = head.fields[.acceptRanges]?.equalsIgnoringCase("bytes") == true
        let isNews = session.version?.generation == newGeneration, isOwn = session.fetches[index].isOwn
        // An origin that ignores a request for the last bytes may serve other ranges.
        // So may one that answers a question about the end with another version.
        let ignoresRange = fetch.start > 0 && fetch.suffix == nil && !(fetch.asksEnd && isNews)
        if !isOwn || isNews { session.ledger.version?.refusesRanges = ignoresRange || !acceptsRanges || session.origin.omitsRange }
        // A revalidation in the background replaced a small response. No reader asks for the new
        // one now, but the next one would be a hit otherwise.
        if renewsWhole, isNews, passReason == nil, let length, length <= session.limits.readAheadBytes {
            session.goal = ByteRange(0, length)
        }
        session.fetches[index].startOver()
        session.fetches[index].upper = length ?? (isOwn ? nil : session.version?.representation.length)
        session.fetches[index].isRelay = (isOwn && !isNews) || !mayStore(index, from: 0, session)
        let ownGeneration = bindAsker(index, candidate, &session)
        // The lease of this fetch is the whole resource. Relays beside it serve readers with
        // responses of their own.
        if !session.fetches[index].isRelay { actions += session.cancelFetches { $0.id != fetch.id && !$0.isOwn } }
        guard let index = session.index(of: fetch.id) else { return actions + session.wakeReaders() }
        return actions + accepted(index, ownGeneration, servedEnd: length, &session, now: now)
    }

    /// Whether the body of this fetch may be stored: the version permits it, and either its
    /// responses can be combined or no other fetch stores.
    private func mayStore(_ index: Int, from offset: Int64, _ session: SessionState) -> Bool {
        let fetches = session.fetches
        guard let version = session.version, !fetches[index].storesNothing, version.storesResponse(from: offset) else { return false }
        return version.isCombinable || !fetches.indices.contains { $0 != index && !fetches[$0].isRelay && !fetches[$0].isOwn }
    }

    /// Accepts the head: the fetch now receives bytes of the version, or of `ownGeneration`.
    private func accepted(
        _ index: Int, _ ownGeneration: GenerationID?, servedEnd: Int64?, _ session: inout SessionState, now: MonotonicInstant
    ) -> [SessionAction] {
        if let generation = ownGeneration ?? session.version?.generation {
            let body = FetchState.Body(generation: generation, servedEnd: servedEnd, endsByClose: head.endsByClose)
            session.fetches[index].stage = .receiving(body)
        }
        return session.wakeReaders() + session.replan(now: now)
    }

    // MARK: No bytes there

    /// Handles a 416: learns the length, fails the readers beyond it, or stops serving the version.
    private func notSatisfiable(
        _ index: Int, length: Int64?, _ session: inout SessionState, now: MonotonicInstant
    ) -> [SessionAction] {
        let fetch = session.fetches[index]
        var actions = session.endFetches([fetch.id])
        if fetch.isOwn {
            for reader in session.readers.indices where session.readers[reader].draws(from: fetch) {
                session.readers[reader].failure = .origin(.rangeNotSatisfiable(length: length))
            }
        } else if let version = session.version {
            actions += notSatisfiable(fetch, version, length: length, &session, now: now)
        } else if fetch.start == 0, length == 0 {
            actions += session.replaceVersion(by: representation(length: 0), self, fetch)
        } else if fetch.start >= max(length ?? 1, 1) {
            session.failReaders(from: length ?? fetch.start, .rangeNotSatisfiable(length: length))
        } else if !session.origin.omitsRange {
            // The origin contradicts itself: the range must exist if the resource does. Ask again
            // without a range, which forces a clear answer.
            session.origin.omitsRange = true
        } else {
            session.failReaders(from: 0, .status(head))
        }
        return actions + session.wakeReaders() + session.replan(now: now)
    }

    /// Handles a 416 to a request for bytes of a version that is known.
    private func notSatisfiable(
        _ fetch: FetchState, _ version: SessionVersion, length: Int64?, _ session: inout SessionState, now: MonotonicInstant
    ) -> [SessionAction] {
        if fetch.asksEnd, fetch.revalidates == version.generation, length == nil || length == version.representation.length {
            return VersionDoubt.confirmed(&session)
        }
        switch (version.representation.length, length) {
        case (nil, let length?) where fetch.start >= length && FetchPlanner.knownEnd(session) == length && length > 0:
            // A fetch reached exactly this end, so the length is certain. Without any byte, the
            // length 0 may be that of another version.
            return session.learn(length)
        case (nil, let length?) where fetch.start >= length && FetchPlanner.knownEnd(session) < length:
            // The 416 names a length, but no fetch has reached that end yet. Fail the readers
            // beyond it. The others read on and discover the real end.
            session.failReaders(from: length, .rangeNotSatisfiable(length: length))
            session.backOff(after: .rangeNotSatisfiable(length: length), now: now)
            return []
        default:
            // The resource was longer before. One contradiction deletes nothing: the next request
            // is unconditional.
            guard session.origin.contradictions >= OriginRecord.mostContradictions else { return session.suspendVersion() }
            // Or the origin refuses ranges of what it sends as a whole. That is its answer.
            session.failReaders(from: fetch.start, .status(head))
            return []
        }
    }
}
