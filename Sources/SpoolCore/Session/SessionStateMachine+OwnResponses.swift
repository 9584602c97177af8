// Own responses: how readers read a version without a strong validator.

// Bytes of two responses must never be combined in one answer unless a strong validator ties them
// together (RFC 9110 §15.3.7.3). The machine therefore decides once for each reader which response
// all of its bytes come from:
//
// - The version, if its response has all of them or will bring them. The version's bytes are those
//   of one response that began at 0.
// - Otherwise a response of the reader's own. It is requested from the reader's first byte on and
//   relayed. The reader learns length and type from its head, so a consumer that has committed to
//   no version never sees a change.
//
// A reader that moves is decided about again. Versions with a strong validator need none of this.

extension SessionStateMachine {
    /// The source of a reader's bytes while the version can't be combined with other responses.
    package enum Source: Hashable, Sendable {
        /// Not decided since the reader came or moved. Next: `.version` or `.own`.
        case undecided
        /// The one response that the version consists of. Next: `.undecided`.
        case version
        /// A response for this reader alone; nil before its head. Next: `.undecided`, or `.version`
        /// when the response replaces the version.
        case own(FetchID, OwnResponse?)
    }

    /// The head of a response that belongs to one reader.
    package struct OwnResponse: Hashable, Sendable {
        /// The generation that names this response.
        package var generation: GenerationID
        /// The length, type and validator of this response.
        package var representation: Representation
        /// The cookies that it sets.
        var cookies: [String] = []
        /// Whether it is a page that came instead of media. The whole page is passed on, whatever
        /// range was requested.
        package var isPage = false
    }

    /// The number of own responses that a reader may request before it commits to one.
    ///
    /// An origin that states another length in each response could otherwise keep a request for the
    /// last bytes going without end.
    static var maximumOwnResponses: Int { 3 }

    // MARK: Deciding

    /// Starts a response of its own for the reader if the version cannot serve it.
    ///
    /// The request waits for `retryAt` if the reader has seen a failure.
    /// - Returns: the actions that follow, or nil if the version serves the reader.
    mutating func startOwnResponse(_ index: Int, wallNow: Timestamp? = nil, now: MonotonicInstant) -> [SessionAction]? {
        let reader = readers[index]
        readers[index].awaitsRetry = false
        guard phase == .ready, let version, !version.isCombinable, reader.failure == nil, !reader.onlyStored, reader.wantsBytes else {
            return nil
        }
        switch reader.source {
        case .own: return []
        case .version: return nil
        case .undecided: break
        }
        if isNews(version, to: reader) {
            // The reader committed to another response. Only the head of an own response can
            // confirm that its length and type still hold.
        } else if versionServes(reader, version), isUsableRemnant(version, for: reader, wallNow: wallNow) {
            bind(index, to: .version)
            return nil
        }
        // A reader that has seen no failure yet does not pay for the failures of others.
        readers[index].awaitsRetry = !mayTry(now: now) && reader.failures > 0
        guard !readers[index].awaitsRetry else { return [] }
        guard reader.ownResponses < Self.maximumOwnResponses || reader.told != nil else {
            readers[index].failure = .origin(.representationChanged)
            return []
        }
        return start(own: index, now: now)
    }

    /// Whether the version is another than the one that the reader committed to, and differs from
    /// it in length or type.
    func isNews(_ version: Version, to reader: Reader) -> Bool {
        reader.told != nil && reader.told != version.generation && !isAsTold(reader, version.representation)
    }

    /// Whether stored bytes of an incomplete version may be used: within the session that fetched
    /// them, or while they are fresh.
    private func isUsableRemnant(_ version: Version, for reader: Reader, wallNow: Timestamp?) -> Bool {
        guard let wallNow, reader.told == nil, version.isRemnant else { return true }
        return Freshness(version.representation, isShared: reader.rules.isShared, now: wallNow).isFresh
    }

    /// Starts the request for the reader's own response.
    private mutating func start(own index: Int, now: MonotonicInstant) -> [SessionAction] {
        let reader = readers[index]
        // The request names an end only if the reader has one. The known length may be another
        // version's.
        let isPlain = asksPlainly && reader.position == 0
        // A reader may ask for the version while it needs no byte. A request for no byte would end
        // before it begins.
        let end = isPlain ? nil : reader.end.flatMap { $0 > reader.position ? $0 : nil }
        let actions = start(
            lower: reader.position, upper: end, for: reader, stores: !reader.storesNothing, isPlain: isPlain,
            now: now)
        guard let fetch = fetches.last else { return actions }
        fetches[fetches.count - 1].isOwn = true
        readers[index].ownResponses += 1
        if reader.told == nil { readers[index].awaitedVersion = true }
        bind(index, to: .own(fetch.id, nil))
        return actions
    }

    /// Sets the reader's source from its present position on.
    private mutating func bind(_ index: Int, to source: Source) {
        readers[index].source = source
        readers[index].boundAt = readers[index].position
    }

    /// Frees the reader from its response. The reader fails if the version has changed and can be
    /// combined, because then no response of its own would follow.
    mutating func unbind(_ index: Int) {
        readers[index].source = .undecided
        guard let version, version.isCombinable, readers[index].failure == nil, isNews(version, to: readers[index]) else { return }
        readers[index].failure = .origin(.representationChanged)
    }

    /// Binds the reader to the version as it is now. If another response replaces that version, the
    /// reader ends.
    mutating func bindToVersion(_ index: Int) {
        if version?.isCombinable == false, readers[index].source == .undecided { bind(index, to: .version) }
    }

    /// Whether the version's response has, or will soon bring, every byte of the reader's range.
    private func versionServes(_ reader: Reader, _ version: Version) -> Bool {
        let end = min(reader.end ?? .max, version.representation.length ?? .max)
        guard reader.position < end else { return true }
        guard let missing = firstMissing(from: reader.position, to: end, version) else { return true }
        let distance = pace.joinDistance(within: limits.joinBytes)
        return fetches.contains { fetch in
            brings(fetch, missing, to: end, version) && (missing - fetch.front <= distance || version.refusesRanges)
        }
    }

    /// Whether the version still has, or will bring, the next byte of a reader that is bound to it.
    private func versionStillServes(_ reader: Reader, _ version: Version) -> Bool {
        let end = min(reader.end ?? .max, version.representation.length ?? .max)
        guard reader.position < end, let missing = firstMissing(from: reader.position, to: reader.position + 1, version) else {
            return true
        }
        return fetches.contains { brings($0, missing, to: missing + 1, version) }
    }

    /// The first byte of `[offset, end)` that is neither stored nor in the memory of the version's
    /// fetches.
    /// - Returns: nil if there is none.
    private func firstMissing(from offset: Int64, to end: Int64, _ version: Version) -> Int64? {
        var offset = offset
        // Each iteration passes one stored run or the memory of one fetch.
        for _ in 0...(2 * fetches.count + 1) {
            guard offset < end else { return nil }
            if let run = version.stored.prefix(from: offset, upTo: end) {
                offset = run.upperBound
            } else if let fetch = fetches.first(where: { !$0.isOwn && $0.generation == version.generation && $0.remembers(offset) }) {
                offset = min(fetch.runEnd(from: offset), end)
            } else {
                return offset
            }
        }
        return offset < end ? offset : nil
    }

    /// Whether the fetch of the version's own response will bring all of `[missing, end)`.
    private func brings(_ fetch: Fetch, _ missing: Int64, to end: Int64, _ version: Version) -> Bool {
        !fetch.isOwn && fetch.phase == .receiving && fetch.generation == version.generation && fetch.leases(missing)
            && fetch.upper.map { $0 >= end } ?? true
    }

    /// Starts an own response for each waiting reader that needs one, and ends the readers whose
    /// response broke off.
    mutating func serveWaitingApart(now: MonotonicInstant) -> [SessionAction] {
        var actions: [SessionAction] = []
        for index in readers.indices {
            guard let version, readers[index].waitsFor == .bytes, readers[index].failure == nil, !readers[index].onlyStored else {
                continue
            }
            if readers[index].source == .version, !waitsForVerification(readers[index]) {
                guard !versionStillServes(readers[index], version) else { continue }
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

    // MARK: Heads and ends

    /// Handles the head of a response while the version can't be combined: decides whether the
    /// response replaces that version or goes to the reader that asked, alone.
    mutating func adoptApart(
        _ candidate: Representation, servedUpper: Int64, beginsAtZero: Bool, _ index: Int, _ arrival: Arrival, _ version: Version
    ) -> [SessionAction] {
        let fetch = fetches[index]
        let isSame = !asksInVain(fetch) && isSameVersion(candidate, isConditional: false)
        let isInUse = readers.contains { $0.failure == nil && $0.source == .version && ($0.told != nil || $0.id != fetch.askedBy) }
        let maySupplant = beginsAtZero && !fetch.storesNothing && arrival.passReason == nil
        let bringsMore = candidate.length == nil || servedUpper > version.stored.totalBytes
        // This includes a version of which no byte is there yet, because each response has a
        // generation of its own.
        if !isInUse, !isSame || (maySupplant && bringsMore) {
            return cancelFetches { $0.id != fetch.id && !$0.isOwn } + replaceVersion(by: candidate, arrival, fetch)
        }
        var actions: [SessionAction] = []
        if isSame {
            noteConfirmation()
            if fetch.revalidates == version.generation { actions += takeOverFields(arrival, fetch) }
        }
        fetches[index].isOwn = true
        return actions
    }

    /// Binds the reader that asked to the response whose head was accepted.
    mutating func bindAsker(_ index: Int, _ candidate: Representation, _ arrival: Arrival) {
        guard let version else { return }
        let fetch = fetches[index]
        if version.isCombinable {
            fetches[index].isOwn = false
            fetches[index].ownGeneration = nil
            for reader in readers.indices where isBound(readers[reader], to: fetch.id) {
                takeCombinable(reader, candidate, version.generation)
            }
            return
        }
        let asker = readers.firstIndex { isBound($0, to: fetch.id) } ?? readers.firstIndex { mayAdopt($0, fetch) }
        guard fetch.isRelay else {
            fetches[index].isOwn = false
            fetches[index].ownGeneration = nil
            self.version?.hasBegun = true
            self.version?.brokenBy = nil
            if let asker { takeVersion(asker, candidate, generation: version.generation) }
            return
        }
        let generation = fetch.isOwn ? arrival.newGeneration : version.generation
        fetches[index].isOwn = true
        fetches[index].ownGeneration = generation
        guard let asker else { return }
        let cookies = fetch.askedBy == readers[asker].id ? arrival.head.fields.values(of: "Set-Cookie") : []
        let response = OwnResponse(generation: generation, representation: candidate, cookies: cookies)
        takeResponse(asker, response, fetch.id)
    }

    /// Whether the reader is bound to the response of this fetch.
    private func isBound(_ reader: Reader, to id: FetchID) -> Bool {
        if case .own(id, _) = reader.source { true } else { false }
    }

    /// Whether a response without a bound reader may become the own response of `reader`. The
    /// request was made for that reader, or begins at its position.
    private func mayAdopt(_ reader: Reader, _ fetch: Fetch) -> Bool {
        reader.failure == nil && !reader.onlyStored && reader.told == nil
            && (reader.source == .undecided || reader.awaitsOrigin)
            && (reader.id == fetch.askedBy || (reader.wantsBytes && reader.position == fetch.start))
    }

    /// Binds a reader whose own response turned out to be of a combinable version. From now on it
    /// reads that version.
    private mutating func takeCombinable(_ index: Int, _ candidate: Representation, _ generation: GenerationID) {
        guard isAsTold(readers[index], candidate) else { return readers[index].failure = .origin(.representationChanged) }
        readers[index].source = .undecided
        guard readers[index].told != nil else { return }
        readers[index].told = generation
        readers[index].toldAs = nil
    }

    /// Binds the reader to the version that its response has become.
    private mutating func takeVersion(_ index: Int, _ candidate: Representation, generation: GenerationID) {
        guard isAsTold(readers[index], candidate) else { return readers[index].failure = .origin(.representationChanged) }
        if readers[index].told != nil { readers[index].told = generation }
        bind(index, to: .version)
    }

    /// Binds the reader to its own response.
    mutating func takeResponse(_ index: Int, _ response: OwnResponse, _ id: FetchID) {
        guard isAsTold(readers[index], response.representation) else { return readers[index].failure = .origin(.representationChanged) }
        if readers[index].told != nil { readers[index].told = response.generation }
        readers[index].awaitsOrigin = false
        if readers[index].told == nil { readers[index].awaitedVersion = true }
        bind(index, to: .own(id, response))
    }

    /// Whether a consumer that has committed to one response may go on with another. Equal length
    /// and type are enough for that, because no bytes of the two responses are combined.
    func isAsTold(_ reader: Reader, _ representation: Representation) -> Bool {
        guard reader.told != nil, let told = reader.toldAs else { return true }
        return told.looksLike(representation)
    }

    /// Handles the end of the transfer of a reader's own response.
    mutating func ownFinished(_ index: Int, error: OriginError?, now: MonotonicInstant) -> [SessionAction] {
        let fetch = fetches[index]
        var failure = error
        if fetch.phase == .receiving, let upper = fetch.upper, fetch.front >= upper {
            failure = nil
        } else if error == nil, let end = fetch.servedEnd, fetch.front < min(end, fetch.upper ?? end) {
            failure = .truncated(afterBytes: fetch.front - fetch.start)
        }
        fetches[index].drain()
        fetches.removeAll { $0.isDrained }
        if let reader = readers.firstIndex(where: { isBound($0, to: fetch.id) }) {
            if failure == nil, fetch.servedEnd == nil, fetch.front < fetch.start {
                // A body of unknown length ended before the reader's first byte: this response has
                // no such byte.
                readers[reader].failure = .origin(.rangeNotSatisfiable(length: fetch.front))
            } else if let failure {
                ownFailed(reader, fetch, failure, now: now)
            } else if case .own(let id, var response?) = readers[reader].source, response.representation.length == nil,
                fetch.servedEnd == nil, fetch.upper == nil
            {
                response.representation.length = fetch.front
                readers[reader].source = .own(id, response)
            }
        } else if let failure {
            backOff(after: failure, now: now)
        }
        return [.ended(fetch.id, failure)] + releaseRelays() + wakeReaders() + replan(now: now)
    }

    /// Handles the failure of a reader's own response. No other response can continue it. A reader
    /// that used no byte of it may request another.
    private mutating func ownFailed(_ index: Int, _ fetch: Fetch, _ error: OriginError, now: MonotonicInstant) {
        backOff(after: error, now: now)
        let reader = readers[index]
        let hasUsedNothing = reader.position == reader.boundAt && fetch.front == fetch.start
        readers[index].brokenBy = error
        guard hasUsedNothing else { return }
        if reader.hasProgress, waits(index, after: error, fetch) {
            unbind(index)
        } else {
            readers[index].failure = .origin(error)
        }
    }

    // MARK: Looking

    /// The bytes, the end or the failure that the reader's own response has at its position.
    func lookApart(_ reader: Reader, _ id: FetchID, _ response: OwnResponse, limit: Int64) -> Step? {
        if let length = response.representation.length, reader.position >= length { return .end }
        guard let fetch = fetches.first(where: { $0.id == id }) else {
            return .failed(.origin(reader.brokenBy ?? .truncated(afterBytes: 0)))
        }
        if fetch.remembers(reader.position), let range = ByteRange(reader.position, min(limit, fetch.runEnd(from: reader.position))) {
            return .memory(id, range)
        }
        return fetch.phase == .draining ? .failed(.origin(reader.brokenBy ?? .truncated(afterBytes: 0))) : nil
    }

    /// Whether the bytes of `fetch` are for `reader`. A reader with a response of its own takes
    /// only those; the others take the version's.
    func draws(_ reader: Reader, from fetch: Fetch) -> Bool {
        if case .own(let id, _) = reader.source { return id == fetch.id }
        return !fetch.isOwn
    }

    /// The generation that the reader is served, or nil before it is known.
    func served(_ reader: Reader) -> GenerationID? {
        if case .own(_, let response) = reader.source { return response?.generation }
        return version?.generation
    }

    /// The representation that the reader is served, or nil before it is known.
    func servedRepresentation(_ reader: Reader) -> Representation? {
        if case .own(_, let response) = reader.source { return response?.representation }
        return version?.representation
    }

    /// Whether the reader's own response is a page that came instead of media.
    package func readsPage(_ id: ReaderID) -> Bool {
        guard let reader = reader(id), case .own(_, let response?) = reader.source else { return false }
        return response.isPage
    }

    /// Whether the reader has or awaits a response of its own, and so takes no byte from the store.
    package func readsOwnResponse(_ id: ReaderID) -> Bool {
        reader(id).map { if case .own = $0.source { true } else { false } } ?? false
    }

    /// Whether bytes of several responses may be combined into what readers get. Parts of the
    /// resource may then be requested separately.
    package var isCombinable: Bool { version?.isCombinable ?? false }
}

extension SessionStateMachine.Version {
    /// Whether these are stored bytes of an earlier session, not all of the resource, and no strong
    /// validator identifies them.
    package var isRemnant: Bool { self.confirmation == 0 && !isCombinable && !isComplete }
}
