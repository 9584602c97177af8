// Events of readers: join, prepare, look for bytes, take them, move, leave.

extension SessionStateMachine {
    /// The result of looking for bytes at a reader's position.
    package enum Step: Hashable, Sendable {
        /// Stored bytes from the position on.
        case stored(ByteRange)
        /// Bytes from the position on that a running fetch has in memory.
        case memory(FetchID, ByteRange)
        /// No bytes yet; `.wake` follows.
        case wait
        /// The end of the reader's range or of the resource.
        case end
        /// The reader has ended with this failure.
        case failed(ReadFailure)
    }

    /// The result of asking for the version, before the first byte.
    package enum Preparation: Hashable, Sendable {
        /// The version and its representation.
        case ready(GenerationID, Representation)
        /// The version is not known or not usable yet; `.wake` follows.
        case wait
        /// The reader has ended with this failure.
        case failed(ReadFailure)
    }

    /// Adds a reader of `[start, end)`, which calls `prepare` next.
    ///
    /// - Parameter wantsBytes: whether its window counts before its first `step`.
    /// - Parameter endsSoon: whether its client can repeat the request by itself, as an HTTP client
    ///   can.
    /// - Returns: the identity of the reader, and the actions that follow.
    package mutating func readerJoined(
        start: Int64, end: Int64?, policy: FetchPolicy, rules: UseRules = UseRules(), site: String? = nil, wantsBytes: Bool,
        endsSoon: Bool = false
    ) -> (ReaderID, [SessionAction]) {
        let id = ReaderID(rawValue: nextReader)
        nextReader += 1
        var reader = Reader(
            id: id, site: site, position: min(start, ByteRange.maximumOffset), end: end.map { min($0, ByteRange.maximumOffset) },
            policy: policy, rules: rules, confirmationsBefore: confirmations,
            wantsBytes: wantsBytes)
        reader.endsSoon = endsSoon
        var actions: [SessionAction] = []
        switch phase {
        case .new:
            phase = .opening
            actions.append(.open)
        case .ended(let failure):
            reader.failure = failure
        case .opening:
            break
        case .ready:
            reader.awaitedVersion = version == nil
        }
        readers.append(reader)
        return (id, actions)
    }

    /// Returns the version that the reader may read, or makes the reader wait for it.
    ///
    /// Until the consumer commits to the version (`readerTold`), another version may take its
    /// place.
    ///
    /// - Parameter withFirstByte: whether the consumer can use the version only together with its
    ///   first byte. While the byte at its position is the next that its fetch brings, the reader
    ///   is woken with that byte and not before.
    package mutating func prepare(
        _ id: ReaderID, withFirstByte: Bool = false, now: MonotonicInstant, wallNow: Timestamp
    ) -> (Preparation, [SessionAction]) {
        guard let index = index(of: id) else { return (.failed(.closed), []) }
        if let failure = readers[index].failure { return (.failed(failure), []) }
        if case .own(_, let response) = readers[index].source {
            if let response {
                readers[index].prepared = response.generation
                return (.ready(response.generation, response.representation), [])
            }
            return waitForVersion(index, withFirstByte, now: now)
        }
        if readers[index].told == nil, let actions = startOwnResponse(index, wallNow: wallNow, now: now) {
            if let failure = readers[index].failure { return (.failed(failure), actions) }
            let (preparation, more) = waitForVersion(index, withFirstByte, now: now)
            return (preparation, actions + more)
        }
        if phase == .ready, let version, mayUse(index, wallNow: wallNow, now: now) {
            readers[index].prepared = version.generation
            return (.ready(version.generation, version.representation), owesRevalidation || owesUpdate ? replan(now: now) : [])
        }
        if let failure = readers[index].failure { return (.failed(failure), []) }
        return waitForVersion(index, withFirstByte, now: now)
    }

    private mutating func waitForVersion(
        _ index: Int, _ withFirstByte: Bool, now: MonotonicInstant
    ) -> (Preparation, [SessionAction]) {
        readers[index].waitsFor = .version
        readers[index].preparesWithFirstByte = withFirstByte
        return (.wait, replan(now: now))
    }

    /// Commits the reader to the version that `prepare` returned. From now on it gets bytes of that
    /// version or an error.
    package mutating func readerTold(_ id: ReaderID) {
        guard let index = index(of: id), readers[index].told == nil else { return }
        tell(index, readers[index].prepared)
        // Another version may have become current between the call of `prepare` and this one.
        if readers[index].failure == nil, let told = readers[index].told, told != served(readers[index]) {
            readers[index].failure = .origin(.representationChanged)
        }
    }

    /// Whether the reader's version was known without an origin request.
    package func foundVersion(_ id: ReaderID) -> Bool {
        reader(id).map { !$0.awaitedVersion } ?? false
    }

    /// Whether the reader waited for the origin to confirm the stored version.
    package func awaitedValidation(_ id: ReaderID) -> Bool {
        reader(id)?.awaitedOrigin ?? false
    }

    /// Removes and returns the cookies that the origin set in the response to this reader's
    /// request.
    /// - Returns: the values of `Set-Cookie`; empty for every other reader and from the second call
    ///   on.
    package mutating func takeCookies(for id: ReaderID) -> [String] {
        if let index = index(of: id), case .own(let fetch, var response?) = readers[index].source {
            defer {
                response.cookies = []
                readers[index].source = .own(fetch, response)
            }
            return response.cookies
        }
        guard let cookies = version?.cookies, cookies.reader == id else { return [] }
        version?.cookies = nil
        return cookies.values
    }

    /// The version that the reader has committed to, or nil before that.
    package func toldVersion(of id: ReaderID) -> GenerationID? {
        reader(id)?.told
    }

    /// Moves the reader to `[start, end)`. Also called when its consumer has learnt its range.
    package mutating func readerMoved(_ id: ReaderID, to start: Int64, end: Int64?, now: MonotonicInstant) -> [SessionAction] {
        guard let index = index(of: id) else { return [] }
        let start = min(start, ByteRange.maximumOffset), end = end.map { min($0, ByteRange.maximumOffset) }
        if !goesOn(readers[index], at: start, end: end) { unbind(index) }
        readers[index].position = start
        readers[index].end = end
        readers[index].hold = nil
        // The failure belonged to the old position. The new one may have bytes.
        if case .origin(.rangeNotSatisfiable)? = readers[index].failure { readers[index].failure = nil }
        return releaseRelays() + replan(now: now)
    }

    /// Returns the bytes at the reader's position, at most `max` of them, or makes the reader wait.
    package mutating func step(_ id: ReaderID, max: Int64, now: MonotonicInstant, wallNow: Timestamp) -> (Step, [SessionAction]) {
        guard let index = index(of: id) else { return (.failed(.closed), []) }
        let mayNeedOwn = phase == .ready && readers[index].failure == nil && readers[index].source == .undecided
        if mayNeedOwn, version?.isCombinable == false, readers[index].end.map({ readers[index].position < $0 }) ?? true {
            readers[index].wantsBytes = true
            if let actions = startOwnResponse(index, wallNow: wallNow, now: now) {
                if let failure = readers[index].failure { return (.failed(failure), actions) }
                readers[index].waitsFor = readers[index].told == nil ? .version : .bytes
                return (.wait, actions + replan(now: now))
            }
        }
        if readers[index].told == nil, readers[index].failure == nil, phase == .ready, version != nil, !isApart(readers[index]),
            !mayUse(index, wallNow: wallNow, now: now), readers[index].failure == nil
        {
            readers[index].waitsFor = .version
            readers[index].wantsBytes = true
            return (.wait, replan(now: now))
        }
        readers[index].hold = nil
        let reader = readers[index]
        if let found = look(reader, max: max) {
            if isOutdated(reader) {
                // The reader prepared for a version that is gone. It has to prepare again before it
                // uses a byte.
                readers[index].prepared = nil
                return (.wait, [.wake(id)])
            }
            readers[index].waitsFor = .nothing
            readers[index].wantsBytes = true
            // A reader of stored bytes only gets no response of its own. Its first byte therefore
            // binds it to the version.
            if reader.onlyStored { bindToVersion(index) }
            // The bytes themselves commit the reader, in the same call, so that no other version
            // can come between.
            switch found {
            case .stored(let range):
                tell(index, served(reader))
                readers[index].hold = range
            case .memory: tell(index, served(reader))
            case .wait, .end, .failed: break
            }
            return (found, [])
        }
        readers[index].waitsFor = .bytes
        readers[index].wantsBytes = true
        if isProvidedFor(readers[index]), fetches.first?.isPaused == false { return (.wait, []) }
        return (.wait, replan(now: now))
    }

    /// Moves the reader past `count` bytes that its consumer took.
    package mutating func readerAdvanced(_ id: ReaderID, by count: Int64, now: MonotonicInstant) -> [SessionAction] {
        guard let index = index(of: id), count > 0 else { return [] }
        readers[index].position += count
        readers[index].hasProgress = true
        readers[index].failures = 0
        readers[index].emptyAnswers = 0
        let ahead = verifyAhead(of: readers[index])
        if fetches.isEmpty, version?.isComplete == true { return ahead }
        if isProvidedFor(readers[index]) { return ahead }
        return ahead + releaseRelays() + replan(now: now)
    }

    /// Removes the reader.
    /// - Parameter explicitly: whether the consumer announced that the rest is not needed. Then no
    ///   fetch lingers for it.
    package mutating func readerLeft(_ id: ReaderID, explicitly: Bool, now: MonotonicInstant) -> [SessionAction] {
        guard let index = index(of: id) else { return [] }
        let reader = readers.remove(at: index)
        if fetches.isEmpty, version?.isComplete == true { return [] }
        if !explicitly, reader.failure == nil, !reader.onlyStored { adoptGoal(of: reader) }
        var actions = releaseRelays()
        if explicitly && readers.isEmpty {
            goal = nil
            actions += cancelFetches { _ in true }
        }
        return actions + replan(now: now)
    }

    /// The bytes that the reader will need soon.
    /// - Returns: nil if it needs none.
    func window(of reader: Reader) -> ByteRange? {
        guard reader.wantsBytes, reader.failure == nil, !reader.onlyStored else { return nil }
        // When a different version than the reader's is current, its length does not bound what
        // this reader will get.
        let isOpen = reader.source == .undecided && version.map { !$0.isCombinable && isNews($0, to: reader) } ?? false
        let length = isOpen ? .max : servedRepresentation(reader)?.length ?? .max
        let end = min(reader.end ?? .max, length)
        guard reader.position < end else { return nil }
        let upper: Int64 =
            switch reader.policy {
            case .whilePlaying: min(end, reader.position.addingClamped(limits.readAheadBytes))
            case .readAhead(let bytes): min(length, reader.position.addingClamped(max(bytes, 1)))
            case .wholeResource: length
            }
        return ByteRange(reader.position, max(upper, min(end, reader.position + 1)))
    }

    /// Returns the bytes, the end or the failure at the reader's position, at most `max` bytes.
    /// - Returns: nil if there is nothing yet.
    func look(_ reader: Reader, max: Int64) -> Step? {
        if let failure = reader.failure { return .failed(failure) }
        if let end = reader.end, reader.position >= end { return .end }
        guard phase == .ready else { return nil }
        if case .own(let id, let response) = reader.source {
            guard let response else { return nil }
            return lookApart(reader, id, response, limit: min(reader.end ?? .max, reader.position.addingClamped(max)))
        }
        guard let version else { return nil }
        if !version.isCombinable, reader.source == .undecided, isNews(version, to: reader) { return nil }
        if let length = version.representation.length, reader.position >= length { return .end }
        // The source of this reader's bytes is not decided yet, so these may belong to another
        // response than its own.
        if !version.isCombinable, reader.source == .undecided, !reader.onlyStored { return nil }
        let limit = min(reader.end ?? .max, reader.position.addingClamped(max))
        if let run = version.stored.prefix(from: reader.position, upTo: limit) { return version.verifiedPart(of: run).map(Step.stored) }
        for fetch in fetches where !fetch.isOwn && fetch.generation == version.generation && fetch.remembers(reader.position) {
            if let range = ByteRange(reader.position, min(limit, fetch.runEnd(from: reader.position))) { return .memory(fetch.id, range) }
        }
        return nil
    }

    /// Ends the wait of each reader that can go on, and returns the actions that wake them.
    mutating func wakeReaders() -> [SessionAction] {
        guard readers.contains(where: { $0.waitsFor != .nothing }) else { return [] }
        var actions: [SessionAction] = []
        for index in readers.indices where hasSomething(for: readers[index]) {
            if awaitsFirstByte(readers[index]) {
                readers[index].waitsFor = .bytes
                continue
            }
            readers[index].waitsFor = .nothing
            actions.append(.wake(readers[index].id))
        }
        return actions
    }

    /// Whether the event that the reader waits for has happened.
    private func hasSomething(for reader: Reader) -> Bool {
        switch reader.waitsFor {
        case .nothing: false
        case .version where reader.awaitsRetry: reader.failure != nil || (retryAt == nil && version != nil)
        case .version where isApart(reader): reader.failure != nil || served(reader) != nil
        case .version: reader.failure != nil || (phase == .ready && version != nil && (!reader.awaitsOrigin || isSettled(for: reader)))
        case .bytes: look(reader, max: 1) != nil || hasToDecide(reader)
        }
    }

    /// Whether the reader has committed to no version yet, so that its next step decides its
    /// source.
    private func hasToDecide(_ reader: Reader) -> Bool {
        guard phase == .ready, let version, !version.isCombinable else { return false }
        return reader.source == .undecided && reader.told == nil && !reader.onlyStored
    }

    /// Whether the reader needs the version together with the first byte, and that byte is the next
    /// of its fetch.
    private func awaitsFirstByte(_ reader: Reader) -> Bool {
        guard reader.preparesWithFirstByte, reader.waitsFor == .version, reader.wantsBytes, look(reader, max: 1) == nil,
            let served = served(reader)
        else { return false }
        return fetches.contains { fetch in
            fetch.askedBy == reader.id && fetch.phase == .receiving && fetch.generation == served && fetch.skip == 0
                && !fetch.isPaused && fetch.front == reader.position && fetch.leases(reader.position)
        }
    }

    /// Ends the readers that have committed to another version than the current one, and wakes the
    /// others to prepare again.
    mutating func versionReplaced() -> [SessionAction] {
        var actions: [SessionAction] = []
        for index in readers.indices where readers[index].failure == nil && !isApart(readers[index]) {
            if isToldOnly(readers[index]) { readers[index].told = version?.generation }
            if readers[index].told == nil { readers[index].awaitedVersion = true }
            if let told = readers[index].told {
                if told != version?.generation { readers[index].failure = .origin(.representationChanged) }
            } else if readers[index].waitsFor == .bytes, isOutdated(readers[index]) {
                readers[index].waitsFor = .nothing
                readers[index].prepared = nil
                actions.append(.wake(readers[index].id))
            }
        }
        return actions
    }

    /// The index of the reader in `readers`, which are in the order in which they came.
    /// - Complexity: O(log *n*) in the number of readers.
    func index(of id: ReaderID) -> Int? {
        var (low, high) = (0, readers.count)
        while low < high {
            let middle = (low + high) / 2
            if readers[middle].id < id { low = middle + 1 } else { high = middle }
        }
        return low < readers.count && readers[low].id == id ? low : nil
    }

    /// The reader with this identity, or nil if it has left.
    func reader(_ id: ReaderID) -> Reader? { index(of: id).map { readers[$0] } }

    /// Whether a running fetch of the version goes on to bring the reader's whole window, so that
    /// the reader's step changes no plan.
    ///
    /// With this shortcut a thousand readers of one live stream need not look at each other for
    /// each batch of bytes.
    private func isProvidedFor(_ reader: Reader) -> Bool {
        guard fetches.count == 1, let fetch = fetches.first, !fetch.isRelay, !fetch.isOwn, fetch.phase == .receiving,
            fetch.lingersSince == nil, goal == nil, retryAt == nil, !owesRevalidation, !owesUpdate, !isApart(reader), !reader.onlyStored,
            let version, version.isCombinable, version.unverified.isEmpty, let window = window(of: reader)
        else { return false }
        // Every byte below the lowest offset in memory has to be stored. From there to the front
        // the bytes are in memory.
        let behind = ByteRange(window.lowerBound, min(window.upperBound, fetch.released)).map { version.stored.contains($0) } ?? true
        guard behind, window.lowerBound <= fetch.front, fetch.skipped.isEmpty, fetch.upper.map({ $0 >= window.upperBound }) ?? true else {
            return false
        }
        return !fetch.isPaused || (window.upperBound - fetch.front < limits.readAheadBytes / 2 && window.lowerBound < fetch.front)
    }

    /// Commits the reader to `generation`. Where only length and type can tie another response to
    /// that version, its representation is kept.
    private mutating func tell(_ index: Int, _ generation: GenerationID?) {
        guard readers[index].told != generation else { return }
        readers[index].told = generation
        let mayChange = version?.isCombinable == false || isApart(readers[index])
        readers[index].toldAs = mayChange ? servedRepresentation(readers[index]) : nil
    }

    /// Whether `prepare` returned a version that has been replaced before the consumer committed to
    /// it.
    private func isOutdated(_ reader: Reader) -> Bool {
        reader.told == nil && reader.prepared != nil && reader.prepared != served(reader)
    }

    /// Whether the consumer has no bytes of the version that it committed to, and the current one
    /// has the same length and type.
    private func isToldOnly(_ reader: Reader) -> Bool {
        guard reader.told != nil, reader.toldAs != nil, reader.source == .undecided, let version, !version.isCombinable else {
            return false
        }
        return isAsTold(reader, version.representation)
    }

    /// Whether the reader has or awaits a response of its own.
    func isApart(_ reader: Reader) -> Bool {
        if case .own = reader.source { true } else { false }
    }

    /// Whether a reader that moves to `[start, end)` stays with its present source.
    private func goesOn(_ reader: Reader, at start: Int64, end: Int64?) -> Bool {
        if reader.source == .version { return start == reader.position && end == reader.end }
        guard case .own(let id, let response) = reader.source, let fetch = fetches.first(where: { $0.id == id }) else { return false }
        guard fetch.serves(start), let end = end ?? response?.representation.length else {
            return fetch.serves(start) && fetch.upper == nil
        }
        return fetch.upper.map { $0 >= end } ?? true
    }

    /// Keeps fetching what the policy of a reader that left asks for.
    private mutating func adoptGoal(of reader: Reader) {
        switch reader.policy {
        case .whilePlaying: break
        case .readAhead(let bytes): goal = ByteRange(reader.position, reader.position.addingClamped(bytes)) ?? goal
        case .wholeResource: goal = ByteRange(lower: 0, upper: .max)
        }
    }
}

extension Int64 {
    /// The sum, or `Int64.max` if it overflows.
    func addingClamped(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
