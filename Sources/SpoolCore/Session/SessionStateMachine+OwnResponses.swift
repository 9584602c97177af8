// Responses that belong to one reader: how a version without a strong validator is read.

// Two responses that no strong validator ties together must never end up in one answer (RFC 9110 §15.3.7.3). The machine therefore
// decides once for each reader where all its bytes come from:
//
// - from the version, whose bytes are those of one response that began at 0, when that response has or will bring all of them;
// - else from a response of its own, which is asked from the reader's first byte and passed on. The reader learns length and type from
//   the head of that response, so a consumer that was told nothing yet never sees a change.
//
// A reader that moves is decided about anew. Versions with a strong validator do not come here.

extension SessionStateMachine {
    /// Where the bytes of a reader come from while the version can't be combined with other responses.
    package enum Source: Hashable, Sendable {
        /// Not decided since the reader came or moved. Next: `.version` or `.own`.
        case undecided
        /// The one response that the version consists of. Next: `.undecided`.
        case version
        /// A response for this reader alone; nil before its head. Next: `.undecided`, or `.version` when the response replaces the version.
        case own(FetchID, OwnResponse?)
    }

    /// The head of a response that belongs to one reader.
    package struct OwnResponse: Hashable, Sendable {
        package var generation: GenerationID
        package var representation: Representation
        var cookies: [String] = []
        /// It is a page that came instead of media: its whole is passed on, whatever range was asked for.
        package var isPage = false
    }

    /// Responses of its own that a reader may ask for before it is told anything: an origin that answers each request with another
    /// length could otherwise keep a request for the last bytes going for ever.
    static var maximumOwnResponses: Int { 3 }

    // MARK: Deciding

    /// Whether the reader needs a response of its own; when it does, the request is started unless it has to wait for a retry.
    ///
    /// - Returns: nil when the version serves the reader.
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
            // What it was told was another response: only a head of its own can say whether that one still holds.
        } else if versionServes(reader, version), isUsableRemnant(version, for: reader, wallNow: wallNow) {
            bind(index, to: .version)
            return nil
        }
        // A reader that saw no failure yet shall not pay for the failures of others.
        readers[index].awaitsRetry = !mayTry(now: now) && reader.failures > 0
        guard !readers[index].awaitsRetry else { return [] }
        guard reader.ownResponses < Self.maximumOwnResponses || reader.told != nil else {
            readers[index].failure = .origin(.representationChanged)
            return []
        }
        return start(own: index, now: now)
    }

    /// Whether the version is not what the reader was told of, and does not look like it either.
    func isNews(_ version: Version, to reader: Reader) -> Bool {
        reader.told != nil && reader.told != version.generation && !isAsTold(reader, version.representation)
    }

    /// Whether stored bytes of an incomplete version may be used: within the session that fetched them, or while they are fresh.
    private func isUsableRemnant(_ version: Version, for reader: Reader, wallNow: Timestamp?) -> Bool {
        guard let wallNow, reader.told == nil, version.isRemnant else { return true }
        return Freshness(version.representation, isShared: reader.rules.isShared, now: wallNow).isFresh
    }

    private mutating func start(own index: Int, now: MonotonicInstant) -> [SessionAction] {
        let reader = readers[index]
        // The end is asked for only where the reader has one: the length that is known may be another version's.
        let isPlain = asksPlainly && reader.position == 0
        // A reader may ask what the resource is while it wants no byte; a request for none would end before it begins.
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

    private mutating func bind(_ index: Int, to source: Source) {
        readers[index].source = source
        readers[index].boundAt = readers[index].position
    }

    /// The reader leaves its response. It ends where the version is another one by now, and no response of its own will follow.
    mutating func unbind(_ index: Int) {
        readers[index].source = .undecided
        guard let version, version.isCombinable, readers[index].failure == nil, isNews(version, to: readers[index]) else { return }
        readers[index].failure = .origin(.representationChanged)
    }

    /// The reader takes its bytes from the version as it is now: should another response take that one's place, the reader ends.
    mutating func bindToVersion(_ index: Int) {
        if version?.isCombinable == false, readers[index].source == .undecided { bind(index, to: .version) }
    }

    /// Whether the version's response has, or is about to bring, every byte that the reader wants.
    private func versionServes(_ reader: Reader, _ version: Version) -> Bool {
        let end = min(reader.end ?? .max, version.representation.length ?? .max)
        guard reader.position < end else { return true }
        guard let missing = firstMissing(from: reader.position, to: end, version) else { return true }
        let distance = pace.joinDistance(within: limits.joinBytes)
        return fetches.contains { fetch in
            brings(fetch, missing, to: end, version) && (missing - fetch.front <= distance || version.refusesRanges)
        }
    }

    /// Whether the version still serves a reader that was bound to it.
    private func versionStillServes(_ reader: Reader, _ version: Version) -> Bool {
        let end = min(reader.end ?? .max, version.representation.length ?? .max)
        guard reader.position < end, let missing = firstMissing(from: reader.position, to: reader.position + 1, version) else {
            return true
        }
        return fetches.contains { brings($0, missing, to: missing + 1, version) }
    }

    /// The first byte of `[offset, end)` that is neither stored nor in the memory of the version's fetches; nil when there is none.
    private func firstMissing(from offset: Int64, to end: Int64, _ version: Version) -> Int64? {
        var offset = offset
        // Each turn leaves one stored run or the memory of one fetch behind.
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

    /// Whether the fetch of the version's own response goes on through `[missing, end)`.
    private func brings(_ fetch: Fetch, _ missing: Int64, to end: Int64, _ version: Version) -> Bool {
        !fetch.isOwn && fetch.phase == .receiving && fetch.generation == version.generation && fetch.leases(missing)
            && fetch.upper.map { $0 >= end } ?? true
    }

    /// Gives each waiting reader of a version that can't be combined its response, or ends it where that response broke off.
    mutating func serveWaitingApart(now: MonotonicInstant) -> [SessionAction] {
        var actions: [SessionAction] = []
        for index in readers.indices {
            guard let version, readers[index].waitsFor == .bytes, readers[index].failure == nil, !readers[index].onlyStored else {
                continue
            }
            if readers[index].source == .version, !waitsForVerification(readers[index]) {
                guard !versionStillServes(readers[index], version) else { continue }
                // The rest of another response would be a splice. A consumer that has bytes of this one has to ask again.
                if readers[index].told != nil, readers[index].boundAt != readers[index].position {
                    readers[index].failure = .origin(version.brokenBy ?? .representationChanged)
                    continue
                }
                readers[index].source = .undecided
            }
            // A reader that was told nothing is woken, and its next step decides.
            guard readers[index].told != nil, window(of: readers[index]) != nil else { continue }
            actions += startOwnResponse(index, now: now) ?? []
        }
        return actions + wakeReaders()
    }

    // MARK: Heads and ends

    /// Takes a response beside a version that can't be combined with it, and decides whether it replaces that version.
    mutating func adoptApart(
        _ candidate: Representation, servedUpper: Int64, beginsAtZero: Bool, _ index: Int, _ arrival: Arrival, _ version: Version
    ) -> [SessionAction] {
        let fetch = fetches[index]
        let isSame = !asksInVain(fetch) && isSameVersion(candidate, isConditional: false)
        let isInUse = readers.contains { $0.failure == nil && $0.source == .version && ($0.told != nil || $0.id != fetch.askedBy) }
        let maySupplant = beginsAtZero && !fetch.storesNothing && arrival.passReason == nil
        let bringsMore = candidate.length == nil || servedUpper > version.stored.totalBytes
        // Also where nothing of the version is there yet: each response has a generation of its own.
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

    /// The head was accepted: the reader that asked is bound to what came.
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

    private func isBound(_ reader: Reader, to id: FetchID) -> Bool {
        if case .own(id, _) = reader.source { true } else { false }
    }

    /// Whether a response that no reader is bound to may become that of `reader`: it was made for it, or for its first byte.
    private func mayAdopt(_ reader: Reader, _ fetch: Fetch) -> Bool {
        reader.failure == nil && !reader.onlyStored && reader.told == nil
            && (reader.source == .undecided || reader.awaitsOrigin)
            && (reader.id == fetch.askedBy || (reader.wantsBytes && reader.position == fetch.start))
    }

    /// The response that a reader asked for brought a version whose responses can be combined: from now on it reads that version.
    private mutating func takeCombinable(_ index: Int, _ candidate: Representation, _ generation: GenerationID) {
        guard isAsTold(readers[index], candidate) else { return readers[index].failure = .origin(.representationChanged) }
        readers[index].source = .undecided
        guard readers[index].told != nil else { return }
        readers[index].told = generation
        readers[index].toldAs = nil
    }

    private mutating func takeVersion(_ index: Int, _ candidate: Representation, generation: GenerationID) {
        guard isAsTold(readers[index], candidate) else { return readers[index].failure = .origin(.representationChanged) }
        if readers[index].told != nil { readers[index].told = generation }
        bind(index, to: .version)
    }

    mutating func takeResponse(_ index: Int, _ response: OwnResponse, _ id: FetchID) {
        guard isAsTold(readers[index], response.representation) else { return readers[index].failure = .origin(.representationChanged) }
        if readers[index].told != nil { readers[index].told = response.generation }
        readers[index].awaitsOrigin = false
        if readers[index].told == nil { readers[index].awaitedVersion = true }
        bind(index, to: .own(id, response))
    }

    /// Whether a consumer that was told of one response may go on with another: for what it was *told*, an equal length and type will do.
    func isAsTold(_ reader: Reader, _ representation: Representation) -> Bool {
        guard reader.told != nil, let told = reader.toldAs else { return true }
        return told.looksLike(representation)
    }

    /// The transfer of a reader's own response is over.
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
                // A body without length that ended before the reader's first byte: there is no such byte in this response.
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

    /// A response that broke off can't be continued by another. Where no byte of it was used, the reader may ask again.
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

    /// What the reader's own response has at its position.
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

    /// Whether the bytes of `fetch` are for `reader`: a reader with a response of its own takes those, others take the version's.
    func draws(_ reader: Reader, from fetch: Fetch) -> Bool {
        if case .own(let id, _) = reader.source { return id == fetch.id }
        return !fetch.isOwn
    }

    /// The generation that the reader is served, nil before it is known.
    func served(_ reader: Reader) -> GenerationID? {
        if case .own(_, let response) = reader.source { return response?.generation }
        return version?.generation
    }

    /// The representation that the reader is served, nil before it is known.
    func servedRepresentation(_ reader: Reader) -> Representation? {
        if case .own(_, let response) = reader.source { return response?.representation }
        return version?.representation
    }

    /// Whether the reader's own response is a page that came instead of media.
    package func readsPage(_ id: ReaderID) -> Bool {
        guard let reader = reader(id), case .own(_, let response?) = reader.source else { return false }
        return response.isPage
    }

    /// Whether the reader gets a response of its own, none of it from the store.
    package func readsOwnResponse(_ id: ReaderID) -> Bool {
        reader(id).map { if case .own = $0.source { true } else { false } } ?? false
    }

    /// Whether bytes of several responses make up what this reader gets: parts of it may be asked for one by one.
    package var isCombinable: Bool { version?.isCombinable ?? false }
}

extension SessionStateMachine.Version {
    /// Stored bytes of an earlier session, not all of the resource, that no strong validator identifies.
    package var isRemnant: Bool { self.confirmation == 0 && !isCombinable && !isComplete }
}
