// Whether what is stored may be used: at once, or after the origin said that it is current.

extension SessionStateMachine {
    // MARK: Readers

    /// Whether the reader may use the current version. When it may not, the origin is asked and the reader waits, or it has failed.
    ///
    /// Decided once for each reader: who was told of a version goes on with it.
    mutating func mayUse(_ index: Int, wallNow: Timestamp, now: MonotonicInstant) -> Bool {
        guard let version else { return false }
        let reader = readers[index]
        if reader.told != nil || reader.trusted == version.generation { return true }
        if isSettled(for: reader) { return trust(index) }
        guard !reader.awaitsOrigin else { return false }
        let selection = selection(of: version, forSite: reader.site)
        switch selection == .matches ? reader.rules.use(of: version.representation, now: wallNow) : .revalidate {
        case .use: return trust(index)
        case .useAndRevalidate:
            owesRevalidation = true
            return trust(index)
        case .revalidate:
            let mayDoWithout = selection != .differs && reader.rules.mayUseUnvalidated(version.representation, now: wallNow)
            // Who may not ask, or asked a moment ago in vain, does without the origin's word.
            if mayDoWithout, reader.onlyStored || !mayTry(now: now) { return trust(index) }
            if reader.onlyStored { readers[index].failure = .notStored }
            readers[index].mayDoWithoutOrigin = mayDoWithout
            readers[index].awaitsOrigin = true
            readers[index].awaitedOrigin = true
            return false
        }
    }

    private mutating func trust(_ index: Int) -> Bool {
        readers[index].trusted = version?.generation
        readers[index].awaitsOrigin = false
        // What was passed on for somebody who wanted nothing stored may be stored for another.
        if version?.passReason == .byRequest, !readers[index].storesNothing {
            version?.passReason = nil
            owesUpdate = true
        }
        return true
    }

    /// Whether the origin spoke of the current version after the reader came, be it in answer to a request that was made before, and what
    /// it said of it is said to this reader, too.
    func isSettled(for reader: Reader) -> Bool {
        version.map { $0.confirmation > reader.confirmationsBefore && selection(of: $0, forSite: reader.site) == .matches } ?? false
    }

    /// The origin spoke: the version that the machine has now is current.
    mutating func noteConfirmation() {
        confirmations += 1
        version?.confirmation = confirmations
    }

    /// The fields of the version are those of the answer to this fetch.
    mutating func noteSelection(by fetch: Fetch, _ arrival: Arrival) {
        version?.selectedBy = fetch.selecting
        standingUse = nil
        let cookies = arrival.head.fields.values(of: "Set-Cookie")
        version?.cookies = cookies.isEmpty ? nil : fetch.askedBy.map { Cookies(reader: $0, values: cookies) }
        guard let version else { return }
        // Whoever was about to be told what an answer to another site said looks again.
        for index in readers.indices where readers[index].told == nil {
            if siteSelection(of: version, forSite: readers[index].site) != .matches { readers[index].trusted = nil }
        }
    }

    /// The request is made now, with what was said last.
    package mutating func sent(_ id: FetchID) {
        guard let index = fetches.firstIndex(where: { $0.id == id }) else { return }
        fetches[index].selecting.fields = requestFields
    }

    /// The origin is asked with these fields from now on.
    ///
    /// - Parameter isAuthorized: whether the request has credentials besides its fields, as user information in its URL.
    package mutating func willAsk(with fields: HTTPFields, isAuthorized: Bool = false) {
        if fields != requestFields { standingUse = nil }
        requestFields = fields
        rules.isAuthorized = isAuthorized || fields["Authorization"] != nil
    }

    private enum Selection { case matches, differs, unknown }

    /// Whether a request of today would select this response, by the fields that its `Vary` names (RFC 9111 §4.1), and for a page of the
    /// reader's site.
    private func selection(of version: Version, forSite site: String?) -> Selection {
        let names = version.representation.fields.variedBy.filter { !$0.equalsIgnoringCase("Origin") }
        guard let before = version.selectedBy?.fields else {
            // What is never sent can't have differed.
            return names.contains { requestFields[$0] != nil } ? .unknown : siteSelection(of: version, forSite: site)
        }
        guard names.allSatisfy({ before.combined($0) == requestFields.combined($0) }) else { return .differs }
        return siteSelection(of: version, forSite: site)
    }

    /// Whether what the response says of web sites is said to the reader's. What it said to another is no use to a browser, and origins
    /// forget `Vary: Origin` where they answer a request that has none: such a response is asked about, not handed to a page (Fetch, "CORS
    /// protocol and HTTP caches"). It never differs for sure: without the origin's word a browser decides by what is there.
    private func siteSelection(of version: Version, forSite site: String?) -> Selection {
        let fields = version.representation.fields
        let allowed = fields["Access-Control-Allow-Origin"]
        let varies = fields.variedBy.contains { $0.equalsIgnoringCase("Origin") }
        if let before = version.selectedBy, before.site == site { return .matches }
        if allowed == "*", !varies || version.selectedBy == nil { return .matches }
        // Players are bound to no site: only what was selected by one may be another's for them.
        if site == nil { return varies && (version.selectedBy != nil || allowed != nil) ? .unknown : .matches }
        return version.selectedBy == nil && allowed == site ? .matches : .unknown
    }

    /// Whether a request of today, on behalf of no web site, would surely select this response.
    func isSelected(_ version: Version) -> Bool { selection(of: version, forSite: nil) == .matches }

    // MARK: Asking

    /// Asks the origin whether the version is current, when a reader waits for that or was served a stale one.
    mutating func revalidate(now: MonotonicInstant) -> [SessionAction] {
        guard let version, !fetches.contains(where: \.isValidation) else { return [] }
        let asking = readers.first { reader in
            reader.failure == nil && reader.awaitsOrigin && !isSettled(for: reader) && mayTry(for: reader, now: now)
        }
        guard asking != nil || (owesRevalidation && mayTry(now: now)) else { return [] }
        owesRevalidation = false
        // Were it another version, the answer should begin with what is wanted.
        var lower = asking?.position ?? 0
        if let length = version.representation.length, lower >= length { lower = 0 }
        let id = makeFetchID()
        // Whoever asks only in between asks as it was asked before.
        let site = asking.map(\.site) ?? version.selectedBy?.site
        var fetch = Fetch(
            id: id, start: lower, upper: lower, front: lower, released: lower, selecting: Selecting(fields: requestFields, site: site),
            askedBy: asking?.id, startedAt: now)
        fetch.revalidates = version.generation
        fetch.namedEnd = asksOpenEnded ? nil : limits.requestBytes.map { lower.addingClamped($0) }
        fetches.append(fetch)
        var ask = OriginAsk(lower: lower, upper: fetch.namedEnd, ifRange: nil, revalidation: version.representation.revalidation)
        ask.site = site
        return [.start(id, ask)]
    }

    // MARK: The origin's word

    /// The origin said that the version is current.
    mutating func notModifiedReceived(_ index: Int, _ arrival: Arrival, now: MonotonicInstant) -> [SessionAction] {
        let fetch = fetches[index]
        guard let version, fetch.revalidates == version.generation else {
            return finished(fetch.id, error: .status(arrival.head), now: now) + [.cancel(fetch.id)]
        }
        fetches.remove(at: index)
        guard version.representation.mayBeMeant(by: arrival.head) else {
            // The answer is about something else: what is stored is of no known standing.
            return [.ended(fetch.id, nil)] + suspendVersion() + wakeReaders() + replan(now: now)
        }
        return [.ended(fetch.id, nil)] + confirm(arrival, fetch) + wakeReaders() + replan(now: now)
    }

    /// The origin paid no heed to the conditions and sent what is stored already. Nil when its body is of use all the same.
    mutating func sameVersionReceived(
        _ index: Int, _ arrival: Arrival, length: Int64?, isWhole: Bool, now: MonotonicInstant
    ) -> [SessionAction]? {
        let fetch = fetches[index]
        guard let version, fetch.isValidation, fetch.revalidates == version.generation, !asksInVain(fetch), !isWhole || version.isComplete,
            isSameVersion(arrival.representation(length: length), isConditional: false)
        else { return nil }
        return endFetches([fetch.id]) + confirm(arrival, fetch) + wakeReaders() + replan(now: now)
    }

    /// Whether a response is of the current version, by what its host's versions are told apart by.
    func isSameVersion(_ candidate: Representation, isConditional: Bool) -> Bool {
        guard let version else { return false }
        return version.identity.isSame(version.representation, candidate)
            ?? version.representation.isSame(as: candidate, isConditional: isConditional)
    }

    /// Whether the fetch asks about a version that nothing identifies: whatever comes takes its place.
    func asksInVain(_ fetch: Fetch) -> Bool {
        fetch.revalidates != nil && fetch.revalidates == version?.generation && version?.representation.validator == Validator.none
            && version?.identity == Identity.validator
    }

    private mutating func confirm(_ arrival: Arrival, _ fetch: Fetch) -> [SessionAction] {
        noteConfirmation()
        failuresInARow = 0
        return takeOverFields(arrival, fetch)
    }

    /// What the origin says of the current version takes the place of what it said before.
    mutating func takeOverFields(_ arrival: Arrival, _ fetch: Fetch) -> [SessionAction] {
        version?.representation.update(from: arrival.head, requestTime: arrival.requestTime, responseTime: arrival.responseTime)
        noteSelection(by: fetch, arrival)
        return [.representationUpdated]
    }

    /// The origin could not be asked, or would not say.
    mutating func validationFailed(_ fetch: Fetch, _ error: OriginError, now: MonotonicInstant) -> [SessionAction] {
        fetches.removeAll { $0.id == fetch.id }
        backOff(after: error, now: now)
        var actions: [SessionAction] = [.ended(fetch.id, error)]
        guard let version, version.generation == fetch.revalidates else { return actions + wakeReaders() + replan(now: now) }
        let isGone = error.isGone
        for index in readers.indices where readers[index].awaitsOrigin && readers[index].failure == nil {
            if !isGone, error.isOfTheMoment, readers[index].mayDoWithoutOrigin {
                actions.append(.usedUnvalidated(error))
                _ = trust(index)
            } else {
                readers[index].failure = .origin(error)
            }
        }
        // What the origin no longer has is not served any more (RFC 9111 §4.3.3).
        if isGone { actions += [.gone(version.generation)] + forgetVersion() }
        return actions + wakeReaders() + replan(now: now)
    }
}

extension SessionStateMachine.Fetch {
    /// It asks whether the version is current; it becomes an ordinary fetch when it turns out that another is.
    package var isValidation: Bool { revalidates != nil && phase == .requested }
}

extension HTTPFields {
    /// The names that `Vary` lists.
    fileprivate var variedBy: [String] {
        values(of: "Vary").flatMap { value in value.split(separator: ",").map { $0.filter { $0 != " " && $0 != "\t" } } }
    }
}

extension OriginError {
    /// Whether the resource is no more.
    fileprivate var isGone: Bool {
        if case .status(let code, _) = self { code == 404 || code == 410 } else { false }
    }

    /// Whether the error says nothing about the resource, only about the way to it or the origin's state (RFC 9111 §4.3.3).
    fileprivate var isOfTheMoment: Bool {
        switch self {
        case .unreachable, .timeout, .tls, .truncated, .malformed, .redirect: true
        case .status(let code, _): code >= 500 || code == 429 || code == 408
        case .representationChanged, .rangeNotSatisfiable, .unsupportedURL: false
        }
    }
}
