// Events of readers: prepare, look for bytes, take them, move, leave.

/// The result of looking for bytes at a reader's position.
package enum SessionStep: Hashable, Sendable {
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
package enum SessionPreparation: Hashable, Sendable {
    /// The version and its representation.
    case ready(GenerationID, Representation)
    /// The version is not known or not usable yet; `.wake` follows.
    case wait
    /// The reader has ended with this failure.
    case failed(ReadFailure)
}

extension SessionState {
    /// Returns the version that the reader may read, or makes the reader wait for it.
    mutating func prepare(
        _ index: Int, withFirstByte: Bool, now: MonotonicInstant, wallNow: Timestamp
    ) -> (SessionPreparation, [SessionAction]) {
        if let failure = readers[index].failure { return (.failed(failure), []) }
        readers[index].dropReplaced()
        readers[index].placeSuffix(in: body(of: readers[index]))
        if readers[index].isApart {
            guard let body = body(of: readers[index]) else { return waitForVersion(index, withFirstByte, now: now) }
            readers[index].prepare(body.generation)
            return (.ready(body.generation, body.representation), [])
        }
        let dropped = VersionDoubt.dropUsedUp(&self, for: index)
        if !dropped.isEmpty {
            let (preparation, actions) = waitForVersion(index, withFirstByte, now: now)
            return (preparation, dropped + actions)
        }
        if readers[index].told == nil, let actions = startOwnResponse(index, wallNow: wallNow, now: now) {
            if let failure = readers[index].failure { return (.failed(failure), actions) }
            let (preparation, more) = waitForVersion(index, withFirstByte, now: now)
            return (preparation, actions + more)
        }
        if phase == .ready, let version = ledger.version, mayUse(index, wallNow: wallNow, now: now), readers[index].takesStatus(of: version)
        {
            readers[index].prepare(version.generation)
            let actions = ledger.owesRevalidation || ledger.owesUpdate ? replan(now: now) : []
            return (.ready(version.generation, version.representation), actions)
        }
        if let failure = readers[index].failure { return (.failed(failure), []) }
        return waitForVersion(index, withFirstByte, now: now)
    }

    private mutating func waitForVersion(
        _ index: Int, _ withFirstByte: Bool, now: MonotonicInstant
    ) -> (SessionPreparation, [SessionAction]) {
        readers[index].waitsFor = .version
        readers[index].preparesWithFirstByte = withFirstByte
        return (.wait, replan(now: now))
    }

    /// Returns the bytes at the reader's position, at most `max` of them, or makes the reader wait.
    mutating func step(_ index: Int, max: Int64, now: MonotonicInstant, wallNow: Timestamp) -> (SessionStep, [SessionAction]) {
        readers[index].dropReplaced()
        if let actions = startOwnResponseForBytes(index, wallNow: wallNow, now: now) {
            if let failure = readers[index].failure { return (.failed(failure), actions) }
            readers[index].waitsFor = readers[index].told == nil ? .version : .bytes
            return (.wait, actions + replan(now: now))
        }
        if readers[index].told == nil, readers[index].failure == nil, phase == .ready, ledger.version != nil, !readers[index].isApart,
            !mayUse(index, wallNow: wallNow, now: now), readers[index].failure == nil
        {
            readers[index].waitsFor = .version
            readers[index].wantsBytes = true
            return (.wait, replan(now: now))
        }
        readers[index].hold = nil
        if let found = ReaderView.look(readers[index], max: max, self) { return take(found, index) }
        readers[index].waitsFor = .bytes
        readers[index].wantsBytes = true
        if FetchPlanner.isProvidedFor(readers[index], self), fetches.first?.isPaused == false { return (.wait, []) }
        return (.wait, replan(now: now))
    }

    /// Starts a response of its own for a reader that needs bytes, if the version can't be combined
    /// and cannot serve it.
    private mutating func startOwnResponseForBytes(_ index: Int, wallNow: Timestamp, now: MonotonicInstant) -> [SessionAction]? {
        guard phase == .ready, readers[index].failure == nil, readers[index].source == .undecided,
            ledger.version?.isCombinable == false, readers[index].position.isBelow(readers[index].end)
        else { return nil }
        readers[index].wantsBytes = true
        return startOwnResponse(index, wallNow: wallNow, now: now)
    }

    /// Gives the reader what was found for it.
    private mutating func take(_ found: SessionStep, _ index: Int) -> (SessionStep, [SessionAction]) {
        if readers[index].isOutdated(by: body(of: readers[index])) {
            // The reader prepared for a version that is gone. It has to prepare again before it
            // uses a byte.
            readers[index].commitment = .none
            return (.wait, [.wake(readers[index].id)])
        }
        readers[index].waitsFor = .nothing
        readers[index].wantsBytes = true
        // A reader of stored bytes only gets no response of its own. Its first byte therefore binds
        // it to the version.
        if readers[index].onlyStored, readers[index].source == .undecided, ledger.version?.isCombinable == false {
            readers[index].bind(to: .version)
        }
        // The bytes themselves commit the reader, in the same call, so that no other version can
        // come between.
        switch found {
        case .stored(let range):
            readers[index].commit(to: body(of: readers[index]))
            readers[index].hold = range
        case .memory: readers[index].commit(to: body(of: readers[index]))
        case .wait, .end, .failed: break
        }
        return (found, [])
    }

    /// Moves the reader past `count` bytes that its consumer took.
    mutating func advance(_ index: Int, by count: Int64, now: MonotonicInstant) -> [SessionAction] {
        readers[index].take(count)
        let ahead = verifyAhead(of: readers[index])
        if fetches.isEmpty, ledger.version?.isComplete == true, !ledger.owesRevalidation { return ahead }
        if FetchPlanner.isProvidedFor(readers[index], self) { return ahead }
        return ahead + releaseRelays() + replan(now: now)
    }

    private mutating func verifyAhead(of reader: ReaderState) -> [SessionAction] {
        guard let body = body(of: reader), !body.unverified.isEmpty else { return [] }
        let generation = body.generation
        var range: ByteRange?
        change(generation) { [limits] in range = $0.beginVerification(aheadOf: reader, limits) }
        return range.map { [.verify($0, generation)] } ?? []
    }

    /// Moves the reader to `[start, end)`.
    mutating func move(_ index: Int, to start: Int64, end: Int64?, now: MonotonicInstant) -> [SessionAction] {
        if start != readers[index].position { AbandonedFetches.mark(leftBy: readers[index], in: &self) }
        if !ReaderView.goesOn(readers[index], at: start, end: end, self) { readers[index].unbind(version) }
        readers[index].move(to: start, end: end)
        // The failure belonged to the old position. The new one may have bytes.
        if case .origin(.rangeNotSatisfiable)? = readers[index].failure { readers[index].failure = nil }
        return releaseRelays() + replan(now: now)
    }

    /// Removes the reader.
    mutating func remove(_ index: Int, explicitly: Bool, now: MonotonicInstant) -> [SessionAction] {
        let reader = readers.remove(at: index)
        if readers.isEmpty { play.readersLeft(now: now) }
        let over = BodiesApart.drop(from: &self)
        if over.isEmpty, fetches.isEmpty, ledger.version?.isComplete == true, !ledger.owesRevalidation { return [] }
        AbandonedFetches.mark(leftBy: reader, in: &self)
        if !explicitly, reader.failure == nil, !reader.onlyStored { goal = reader.goal ?? goal }
        var actions = over + releaseRelays()
        if explicitly && readers.isEmpty {
            goal = nil
            actions += cancelFetches { _ in true }
        }
        return actions + replan(now: now)
    }
}
