// What readers do: join, look for bytes, take them, leave.

extension SessionStateMachine {
    /// What a reader finds at its position.
    package enum Step: Hashable, Sendable {
        /// Stored bytes from the position on.
        case stored(ByteRange)
        /// Bytes of a running fetch that are in memory.
        case memory(FetchID, ByteRange)
        /// Nothing yet; `.wake` follows.
        case wait
        /// The range, or the resource, ends here.
        case end
        case failed(ReadFailure)
    }

    /// What a reader knows before its first byte.
    package enum Preparation: Hashable, Sendable {
        case ready(GenerationID, Representation)
        case wait
        case failed(ReadFailure)
    }

    /// A consumer came that will want `[start, end)`; it asks `prepare` next. With `wantsBytes` its window counts before it asks for them.
    package mutating func readerJoined(
        start: Int64, end: Int64?, policy: FetchPolicy, rules: UseRules = UseRules(), site: String? = nil, wantsBytes: Bool
    ) -> (ReaderID, [SessionAction]) {
        let id = ReaderID(rawValue: nextReader)
        nextReader += 1
        var reader = Reader(
            id: id, site: site, position: min(start, ByteRange.maximumOffset), end: end.map { min($0, ByteRange.maximumOffset) },
            policy: policy, rules: rules, confirmationsBefore: confirmations,
            wantsBytes: wantsBytes)
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

    /// Whether the reader can be told what it reads. Until the consumer was told (`readerTold`), another version may take its place.
    ///
    /// - Parameter withFirstByte: the consumer can do nothing with the one before it has the other: while the byte at its position is the next
    ///   that its fetch brings, it is woken with that and not before.
    package mutating func prepare(
        _ id: ReaderID, withFirstByte: Bool = false, now: MonotonicInstant, wallNow: Timestamp
    ) -> (Preparation, [SessionAction]) {
        guard let index = readers.firstIndex(where: { $0.id == id }) else { return (.failed(.closed), []) }
        if let failure = readers[index].failure { return (.failed(failure), []) }
        if phase == .ready, let version, mayUse(index, wallNow: wallNow, now: now) {
            readers[index].prepared = version.generation
            return (.ready(version.generation, version.representation), owesRevalidation || owesUpdate ? replan(now: now) : [])
        }
        if let failure = readers[index].failure { return (.failed(failure), []) }
        readers[index].waitsFor = .version
        readers[index].preparesWithFirstByte = withFirstByte
        return (.wait, replan(now: now))
    }

    /// The consumer heard what `prepare` answered: from now on it gets bytes of that version or an error.
    package mutating func readerTold(_ id: ReaderID) {
        guard let index = readers.firstIndex(where: { $0.id == id }), readers[index].told == nil else { return }
        readers[index].told = readers[index].prepared
        // Another version may have come between the answer and its use.
        if readers[index].failure == nil, let told = readers[index].told, told != version?.generation {
            readers[index].failure = .origin(.representationChanged)
        }
    }

    /// Whether the reader's version was known without asking the origin.
    package func foundVersion(_ id: ReaderID) -> Bool {
        readers.first { $0.id == id }.map { !$0.awaitedVersion } ?? false
    }

    /// Whether the origin was asked for this reader whether what is stored is current.
    package func awaitedValidation(_ id: ReaderID) -> Bool {
        readers.first { $0.id == id }?.awaitedOrigin ?? false
    }

    /// What the origin set for this very reader by the answer that it was asked for; once.
    package mutating func takeCookies(for id: ReaderID) -> [String] {
        guard let cookies = version?.cookies, cookies.reader == id else { return [] }
        version?.cookies = nil
        return cookies.values
    }

    /// The version whose bytes the reader gets, nil before the first.
    package func toldVersion(of id: ReaderID) -> GenerationID? {
        readers.first { $0.id == id }?.told
    }

    /// The reader goes elsewhere, or learns what its range is.
    package mutating func readerMoved(_ id: ReaderID, to start: Int64, end: Int64?, now: MonotonicInstant) -> [SessionAction] {
        guard let index = readers.firstIndex(where: { $0.id == id }) else { return [] }
        readers[index].position = min(start, ByteRange.maximumOffset)
        readers[index].end = end.map { min($0, ByteRange.maximumOffset) }
        readers[index].hold = nil
        // There was nothing where it stood; elsewhere there may be.
        if case .origin(.rangeNotSatisfiable)? = readers[index].failure { readers[index].failure = nil }
        return releaseRelays() + replan(now: now)
    }

    /// What there is at the reader's position, at most `max` bytes.
    package mutating func step(_ id: ReaderID, max: Int64, now: MonotonicInstant, wallNow: Timestamp) -> (Step, [SessionAction]) {
        guard let index = readers.firstIndex(where: { $0.id == id }) else { return (.failed(.closed), []) }
        if readers[index].told == nil, readers[index].failure == nil, phase == .ready, version != nil,
            !mayUse(index, wallNow: wallNow, now: now), readers[index].failure == nil
        {
            readers[index].waitsFor = .version
            readers[index].wantsBytes = true
            return (.wait, replan(now: now))
        }
        readers[index].hold = nil
        let reader = readers[index]
        if let found = look(reader, max: max) {
            if reader.isOutdated(version) {
                // It decided by a version that is gone. It shall ask `prepare` again before it uses a byte.
                readers[index].prepared = nil
                return (.wait, [.wake(id)])
            }
            readers[index].waitsFor = .nothing
            readers[index].wantsBytes = true
            // Whoever gets bytes is told by them, in the same moment: no other version can come between.
            switch found {
            case .stored(let range):
                readers[index].told = version?.generation
                readers[index].hold = range
            case .memory: readers[index].told = version?.generation
            case .wait, .end, .failed: break
            }
            return (found, [])
        }
        readers[index].waitsFor = .bytes
        readers[index].wantsBytes = true
        return (.wait, replan(now: now))
    }

    /// The consumer took `count` bytes.
    package mutating func readerAdvanced(_ id: ReaderID, by count: Int64, now: MonotonicInstant) -> [SessionAction] {
        guard let index = readers.firstIndex(where: { $0.id == id }), count > 0 else { return [] }
        readers[index].position += count
        readers[index].hasProgress = true
        readers[index].failures = 0
        let ahead = verifyAhead(of: readers[index])
        if fetches.isEmpty, version?.isComplete == true { return ahead }
        return ahead + releaseRelays() + replan(now: now)
    }

    /// The consumer has gone. `explicitly` when it said that nobody wants the rest: then nothing lingers for it.
    package mutating func readerLeft(_ id: ReaderID, explicitly: Bool, now: MonotonicInstant) -> [SessionAction] {
        guard let index = readers.firstIndex(where: { $0.id == id }) else { return [] }
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

    /// The bytes that the reader will want soon, or nil when it wants none.
    func window(of reader: Reader) -> ByteRange? {
        guard reader.wantsBytes, reader.failure == nil, !reader.onlyStored else { return nil }
        let length = version?.representation.length ?? .max
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

    /// What there is for the reader, nil when there is nothing yet.
    func look(_ reader: Reader, max: Int64) -> Step? {
        if let failure = reader.failure { return .failed(failure) }
        if let end = reader.end, reader.position >= end { return .end }
        guard phase == .ready, let version else { return nil }
        if let length = version.representation.length, reader.position >= length { return .end }
        let limit = min(reader.end ?? .max, reader.position.addingClamped(max))
        if let run = version.stored.prefix(from: reader.position, upTo: limit) { return version.verifiedPart(of: run).map(Step.stored) }
        for fetch in fetches where fetch.generation == version.generation && fetch.remembers(reader.position) {
            if let range = ByteRange(reader.position, min(limit, fetch.runEnd(from: reader.position))) { return .memory(fetch.id, range) }
        }
        return nil
    }

    /// Readers that wait and have something to do now.
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

    private func hasSomething(for reader: Reader) -> Bool {
        switch reader.waitsFor {
        case .nothing: false
        case .version: reader.failure != nil || (phase == .ready && version != nil && (!reader.awaitsOrigin || isSettled(for: reader)))
        case .bytes: look(reader, max: 1) != nil
        }
    }

    /// Whether the version alone is of no use to the reader, and the byte that it needs besides comes next.
    private func awaitsFirstByte(_ reader: Reader) -> Bool {
        guard reader.preparesWithFirstByte, reader.waitsFor == .version, reader.wantsBytes, look(reader, max: 1) == nil, let version
        else { return false }
        return fetches.contains { fetch in
            fetch.askedBy == reader.id && fetch.phase == .receiving && fetch.generation == version.generation && fetch.skip == 0
                && !fetch.isPaused && fetch.front == reader.position && fetch.leases(reader.position)
        }
    }

    /// Another version is current: readers that were told of an old one end, the others look again.
    mutating func versionReplaced() -> [SessionAction] {
        var actions: [SessionAction] = []
        for index in readers.indices where readers[index].failure == nil {
            if readers[index].told == nil { readers[index].awaitedVersion = true }
            if let told = readers[index].told {
                if told != version?.generation { readers[index].failure = .origin(.representationChanged) }
            } else if readers[index].waitsFor == .bytes, readers[index].isOutdated(version) {
                readers[index].waitsFor = .nothing
                readers[index].prepared = nil
                actions.append(.wake(readers[index].id))
            }
        }
        return actions
    }

    private mutating func adoptGoal(of reader: Reader) {
        switch reader.policy {
        case .whilePlaying: break
        case .readAhead(let bytes): goal = ByteRange(reader.position, reader.position.addingClamped(bytes)) ?? goal
        case .wholeResource: goal = ByteRange(lower: 0, upper: .max)
        }
    }
}

extension SessionStateMachine.Reader {
    /// What it was told by `prepare`, and nobody else yet, is no longer so.
    fileprivate func isOutdated(_ version: SessionStateMachine.Version?) -> Bool {
        told == nil && prepared != nil && prepared != version?.generation
    }
}

extension Int64 {
    /// The sum, or the largest value where it would not fit.
    func addingClamped(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
