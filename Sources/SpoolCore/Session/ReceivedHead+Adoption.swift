// The version of a response: another representation becomes current, the current one is confirmed,
// or the response goes to one reader alone.

extension ReceivedHead {
    /// Makes the response's version the current one, or confirms that it already is.
    func adopt(
        _ candidate: Representation, servedUpper: Int64, beginsAtZero: Bool, _ index: Int, isConditional: Bool,
        _ session: inout SessionState
    ) -> [SessionAction] {
        if let version = session.version, !version.isCombinable {
            return adoptApart(candidate, servedUpper: servedUpper, beginsAtZero: beginsAtZero, index, version, &session)
        }
        let fetch = session.fetches[index]
        guard let version = session.version, !session.ledger.revalidatesWithoutValidator(fetch),
            session.ledger.isSameVersion(candidate, isConditional: isConditional),
            version.representation.length.map({ servedUpper <= $0 }) ?? (FetchPlanner.knownEnd(session) <= candidate.length ?? .max)
        else {
            return session.replaceVersion(by: candidate, self, fetch)
        }
        session.ledger.confirm()
        var actions: [SessionAction] = []
        // A revalidation was answered with a body that is useful as well.
        if fetch.revalidates == version.generation { actions += session.takeOverFields(self, fetch) }
        if version.representation.length == nil, let length = candidate.length { actions += session.learn(length) }
        if version.passReason == nil, let reason = passReason {
            session.ledger.version?.passReason = reason
            session.goal = nil
            actions.append(.passing(reason))
        }
        return actions
    }

    /// Decides whether the response replaces a version that can't be combined, or goes to the
    /// reader that asked, alone.
    private func adoptApart(
        _ candidate: Representation, servedUpper: Int64, beginsAtZero: Bool, _ index: Int, _ version: SessionVersion,
        _ session: inout SessionState
    ) -> [SessionAction] {
        let fetch = session.fetches[index]
        let isSame =
            !session.ledger.revalidatesWithoutValidator(fetch) && session.ledger.isSameVersion(candidate, isConditional: false)
        let isInUse = session.readers.contains {
            $0.failure == nil && $0.source == .version && ($0.told != nil || $0.id != fetch.askedBy)
        }
        let maySupplant = beginsAtZero && !fetch.storesNothing && passReason == nil
        let bringsMore = candidate.length == nil || servedUpper > version.stored.totalBytes
        // This includes a version of which no byte is there yet, because each response has a
        // generation of its own.
        if !isInUse, !isSame || (maySupplant && bringsMore) {
            return session.replaceVersion(by: candidate, self, fetch)
        }
        var actions: [SessionAction] = []
        if isSame {
            session.ledger.confirm()
            if fetch.revalidates == version.generation { actions += session.takeOverFields(self, fetch) }
        }
        session.fetches[index].isOwn = true
        return actions
    }

    /// Binds the reader that asked to the response whose head was accepted.
    /// - Returns: the generation that names the response, if it belongs to one reader; else nil.
    func bindAsker(_ index: Int, _ candidate: Representation, _ session: inout SessionState) -> GenerationID? {
        guard let version = session.version else { return nil }
        let fetch = session.fetches[index]
        let waiting = session.readers.firstIndex { $0.source == .awaited(fetch.id) }
        if version.isCombinable {
            session.fetches[index].isOwn = false
            if let waiting { session.readers[waiting].take(version, as: candidate, from: .undecided) }
            return nil
        }
        let asker = waiting ?? session.readers.firstIndex { mayTake($0, responseOf: fetch) }
        guard fetch.isRelay else {
            session.fetches[index].isOwn = false
            session.ledger.version?.hasBegun = true
            session.ledger.version?.brokenBy = nil
            session.ledger.version?.servedPart = servedPart
            if let asker { session.readers[asker].take(version, as: candidate, from: .version) }
            return nil
        }
        let generation = fetch.isOwn ? newGeneration : version.generation
        session.fetches[index].isOwn = true
        if let asker {
            let response = body(generation, candidate), relay = session.fetches[index]
            give(response, of: relay, to: [asker] + sharing(response, of: relay, with: asker, session), &session)
        }
        return generation
    }

    /// The body that this response is for its readers. It broke off where its fetch brings no more.
    private func body(_ generation: GenerationID, _ representation: Representation) -> SessionVersion {
        SessionVersion(
            VersionState(
                generation: generation, representation: representation, stored: ByteRangeSet(), brokenBy: .truncated(afterBytes: 0)))
    }

    /// The part in this response, if it is not the whole.
    private var servedPart: ByteRange? {
        if case .partial(let served, _) = ResponseOutcome(head, start: 0) { served } else { nil }
    }

    /// Makes a body that of the reader that asked, and of those that share it.
    private func give(_ body: SessionVersion, of fetch: FetchState, to readers: [Int], _ session: inout SessionState) {
        var body = body
        body.servedPart = servedPart
        body.askersFields = AskersFields(of: head, for: fetch)
        for index in readers { session.readers[index].take(body, as: body.representation, from: .body(body.generation)) }
        session.bodies.append(body)
    }

    /// The readers that get a response which no later request may use, because they waited for it
    /// with the asker's own request, where the cache is one user's. No other reader gets it.
    ///
    /// All of it fits into the memory of a relay, so that a slow reader holds no other back. Pages
    /// and other documents are for their asker.
    private func sharing(_ body: SessionVersion, of fetch: FetchState, with asker: Int, _ session: SessionState) -> [Int] {
        let first = session.readers[asker], control = CacheControl(head.fields), representation = body.representation
        guard !session.ledger.rules.isShared, representation.isContent, head.fields.values(of: .setCookie).isEmpty,
            representation.isPlayable == true || representation.isPlaylist, control.private == nil,
            [nil, .noStore, .byRequest].contains(passReason), let end = fetch.upper,
            end - fetch.start <= session.limits.relayBytes, fetch.askedBy == first.id
        else { return [] }
        return session.readers.indices.filter { $0 != asker && session.readers[$0].waits(like: first) }
    }

    /// Whether a response without a bound reader may become the own response of `reader`. The
    /// request was made for that reader, or begins at its position.
    private func mayTake(_ reader: ReaderState, responseOf fetch: FetchState) -> Bool {
        reader.failure == nil && !reader.onlyStored && reader.told == nil && (reader.source == .undecided || reader.awaitsOrigin)
            && (reader.id == fetch.askedBy || (reader.wantsBytes && reader.position == fetch.start))
    }

    /// Ends a response without a strong validator that is too short for its reader, if another
    /// request may bring the whole range at once. The same holds for a part of a manifest without
    /// its length, for a client that named no range: some servers count the bytes of ranges wrong.
    ///
    /// No second response may continue it in the same answer. The next request therefore leaves out
    /// the window that cut the response short, or names no range at all. Readers that have already
    /// committed go on with the short response.
    /// - Returns: whether the response was too short and is to be ended.
    func isTooShort(_ fetch: FetchState, served: ByteRange, total: Int64?, _ session: inout SessionState) -> Bool {
        let identity = session.version?.identity ?? session.ledger.rules.identity
        guard !isEndless, let asker = session.readers.first(where: { $0.id == fetch.askedBy && $0.told == nil && $0.failure == nil })
        else { return false }
        let isForWhole = asker.clientRange(from: 0) == .whole
        let isCut =
            identity == .validator && !Validator(fields: head.fields).isStrong
            && served.upperBound < min(asker.end ?? .max, total ?? .max)
        let hasLength = head.fields.values(of: .contentLength) == [String(served.count)]
        guard isCut || (isForWhole && !hasLength && representation(length: total).isPlaylist) else { return false }
        if fetch.isWindow, served.upperBound == fetch.upper, !session.origin.omitsEnd {
            session.origin.omitsEnd = true
        } else if fetch.start == 0, total != nil || isForWhole, fetch.upper == nil, !session.origin.omitsRange {
            session.origin.omitsRange = true
        } else {
            return false
        }
        for index in session.readers.indices where session.readers[index].source == .awaited(fetch.id) {
            session.readers[index].source = .undecided
        }
        return true
    }

    // MARK: Responses to revalidations

    /// Handles a 304: confirms the version, unless the response is about another one.
    func notModified(_ index: Int, _ session: inout SessionState, now: MonotonicInstant) -> [SessionAction] {
        let fetch = session.fetches[index]
        guard let version = session.version, fetch.revalidates == version.generation else {
            return failed(fetch.id, .status(head), &session, now: now)
        }
        session.fetches.remove(at: index)
        // A response about another version leaves the state of the stored one unknown.
        let isMeant = version.representation.isConsistent(with304: head)
        let actions = isMeant ? confirm(fetch, &session) : session.suspendVersion()
        return [.ended(fetch.id, nil)] + actions + session.wakeReaders() + session.replan(now: now)
    }

    /// Handles a response that ignored the conditions and repeats the stored version: confirms it,
    /// and ends the fetch.
    /// - Returns: the actions that follow, or nil if the response is of another version or its body
    ///   is useful.
    func sameVersion(
        _ index: Int, length: Int64?, isWhole: Bool, _ session: inout SessionState, now: MonotonicInstant
    ) -> [SessionAction]? {
        let fetch = session.fetches[index]
        guard let version = session.version, fetch.isValidation, fetch.revalidates == version.generation,
            !session.ledger.revalidatesWithoutValidator(fetch), !isWhole || version.isComplete,
            isWhole || !fetch.asksGap || !FetchPlanner.isFree(fetch.start, session),
            session.ledger.isSameVersion(representation(length: length), isConditional: false)
        else { return nil }
        return session.endFetches([fetch.id]) + confirm(fetch, &session) + session.wakeReaders() + session.replan(now: now)
    }

    /// Confirms the version, and takes over the fields of the response.
    private func confirm(_ fetch: FetchState, _ session: inout SessionState) -> [SessionAction] {
        _ = VersionDoubt.confirmed(&session)
        return session.takeOverFields(self, fetch)
    }

    // MARK: Pages instead of media

    // Temporary errors look like responses. The machine never adopts them as a version and never
    // deletes stored bytes because of them.

    /// The error of a page that comes where media are known to be.
    /// - Returns: nil if the response may be of a version.
    func contradiction(_ outcome: ResponseOutcome, _ ledger: VersionLedger) -> OriginError? {
        guard let version = ledger.version, let page = ledger.rules.page(head.fields), ledger.expectsMedia else { return nil }
        switch outcome {
        case .full: break
        case .partial:
            // A part with the stored strong entity tag is of the stored version, whatever its
            // `Content-Type` is.
            let validator = Validator(fields: head.fields)
            if validator.isStrong, validator == version.representation.validator { return nil }
        case .notModified, .notSatisfiable, .failed: return nil
        }
        return .malformed("a page of type \(page) came instead of media; is there a sign-in in between?")
    }

    /// Passes a page on to the reader that asked, if it has no byte yet, as a page would come
    /// without a cache. For all other readers the fetch has failed.
    func contradicted(
        _ index: Int, by error: OriginError, _ outcome: ResponseOutcome, _ session: inout SessionState, now: MonotonicInstant
    ) -> [SessionAction] {
        let fetch = session.fetches[index]
        session.origin.pagesInARow += 1
        var actions: [SessionAction] = []
        if session.origin.pagesInARow == OriginRecord.pagesBeforeNotice, let page = session.ledger.rules.page(head.fields) {
            actions.append(.passing(.unexpectedType(page)))
        }
        let asker = session.readers.firstIndex { reader in
            reader.id == fetch.askedBy && reader.failure == nil && reader.told == nil && !reader.mayDoWithoutOrigin
                && !reader.mayDoWithoutAnswer(in: session.version)
        }
        guard let asker, case .full = outcome else { return actions + failed(fetch.id, error, &session, now: now) }
        passWhole(index, to: asker, representation(length: outcome.length), &session)
        return actions + session.wakeReaders() + session.replan(now: now)
    }

    /// Makes the response of a fetch, which is no bytes of the resource, the own response of one
    /// reader. The reader gets it as a whole.
    func passWhole(_ index: Int, to asker: Int, _ representation: Representation, _ session: inout SessionState) {
        let length = representation.length, fetch = session.fetches[index]
        session.fetches[index].isOwn = true
        session.fetches[index].isRelay = true
        FetchEnd.giveLeaseBack(of: fetch, in: &session)
        session.fetches[index].stage = .receiving(FetchState.Body(generation: newGeneration, servedEnd: length))
        session.fetches[index].startOver()
        session.fetches[index].upper = length
        session.readers[asker].move(to: 0, end: nil)
        var page = body(newGeneration, representation)
        page.isPage = true
        give(page, of: session.fetches[index], to: [asker], &session)
    }
}
