// Validation: whether a reader may use the stored version at once, or only after the origin has
// confirmed it.

extension SessionStateMachine {
    // MARK: Readers

    /// Whether the reader may use the current version.
    ///
    /// If it may not, either the reader has failed, or it waits and the origin is asked. The
    /// decision is made once for each reader: a reader that has committed to a version goes on with
    /// it.
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
            // A reader of stored bytes only may not cause a request, and during back-off no other
            // reader causes one. Both use the version unconfirmed if their rules permit it.
            if mayDoWithout, reader.onlyStored || !mayTry(now: now) { return trust(index) }
            if reader.onlyStored { readers[index].failure = .notStored }
            readers[index].mayDoWithoutOrigin = mayDoWithout
            readers[index].awaitsOrigin = true
            readers[index].awaitedOrigin = true
            return false
        }
    }

    /// Lets the reader use the current version.
    /// - Returns: true.
    private mutating func trust(_ index: Int) -> Bool {
        readers[index].trusted = version?.generation
        readers[index].awaitsOrigin = false
        // Bytes that were relayed for a reader with `.doNotStore` may be stored for this one.
        if version?.passReason == .byRequest, !readers[index].storesNothing {
            version?.passReason = nil
            owesUpdate = true
        }
        return true
    }

    /// Whether the origin has established or confirmed the version since the reader came, by a
    /// response that also holds for this reader.
    ///
    /// The response may answer a request from before the reader came.
    func isSettled(for reader: Reader) -> Bool {
        version.map { $0.confirmation > reader.confirmationsBefore && selection(of: $0, forSite: reader.site) == .matches } ?? false
    }

    /// Counts a response that established or confirmed the current version.
    mutating func noteConfirmation() {
        confirmations += 1
        version?.confirmation = confirmations
    }

    /// Records the request of this fetch as the one that selected the version's fields.
    mutating func noteSelection(by fetch: Fetch, _ arrival: Arrival) {
        version?.selectedBy = fetch.selecting
        standingUse = nil
        let cookies = arrival.head.fields.values(of: "Set-Cookie")
        version?.cookies = cookies.isEmpty ? nil : fetch.askedBy.map { Cookies(reader: $0, values: cookies) }
        guard let version else { return }
        // Readers that have not committed yet check the version again if this response was for
        // another site.
        for index in readers.indices where readers[index].told == nil {
            if siteSelection(of: version, forSite: readers[index].site) != .matches { readers[index].trusted = nil }
        }
    }

    /// Records that the request is sent now, with the present request fields.
    package mutating func sent(_ id: FetchID) {
        guard let index = fetches.firstIndex(where: { $0.id == id }) else { return }
        fetches[index].selecting.fields = requestFields
    }

    /// Sets the fields of the requests from now on.
    ///
    /// - Parameter isAuthorized: whether the request has credentials besides its fields, as user
    ///   information in its URL.
    package mutating func willAsk(with fields: HTTPFields, isAuthorized: Bool = false) {
        if fields != requestFields { standingUse = nil }
        requestFields = fields
        rules.isAuthorized = isAuthorized || fields["Authorization"] != nil
    }

    /// The result of comparing two requests by the fields that select a response.
    private enum Selection { case matches, differs, unknown }

    /// Whether a request with the present fields, on behalf of `site`, would select this response,
    /// by the fields that its `Vary` names (RFC 9111 §4.1).
    private func selection(of version: Version, forSite site: String?) -> Selection {
        let names = version.representation.fields.variedBy.filter { !$0.equalsIgnoringCase("Origin") }
        guard let before = version.selectedBy?.fields else {
            // A field that is never sent can't have differed.
            return names.contains { requestFields[$0] != nil } ? .unknown : siteSelection(of: version, forSite: site)
        }
        guard names.allSatisfy({ before.combined($0) == requestFields.combined($0) }) else { return .differs }
        return siteSelection(of: version, forSite: site)
    }

    /// Whether the cross-origin permissions of the response hold for the reader's site.
    ///
    /// A browser cannot use a response that permits another site. Some origins omit `Vary: Origin`
    /// in responses to requests without `Origin`. The machine therefore revalidates such a response
    /// instead of serving it to a page (Fetch, "CORS protocol and HTTP caches"). The result is
    /// never `.differs`: when the origin cannot be reached, the browser decides by the stored
    /// fields.
    private func siteSelection(of version: Version, forSite site: String?) -> Selection {
        let fields = version.representation.fields
        let allowed = fields["Access-Control-Allow-Origin"]
        let varies = fields.variedBy.contains { $0.equalsIgnoringCase("Origin") }
        if let before = version.selectedBy, before.site == site { return .matches }
        if allowed == "*", !varies || version.selectedBy == nil { return .matches }
        // A player belongs to no site. Only a response that varies by site may be another site's.
        if site == nil { return varies && (version.selectedBy != nil || allowed != nil) ? .unknown : .matches }
        return version.selectedBy == nil && allowed == site ? .matches : .unknown
    }

    /// Whether a request with the present fields and without a site would certainly select this
    /// response.
    func isSelected(_ version: Version) -> Bool { selection(of: version, forSite: nil) == .matches }

    // MARK: Asking

    /// Asks the origin whether the version is current, if a reader waits for that or has used a
    /// stale version.
    mutating func revalidate(now: MonotonicInstant) -> [SessionAction] {
        guard let version, !fetches.contains(where: \.isValidation) else { return [] }
        let asking = readers.first { reader in
            reader.failure == nil && reader.awaitsOrigin && !isSettled(for: reader) && mayTry(for: reader, now: now)
        }
        guard asking != nil || (owesRevalidation && mayTry(now: now)) else { return [] }
        owesRevalidation = false
        // If the version turns out to be another, the response begins with the bytes that the
        // reader needs.
        var lower = asking?.position ?? 0
        if let length = version.representation.length, lower >= length { lower = 0 }
        let id = makeFetchID()
        // A revalidation in the background repeats the site of the request that selected the
        // version.
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

    // MARK: Responses to revalidations

    /// Handles a 304: confirms the version, unless the response is about another one.
    mutating func notModifiedReceived(_ index: Int, _ arrival: Arrival, now: MonotonicInstant) -> [SessionAction] {
        let fetch = fetches[index]
        guard let version, fetch.revalidates == version.generation else {
            return finished(fetch.id, error: .status(arrival.head), now: now) + [.cancel(fetch.id)]
        }
        fetches.remove(at: index)
        guard version.representation.mayBeMeant(by: arrival.head) else {
            // The response is about another version, so the state of the stored one is not known.
            return [.ended(fetch.id, nil)] + suspendVersion() + wakeReaders() + replan(now: now)
        }
        return [.ended(fetch.id, nil)] + confirm(arrival, fetch) + wakeReaders() + replan(now: now)
    }

    /// Handles a response that ignored the conditions and repeats the stored version: confirms it,
    /// and ends the fetch.
    /// - Returns: the actions that follow, or nil if the response is of another version or its body
    ///   is useful.
    mutating func sameVersionReceived(
        _ index: Int, _ arrival: Arrival, length: Int64?, isWhole: Bool, now: MonotonicInstant
    ) -> [SessionAction]? {
        let fetch = fetches[index]
        guard let version, fetch.isValidation, fetch.revalidates == version.generation, !asksInVain(fetch), !isWhole || version.isComplete,
            isSameVersion(arrival.representation(length: length), isConditional: false)
        else { return nil }
        return endFetches([fetch.id]) + confirm(arrival, fetch) + wakeReaders() + replan(now: now)
    }

    /// Whether a response is of the current version, by the identity rule of the host.
    func isSameVersion(_ candidate: Representation, isConditional: Bool) -> Bool {
        guard let version else { return false }
        return version.identity.isSame(version.representation, candidate)
            ?? version.representation.isSame(as: candidate, isConditional: isConditional)
    }

    /// Whether the fetch asks about a version without any validator. Any response with bytes then
    /// replaces that version.
    func asksInVain(_ fetch: Fetch) -> Bool {
        fetch.revalidates != nil && fetch.revalidates == version?.generation && version?.representation.validator == Validator.none
            && version?.identity == Identity.validator
    }

    /// Confirms the version, and takes over the fields of the response.
    private mutating func confirm(_ arrival: Arrival, _ fetch: Fetch) -> [SessionAction] {
        noteConfirmation()
        failuresInARow = 0
        return takeOverFields(arrival, fetch)
    }

    /// Updates the representation with the fields of this response.
    mutating func takeOverFields(_ arrival: Arrival, _ fetch: Fetch) -> [SessionAction] {
        version?.representation.update(from: arrival.head, requestTime: arrival.requestTime, responseTime: arrival.responseTime)
        noteSelection(by: fetch, arrival)
        return [.representationUpdated]
    }

    /// Handles the failure of a revalidation. Readers whose rules permit it use the version
    /// unconfirmed; the others fail.
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
        // A resource that the origin no longer has is not served any more (RFC 9111 §4.3.3).
        if isGone { actions += [.gone(version.generation)] + forgetVersion() }
        return actions + wakeReaders() + replan(now: now)
    }
}

extension SessionStateMachine.Fetch {
    /// Whether it is a conditional request without a response yet. It becomes an ordinary fetch if
    /// another version turns out to be current.
    package var isValidation: Bool { revalidates != nil && phase == .requested }
}

extension HTTPFields {
    /// The field names that `Vary` lists.
    fileprivate var variedBy: [String] {
        values(of: "Vary").flatMap { value in value.split(separator: ",").map { $0.filter { $0 != " " && $0 != "\t" } } }
    }
}

extension OriginError {
    /// Whether the origin states that the resource no longer exists.
    fileprivate var isGone: Bool {
        if case .status(let code, _) = self { code == 404 || code == 410 } else { false }
    }

    /// Whether the error concerns only the way to the origin or its present state, and not the
    /// resource (RFC 9111 §4.3.3).
    fileprivate var isOfTheMoment: Bool {
        switch self {
        case .unreachable, .timeout, .tls, .truncated, .malformed, .redirect: true
        case .status(let code, _): code >= 500 || code == 429 || code == 408
        case .representationChanged, .rangeNotSatisfiable, .unsupportedURL: false
        }
    }
}
