// What the origin answers: heads, bodies, ends. And what the store reports back.

extension SessionStateMachine {
    // MARK: The index

    /// The index answered: what is stored, or nil; `unverified` of it must be compared with its checks before its first use.
    /// `passReason` when nothing may be stored anyway.
    package mutating func opened(
        _ stored: (GenerationID, Representation, ByteRangeSet)?, unverified: ByteRangeSet = ByteRangeSet(), passReason: PassReason?,
        now: MonotonicInstant
    ) -> [SessionAction] {
        guard phase == .opening else { return [] }
        phase = .ready
        var actions: [SessionAction] = []
        if let (generation, representation, spans) = stored {
            version = Version(
                VersionState(
                    generation: generation, representation: representation, stored: spans, unverified: unverified, passReason: passReason,
                    identity: rules.identity))
            // An earlier process left it unfinished; or, before there was a bound, stored bytes of a length that is none.
            let isBeyondBound = max(representation.length ?? 0, spans.upperBound ?? 0) > ByteRange.maximumOffset
            if let known = version, isBeyondBound || (representation.length == nil && !known.isCombinable) {
                version = nil
                actions.append(.unfinished(generation))
            }
        }
        if version == nil { for index in readers.indices { readers[index].awaitedVersion = true } }
        return actions + wakeReaders() + replan(now: now)
    }

    // MARK: Heads

    /// A response's head came. `newGeneration` is used if it turns out to be another version than the current one.
    package mutating func headReceived(
        _ id: FetchID, _ head: ResponseHead, requestTime: Timestamp, responseTime: Timestamp,
        newGeneration: GenerationID, passReason: PassReason?, now: MonotonicInstant
    ) -> [SessionAction] {
        guard let index = fetches.firstIndex(where: { $0.id == id }), fetches[index].phase == .requested else { return [] }
        pace.firstByte = now - fetches[index].startedAt
        var arrival = Arrival(head: head, requestTime: requestTime, responseTime: responseTime)
        arrival.newGeneration = newGeneration
        let outcome = ResponseOutcome(head, start: fetches[index].start)
        arrival.isEndless = outcome.passReason == .lengthBeyondBound
        arrival.passReason = passReason ?? outcome.passReason ?? rules.passReason(for: head.fields, length: outcome.length)
        if let error = contradiction(of: outcome, head, fetches[index]) {
            return contradicted(index, by: error, outcome, arrival, now: now)
        }
        if outcome.bringsBytes { pagesInARow = 0 }
        if version == nil, fetches[index].storesNothing { arrival.passReason = arrival.passReason ?? .byRequest }
        switch outcome {
        case .notModified:
            return notModifiedReceived(index, arrival, now: now)
        case .partial(let served, let total):
            return partialReceived(index, served: served, total: total.bytes, arrival, now: now)
        case .full(let length):
            return fullReceived(index, length: length.bytes, arrival, now: now)
        case .notSatisfiable(let length):
            return notSatisfiableReceived(index, length: length, arrival, now: now)
        case .failed(let error):
            return finished(id, error: error, now: now) + [.cancel(id)]
        }
    }

    /// A response's head, when it came, and what is to be made of it.
    struct Arrival {
        var head: ResponseHead
        var requestTime: Timestamp
        var responseTime: Timestamp
        var newGeneration = GenerationID(rawValue: 0)
        var passReason: PassReason?
        /// It states a length or a last position beyond `ByteRange.maximumOffset`.
        var isEndless = false

        /// Whether `Content-Length` leaves no doubt that the body is this part. Where another part was asked for, a length that
        /// fits neither may belong to the part that was asked for, and the field that names the part may be the wrong one.
        func agrees(with served: ByteRange) -> Bool {
            head.fields.values(of: "Content-Length").allSatisfy { $0 == String(served.count) }
        }

        func representation(length: Int64?) -> Representation {
            Representation(
                length: length, validator: Validator(fields: head.fields), fields: storedFields(of: head.fields),
                requestTime: requestTime, responseTime: responseTime)
        }
    }

    private mutating func partialReceived(
        _ index: Int, served: ByteRange, total: Int64?, _ arrival: Arrival, now: MonotonicInstant
    ) -> [SessionAction] {
        if let actions = sameVersionReceived(index, arrival, length: total, isWhole: false, now: now) { return actions }
        becomesOrdinary(index)
        let fetch = fetches[index]
        guard served.lowerBound <= fetch.start, fetch.start - served.lowerBound <= limits.skipBytes, served.contains(fetch.start),
            served.lowerBound == fetch.start || arrival.agrees(with: served)
        else {
            let error = OriginError.malformed("asked for bytes from \(fetch.start), got \(served)")
            return finished(fetch.id, error: error, now: now) + [.cancel(fetch.id)]
        }
        if isTooShort(fetch, served: served, total: total, arrival) { return endFetches([fetch.id]) + replan(now: now) }
        let candidate = arrival.representation(length: total)
        let actions = adopt(
            candidate, servedUpper: served.upperBound, beginsAtZero: fetch.start == 0, index, arrival,
            isConditional: fetch.condition != nil)
        // Adopting may have ended other fetches, which moves this one; or this one, by a length that ends before what it brings.
        guard let index = fetches.firstIndex(where: { $0.id == fetch.id }) else { return actions + wakeReaders() + replan(now: now) }
        fetches[index].skip = fetch.start - served.lowerBound
        // The end of a part that reaches beyond the bound is not known.
        if !arrival.isEndless {
            fetches[index].servedEnd = served.upperBound
            fetches[index].upper = min(fetches[index].upper ?? served.upperBound, served.upperBound)
        }
        // What began as a relay is beside the leases of others: it stores only where it brings a version of its own.
        let isNews = version?.generation == arrival.newGeneration
        fetches[index].isRelay = (fetch.isRelay && !isNews) || (fetches[index].isOwn && !isNews) || !mayStore(index, from: fetch.start)
        bindAsker(index, candidate, arrival)
        return actions + accepted(index, now: now)
    }

    private mutating func fullReceived(_ index: Int, length: Int64?, _ arrival: Arrival, now: MonotonicInstant) -> [SessionAction] {
        if let actions = sameVersionReceived(index, arrival, length: length, isWhole: true, now: now) { return actions }
        becomesOrdinary(index)
        let fetch = fetches[index]
        // The whole body begins at 0: it is worth keeping, and whoever asked for later bytes waits for them (RFC 9110 §14.2).
        let candidate = arrival.representation(length: length)
        var actions = adopt(candidate, servedUpper: length ?? 0, beginsAtZero: true, index, arrival, isConditional: false)
        guard let index = fetches.firstIndex(where: { $0.id == fetch.id }) else { return actions + wakeReaders() + replan(now: now) }
        let acceptsRanges = arrival.head.fields["Accept-Ranges"]?.equalsIgnoringCase("bytes") ?? false
        let isNews = version?.generation == arrival.newGeneration
        if !fetches[index].isOwn || isNews { version?.refusesRanges = fetch.start > 0 || !acceptsRanges || asksPlainly }
        fetches[index].front = 0
        fetches[index].released = 0
        fetches[index].upper = length ?? (fetches[index].isOwn ? nil : version?.representation.length)
        fetches[index].servedEnd = length
        fetches[index].isRelay = (fetches[index].isOwn && !isNews) || !mayStore(index, from: 0)
        bindAsker(index, candidate, arrival)
        // Its lease is everything; relays beside it serve readers of their own.
        if !fetches[index].isRelay { actions += cancelFetches { $0.id != fetch.id && !$0.isOwn } }
        guard let index = fetches.firstIndex(where: { $0.id == fetch.id }) else { return actions + wakeReaders() }
        return actions + accepted(index, now: now)
    }

    /// What asked whether the version is current brings bytes instead: its lease begins.
    private mutating func becomesOrdinary(_ index: Int) {
        if fetches[index].isValidation { fetches[index].upper = fetches[index].namedEnd }
    }

    /// Whether the body of this fetch may be kept: by its version, and beside what others of that version still remember.
    private func mayStore(_ index: Int, from offset: Int64) -> Bool {
        guard let version, !fetches[index].storesNothing, version.storesResponse(from: offset) else { return false }
        return version.isCombinable || !fetches.indices.contains { $0 != index && !fetches[$0].isRelay && !fetches[$0].isOwn }
    }

    private mutating func notSatisfiableReceived(
        _ index: Int, length: Int64?, _ arrival: Arrival, now: MonotonicInstant
    ) -> [SessionAction] {
        let fetch = fetches[index]
        var actions = endFetches([fetch.id])
        if fetch.isOwn {
            for reader in readers.indices where draws(readers[reader], from: fetch) {
                readers[reader].failure = .origin(.rangeNotSatisfiable(length: length))
            }
            return actions + wakeReaders() + replan(now: now)
        }
        guard let version else {
            if fetch.start == 0, length == 0 {
                actions += replaceVersion(by: arrival.representation(length: 0), arrival, fetch)
            } else if fetch.start >= max(length ?? 1, 1) {
                failReaders(from: length ?? fetch.start, .rangeNotSatisfiable(length: length))
            } else if !asksPlainly {
                // Bytes there must be, or nothing at all: without a range the origin has to say which.
                asksPlainly = true
            } else {
                failReaders(from: 0, .status(arrival.head))
            }
            return actions + wakeReaders() + replan(now: now)
        }
        switch (version.representation.length, length) {
        case (nil, let length?) where fetch.start >= length && knownEnd == length:
            // The end was found by running into it.
            actions += learn(length)
        case (nil, let length?) where fetch.start >= length && knownEnd < length:
            // An end that nobody ran into is one server's word: who asked for what lies behind it hears it, and who reads on finds out.
            failReaders(from: length, .rangeNotSatisfiable(length: length))
            backOff(after: .rangeNotSatisfiable(length: length), now: now)
        default:
            // It was longer once. One contradiction retires nothing: the next request asks without conditions.
            actions += suspendVersion()
        }
        return actions + wakeReaders() + replan(now: now)
    }

    private mutating func accepted(_ index: Int, now: MonotonicInstant) -> [SessionAction] {
        fetches[index].phase = .receiving
        fetches[index].generation = fetches[index].ownGeneration ?? version?.generation
        return wakeReaders() + replan(now: now)
    }

    /// Makes the response's version the current one, or sees that it is.
    private mutating func adopt(
        _ candidate: Representation, servedUpper: Int64, beginsAtZero: Bool, _ index: Int, _ arrival: Arrival, isConditional: Bool
    ) -> [SessionAction] {
        if let version, !version.isCombinable {
            return adoptApart(candidate, servedUpper: servedUpper, beginsAtZero: beginsAtZero, index, arrival, version)
        }
        guard let version, !asksInVain(fetches[index]), isSameVersion(candidate, isConditional: isConditional),
            version.representation.length.map({ servedUpper <= $0 }) ?? (knownEnd <= candidate.length ?? .max)
        else {
            let fetch = fetches[index]
            return cancelFetches { $0.id != fetch.id && !$0.isOwn } + replaceVersion(by: candidate, arrival, fetch)
        }
        noteConfirmation()
        var actions: [SessionAction] = []
        // The answer to the question whether it is current, with a body that is of use besides.
        if fetches[index].revalidates == version.generation { actions += takeOverFields(arrival, fetches[index]) }
        if version.representation.length == nil, let length = candidate.length { actions += learn(length) }
        if version.passReason == nil, let reason = arrival.passReason {
            self.version?.passReason = reason
            goal = nil
            actions.append(.passing(reason))
        }
        return actions
    }

    /// The offset after the last byte that the current version is known to have.
    private var knownEnd: Int64 {
        let received = fetches.filter { !$0.isOwn && $0.phase != .requested && $0.front > $0.released }.map(\.front).max() ?? 0
        return max(version?.stored.upperBound ?? 0, received, version?.passedEnd ?? 0)
    }

    /// The length of the current version became known: nothing is asked beyond it.
    mutating func learn(_ length: Int64) -> [SessionAction] {
        version?.representation.length = length
        let actions = cancelFetches { !$0.isOwn && $0.start >= length && $0.front >= length }
        for index in fetches.indices where !fetches[index].isOwn { fetches[index].upper = min(fetches[index].upper ?? length, length) }
        return [.representationUpdated] + actions
    }

    /// Whoever calls it wakes the readers once it is known what the fetch brings.
    mutating func replaceVersion(by representation: Representation, _ arrival: Arrival, _ fetch: Fetch) -> [SessionAction] {
        // A version of which nothing came is not replaced: its head was all that was known.
        let old = version.flatMap { $0.isCombinable || $0.hasBegun || !$0.stored.isEmpty ? $0.generation : nil }
        version = Version(
            VersionState(
                generation: arrival.newGeneration, representation: representation, stored: ByteRangeSet(), passReason: arrival.passReason,
                identity: rules.identity))
        noteConfirmation()
        noteSelection(by: fetch, arrival)
        if old != nil || arrival.passReason != nil { goal = nil }
        forgetRetiredFetches()
        var actions: [SessionAction] = [.versionChanged(from: old, to: arrival.newGeneration)]
        if let reason = arrival.passReason { actions.append(.passing(reason)) }
        return actions + versionReplaced()
    }

    mutating func forgetVersion() -> [SessionAction] {
        let ended = cancelFetches { !$0.isOwn }
        version = nil
        forgetRetiredFetches()
        return ended + versionReplaced() + wakeReaders()
    }

    /// Looks away from the version until a complete answer of the origin takes its place: the origin contradicted it once.
    ///
    /// What the index has stays there; a session that opens it again may find that the contradiction was of the moment.
    mutating func suspendVersion() -> [SessionAction] {
        guard let generation = version?.generation else { return [] }
        return [.forgotten(generation)] + forgetVersion()
    }

    /// What the fetches of another version have in memory belongs to nobody: it is neither stored nor waited for.
    private mutating func forgetRetiredFetches() {
        fetches.removeAll { !$0.isOwn && $0.phase == .draining && $0.generation != version?.generation }
    }

    // MARK: Bodies

    /// What to do with body bytes that are offered.
    package enum Intake: Hashable, Sendable {
        /// Keep `count` of them, which belong at `offset`.
        case keep(at: Int64, count: Int)
        /// Leave out the first `count`: they are stored already, or come before what was asked.
        case drop(Int)
        /// Take none of this call's bytes; `.resume` follows.
        case pause
        /// Nothing more is wanted.
        case enough
    }

    /// Decides about up to `available` bytes that came next. `isFirst` at the beginning of a call of the transport:
    /// only there may it be told to pause.
    package mutating func intake(_ id: FetchID, available: Int, isFirst: Bool, now: MonotonicInstant) -> Intake {
        guard let index = fetches.firstIndex(where: { $0.id == id }), fetches[index].phase == .receiving else { return .enough }
        let fetch = fetches[index]
        if fetch.skip > 0 {
            let count = Int(min(fetch.skip, Int64(available)))
            fetches[index].skip -= Int64(count)
            return .drop(count)
        }
        if let upper = fetch.upper, fetch.front >= upper { return .enough }
        if isFirst, demand(of: fetch) ?? fetch.front <= fetch.front {
            fetches[index].isPaused = true
            return .pause
        }
        var count = min(Int64(available), (fetch.upper ?? .max) - fetch.front)
        if fetch.isRelay, let distance = distanceToNextReader(of: fetch), distance > 0 {
            // Nobody stands here: a relay keeps nothing for later.
            fetches[index].front += min(count, distance)
            fetches[index].released = fetches[index].front
            notePassed(index)
            return .drop(Int(min(count, distance)))
        }
        if !fetch.isRelay, let version {
            if let run = version.stored.prefix(from: fetch.front, upTo: fetch.front + count) { return skip(run, index) }
            if let next = version.stored.firstRange(atOrAfter: fetch.front) { count = min(count, next.lowerBound - fetch.front) }
            // A whole body passes what an earlier fetch brought and the disk does not have yet.
            for other in fetches where other.id != id && !other.isRelay && !other.isOwn {
                guard let remembered = other.firstRemembered(from: fetch.front) else { continue }
                if remembered == fetch.front {
                    return skip(ByteRange(lower: fetch.front, upper: min(other.runEnd(from: fetch.front), fetch.front + count)), index)
                }
                count = min(count, remembered - fetch.front)
            }
        }
        fetches[index].front += count
        fetches[index].isPaused = false
        fetches[index].waitsForBuffer = false
        if fetch.isRelay { notePassed(index) }
        failuresInARow = 0
        return .keep(at: fetch.front, count: Int(count))
    }

    /// What is passed on leaves no other trace.
    private mutating func notePassed(_ index: Int) {
        guard let version, !fetches[index].isOwn, fetches[index].generation == version.generation else { return }
        self.version?.passedEnd = max(version.passedEnd, fetches[index].front)
    }

    private mutating func skip(_ run: ByteRange, _ index: Int) -> Intake {
        fetches[index].front = run.upperBound
        fetches[index].isPaused = false
        fetches[index].waitsForBuffer = false
        if fetches[index].released == run.lowerBound {
            fetches[index].released = run.upperBound
        } else {
            fetches[index].skipped.insert(run)
        }
        return .drop(Int(run.count))
    }

    /// How far before the first of its readers a relay is; nil or 0 when one of them reads from its memory.
    private func distanceToNextReader(of fetch: Fetch) -> Int64? {
        let positions = readers.filter { draws($0, from: fetch) && window(of: $0) != nil && fetch.serves($0.position) }.map(\.position)
        guard let first = positions.min() else { return nil }
        return max(0, first - fetch.front)
    }

    /// No buffer is free: the same bytes will be offered again.
    package mutating func pausedForBuffer(_ id: FetchID) {
        guard let index = fetches.firstIndex(where: { $0.id == id }) else { return }
        fetches[index].isPaused = true
        fetches[index].waitsForBuffer = true
    }

    /// Bytes came; those who waited for them are woken.
    package mutating func batchEnded(_ id: FetchID, now: MonotonicInstant) -> [SessionAction] {
        guard let fetch = fetches.first(where: { $0.id == id }) else { return [] }
        let elapsed = now - fetch.startedAt - (pace.firstByte ?? 0)
        if elapsed > .milliseconds(5), fetch.front - fetch.start > 65_536, !fetch.isPaused {
            pace.bytesPerSecond = Int64(Double(fetch.front - fetch.start) / (Double(elapsed) / 1e9))
        }
        var actions = wakeReaders()
        if let limit = rules.maxResourceBytes, !fetch.isRelay, fetch.front > limit, let generation = fetch.generation {
            // Its length was not told, and now it is known to be too much.
            actions += storeFailed(generation, .tooLarge(limit: limit), now: now)
        }
        if fetch.isRelay { actions += releaseRelays() }
        let hasAll = fetch.upper.map { fetch.front >= $0 } ?? false
        // What a policy wanted after its reader left has come: from now on nobody wants the fetch.
        let isUnwanted = readers.isEmpty && fetch.lingersSince == nil && demand(of: fetch) == nil
        if fetch.isRelay || hasAll || isUnwanted { actions += replan(now: now) }
        return actions
    }

    // MARK: Ends

    /// The transfer is over, by itself; `error` nil when the body was complete as its framing says.
    package mutating func finished(_ id: FetchID, error: OriginError?, now: MonotonicInstant) -> [SessionAction] {
        guard let index = fetches.firstIndex(where: { $0.id == id }), fetches[index].phase != .draining else { return [] }
        let fetch = fetches[index]
        if fetch.isOwn { return ownFinished(index, error: error, now: now) }
        if fetch.isValidation { return validationFailed(fetch, error ?? .truncated(afterBytes: 0), now: now) }
        var failure = error
        if fetch.phase == .receiving, let upper = fetch.upper, fetch.front >= upper {
            // Everything that is wanted came; how the transfer ended after it does not matter.
            failure = nil
        } else if error == nil, let end = fetch.servedEnd ?? version?.representation.length, fetch.front < min(end, fetch.upper ?? end) {
            failure = .truncated(afterBytes: fetch.front - fetch.start)
        }
        let end = knownEnd
        fetches[index].drain()
        fetches.removeAll { $0.isDrained }
        var actions: [SessionAction] = [.ended(id, failure)]
        if failure == nil, fetch.phase == .receiving, fetch.upper == nil, version?.representation.length == nil {
            actions += end > fetch.front ? suspendVersion() : learn(fetch.front)
        }
        if failure != nil, fetch.phase == .receiving, version?.isCombinable == false { version?.brokenBy = failure }
        if let failure { fetchFailed(fetch, failure, now: now) }
        return actions + releaseRelays() + wakeReaders() + replan(now: now)
    }

    /// Waits; or has not come to it yet, while the request for a resource that nobody knows was made for it already.
    func isAsking(_ reader: Reader) -> Bool {
        (reader.waitsFor != .nothing && !waitsForVerification(reader)) || (version == nil && reader.wantsBytes && !reader.onlyStored)
    }

    private mutating func failReaders(from offset: Int64, _ error: OriginError) {
        for index in readers.indices
        where readers[index].failure == nil && !isApart(readers[index]) && isAsking(readers[index]) && readers[index].position >= offset {
            readers[index].failure = .origin(error)
        }
    }

    // MARK: The store

    /// `range` was written; below `remaining` nothing of the fetch is in memory any more.
    package mutating func wrote(
        _ range: ByteRange, of generation: GenerationID, by id: FetchID, remaining: Int64, now: MonotonicInstant
    ) -> [SessionAction] {
        var discards: [SessionAction] = []
        if version?.generation == generation {
            version?.stored.insert(range)
            discards = dropShortestRuns(sparing: range)
        }
        if let index = fetches.firstIndex(where: { $0.id == id }) {
            // A write before it failed and stays in memory: this one has left it.
            fetches[index].skipped.insert(range)
            fetches[index].released = max(fetches[index].released, min(remaining, fetches[index].front))
            fetches[index].dropReleasedSkips()
            if fetches[index].isDrained {
                fetches.remove(at: index)
                return discards + wakeReaders() + replan(now: now)
            }
        }
        return discards + wakeReaders()
    }

    /// The store can't take bytes of this generation: its fetches go on as relays.
    package mutating func storeFailed(_ generation: GenerationID, _ reason: PassReason, now: MonotonicInstant) -> [SessionAction] {
        guard version?.generation == generation, version?.passReason == nil else { return [] }
        version?.passReason = reason
        goal = nil
        for index in fetches.indices { fetches[index].isRelay = true }
        fetches.removeAll(where: \.isDrained)
        return [.passing(reason)] + releaseRelays() + replan(now: now)
    }

    /// Stored bytes turned out to be gone or damaged: they are a gap again.
    package mutating func lost(_ range: ByteRange, of generation: GenerationID, now: MonotonicInstant) -> [SessionAction] {
        guard version?.generation == generation else { return [] }
        version?.forget(ByteRangeSet([range]))
        return replan(now: now)
    }

    /// The resource was removed or the cache closed: readers end, fetches stop.
    package mutating func end(_ failure: ReadFailure) -> [SessionAction] {
        if case .ended = phase { return [] }
        goal = nil
        let actions = cancelFetches { _ in true }
        phase = .ended(failure)
        if failure == .removed {
            version = nil
            forgetRetiredFetches()
        }
        for index in readers.indices where readers[index].failure == nil { readers[index].failure = failure }
        return actions + wakeReaders()
    }
}
