// Events of the origin and the store: the index, heads, bodies, ends of transfers, and writes.

extension SessionStateMachine {
    // MARK: The index

    /// Handles the result of the index lookup: the stored version, or nil.
    ///
    /// - Parameter unverified: the stored bytes that have to be compared with their checksums
    ///   before their first use.
    /// - Parameter passReason: the reason why nothing may be stored, or nil.
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
            // Two kinds of stored versions are unusable: one that an earlier process left
            // unfinished, and one from before lengths were bounded, with bytes beyond the bound.
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

    /// Handles the head of a response: confirms or replaces the version, prepares for the body, or
    /// ends the fetch.
    ///
    /// - Parameter newGeneration: the generation to use if the response is of another version than
    ///   the current one.
    /// - Parameter passReason: a reason of the shell not to store the body, or nil.
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

    /// The head of a response, its times, and the decisions about it so far.
    struct Arrival {
        /// The status and fields.
        var head: ResponseHead
        /// When the request was sent.
        var requestTime: Timestamp
        /// When the head arrived.
        var responseTime: Timestamp
        /// The generation to use if the response is of another version.
        var newGeneration = GenerationID(rawValue: 0)
        /// The reason not to store the body, or nil.
        var passReason: PassReason?
        /// Whether the head states a length or a last position beyond `ByteRange.maximumOffset`.
        var isEndless = false

        /// Whether `Content-Length` confirms that the body is the part `served`.
        ///
        /// This matters when another part was requested. A length that fits neither part may belong
        /// to the requested one, and then `Content-Range` may be the wrong field.
        func agrees(with served: ByteRange) -> Bool {
            head.fields.values(of: "Content-Length").allSatisfy { $0 == String(served.count) }
        }

        /// The representation that this head describes, with the given complete length.
        func representation(length: Int64?) -> Representation {
            Representation(
                length: length, validator: Validator(fields: head.fields), fields: storedFields(of: head.fields),
                requestTime: requestTime, responseTime: responseTime)
        }
    }

    /// Handles a 206: confirms the version, adopts another one, or binds the response to its
    /// reader.
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
        // `adopt` may have ended other fetches, which changes the index of this one. It may also
        // have ended this one, by a length that ends before its bytes.
        guard let index = fetches.firstIndex(where: { $0.id == fetch.id }) else { return actions + wakeReaders() + replan(now: now) }
        fetches[index].skip = fetch.start - served.lowerBound
        // Where a part reaches beyond the bound, its end is not known.
        if !arrival.isEndless {
            fetches[index].servedEnd = served.upperBound
            fetches[index].upper = min(fetches[index].upper ?? served.upperBound, served.upperBound)
        }
        // A fetch that began as a relay lies beside the leases of others. It stores only if it
        // brings a version of its own.
        let isNews = version?.generation == arrival.newGeneration
        fetches[index].isRelay = (fetch.isRelay && !isNews) || (fetches[index].isOwn && !isNews) || !mayStore(index, from: fetch.start)
        bindAsker(index, candidate, arrival)
        return actions + accepted(index, now: now)
    }

    /// Handles a 200: confirms the version, adopts another one, or binds the response to its
    /// reader.
    private mutating func fullReceived(_ index: Int, length: Int64?, _ arrival: Arrival, now: MonotonicInstant) -> [SessionAction] {
        if let actions = sameVersionReceived(index, arrival, length: length, isWhole: true, now: now) { return actions }
        becomesOrdinary(index)
        let fetch = fetches[index]
        // The whole body begins at 0. It is worth storing, and readers of later bytes wait for them
        // (RFC 9110 §14.2).
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
        // The lease of this fetch is the whole resource. Relays beside it serve readers with
        // responses of their own.
        if !fetches[index].isRelay { actions += cancelFetches { $0.id != fetch.id && !$0.isOwn } }
        guard let index = fetches.firstIndex(where: { $0.id == fetch.id }) else { return actions + wakeReaders() }
        return actions + accepted(index, now: now)
    }

    /// Turns a conditional request that brings bytes into an ordinary fetch: its lease begins.
    private mutating func becomesOrdinary(_ index: Int) {
        if fetches[index].isValidation { fetches[index].upper = fetches[index].namedEnd }
    }

    /// Whether the body of this fetch may be stored: the version permits it, and either its
    /// responses can be combined or no other fetch stores.
    private func mayStore(_ index: Int, from offset: Int64) -> Bool {
        guard let version, !fetches[index].storesNothing, version.storesResponse(from: offset) else { return false }
        return version.isCombinable || !fetches.indices.contains { $0 != index && !fetches[$0].isRelay && !fetches[$0].isOwn }
    }

    /// Handles a 416: learns the length, fails the readers beyond it, or stops serving the version.
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
                // The origin contradicts itself: the range must exist if the resource does. Ask
                // again without a range, which forces a clear answer.
                asksPlainly = true
            } else {
                failReaders(from: 0, .status(arrival.head))
            }
            return actions + wakeReaders() + replan(now: now)
        }
        switch (version.representation.length, length) {
        case (nil, let length?) where fetch.start >= length && knownEnd == length && length > 0:
            // A fetch reached exactly this end, so the length is certain. Without any byte, the
            // length 0 may be that of another version.
            actions += learn(length)
        case (nil, let length?) where fetch.start >= length && knownEnd < length:
            // The 416 names a length, but no fetch has reached that end yet. Fail the readers
            // beyond it. The others read on and discover the real end.
            failReaders(from: length, .rangeNotSatisfiable(length: length))
            backOff(after: .rangeNotSatisfiable(length: length), now: now)
        default:
            // The resource was longer before. One contradiction deletes nothing: the next request
            // is unconditional.
            actions += suspendVersion()
        }
        return actions + wakeReaders() + replan(now: now)
    }

    /// Accepts the head: the fetch now receives bytes of its version.
    private mutating func accepted(_ index: Int, now: MonotonicInstant) -> [SessionAction] {
        fetches[index].phase = .receiving
        fetches[index].generation = fetches[index].ownGeneration ?? version?.generation
        return wakeReaders() + replan(now: now)
    }

    /// Makes the response's version the current one, or confirms that it already is.
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
        // A revalidation was answered with a body that is useful as well.
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

    /// Sets the length of the current version, and ends or clips the fetches beyond it.
    mutating func learn(_ length: Int64) -> [SessionAction] {
        version?.representation.length = length
        let actions = cancelFetches { !$0.isOwn && $0.start >= length && $0.front >= length }
        for index in fetches.indices where !fetches[index].isOwn { fetches[index].upper = min(fetches[index].upper ?? length, length) }
        return [.representationUpdated] + actions
    }

    /// Makes `representation` the current version.
    ///
    /// Wakes only the readers that have prepared for the old version and wait for bytes. The caller
    /// wakes the others once it has set up what the fetch brings.
    mutating func replaceVersion(by representation: Representation, _ arrival: Arrival, _ fetch: Fetch) -> [SessionAction] {
        // A version of which no byte came is not replaced in the store: only its head was known.
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

    /// Drops the current version: its fetches end, and the readers that have committed to it fail.
    mutating func forgetVersion() -> [SessionAction] {
        let ended = cancelFetches { !$0.isOwn }
        version = nil
        forgetRetiredFetches()
        return ended + versionReplaced() + wakeReaders()
    }

    /// Stops serving the version until a complete response of the origin takes its place, because
    /// the origin contradicted it once.
    ///
    /// Its index entry stays. A session that opens it later may find that the contradiction was
    /// temporary.
    mutating func suspendVersion() -> [SessionAction] {
        guard let generation = version?.generation else { return [] }
        return [.forgotten(generation)] + forgetVersion()
    }

    /// Removes the drained memory of fetches of other versions: it is neither stored nor waited
    /// for.
    private mutating func forgetRetiredFetches() {
        fetches.removeAll { !$0.isOwn && $0.phase == .draining && $0.generation != version?.generation }
    }

    // MARK: Bodies

    /// The offset at which the body of a fetch ends according to its own head; nil when the head
    /// does not state it.
    package func servedEnd(of id: FetchID) -> Int64? { fetches.first { $0.id == id }?.servedEnd }

    /// The decision about offered body bytes.
    package enum Intake: Hashable, Sendable {
        /// Keep `count` bytes, which belong at `offset`.
        case keep(at: Int64, count: Int)
        /// Skip the first `count` bytes: they are already stored, or lie before the requested
        /// offset.
        case drop(Int)
        /// Take no byte of this call; `.resume` follows.
        case pause
        /// End the transfer: its lease is complete, or the fetch is over.
        case enough
    }

    /// Decides about the next `available` body bytes or fewer.
    ///
    /// - Parameter isFirst: whether these are the first bytes of a call of the transport. Only then
    ///   may the answer be `.pause`.
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
            // No reader is at the front, and a relay keeps nothing for later.
            fetches[index].front += min(count, distance)
            fetches[index].released = fetches[index].front
            notePassed(index)
            return .drop(Int(min(count, distance)))
        }
        if !fetch.isRelay, let version {
            if let run = version.stored.prefix(from: fetch.front, upTo: fetch.front + count) { return skip(run, index) }
            if let next = version.stored.firstRange(atOrAfter: fetch.front) { count = min(count, next.lowerBound - fetch.front) }
            // A whole body skips bytes that an earlier fetch has in memory and that are not on disk
            // yet.
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

    /// Records how far a relay has come, because passed bytes leave no other trace.
    private mutating func notePassed(_ index: Int) {
        guard let version, !fetches[index].isOwn, fetches[index].generation == version.generation else { return }
        self.version?.passedEnd = max(version.passedEnd, fetches[index].front)
    }

    /// Moves the front of the fetch past `run`, whose bytes are not needed from it.
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

    /// The distance from the front of a relay to the first of its readers.
    /// - Returns: 0 if a reader is at or behind the front, or nil if the relay has no reader.
    private func distanceToNextReader(of fetch: Fetch) -> Int64? {
        let positions = readers.filter { draws($0, from: fetch) && window(of: $0) != nil && fetch.serves($0.position) }.map(\.position)
        guard let first = positions.min() else { return nil }
        return max(0, first - fetch.front)
    }

    /// Pauses the fetch because no buffer is free. The same bytes will be offered again.
    package mutating func pausedForBuffer(_ id: FetchID) {
        guard let index = fetches.firstIndex(where: { $0.id == id }) else { return }
        fetches[index].isPaused = true
        fetches[index].waitsForBuffer = true
    }

    /// Ends one batch of bytes, and wakes the readers that waited for them.
    package mutating func batchEnded(_ id: FetchID, now: MonotonicInstant) -> [SessionAction] {
        guard let fetch = fetches.first(where: { $0.id == id }) else { return [] }
        let elapsed = now - fetch.startedAt - (pace.firstByte ?? 0)
        if elapsed > .milliseconds(5), fetch.front - fetch.start > 65_536, !fetch.isPaused {
            pace.bytesPerSecond = Int64(Double(fetch.front - fetch.start) / (Double(elapsed) / 1e9))
        }
        var actions = wakeReaders()
        if let limit = rules.maxResourceBytes, !fetch.isRelay, fetch.front > limit, let generation = fetch.generation {
            // The origin stated no length, and the body has now exceeded the limit.
            actions += storeFailed(generation, .tooLarge(limit: limit), now: now)
        }
        if fetch.isRelay { actions += releaseRelays() }
        let hasAll = fetch.upper.map { fetch.front >= $0 } ?? false
        // The bytes of the goal may have come after its reader left. From now on nothing needs the
        // fetch.
        let isUnwanted = readers.isEmpty && fetch.lingersSince == nil && demand(of: fetch) == nil
        if fetch.isRelay || hasAll || isUnwanted { actions += replan(now: now) }
        return actions
    }

    // MARK: Ends

    /// Handles the end of a transfer.
    /// - Parameter error: nil if the body was complete by its framing.
    package mutating func finished(_ id: FetchID, error: OriginError?, now: MonotonicInstant) -> [SessionAction] {
        guard let index = fetches.firstIndex(where: { $0.id == id }), fetches[index].phase != .draining else { return [] }
        let fetch = fetches[index]
        if fetch.isOwn { return ownFinished(index, error: error, now: now) }
        if fetch.isValidation { return validationFailed(fetch, error ?? .truncated(afterBytes: 0), now: now) }
        var failure = error
        if fetch.phase == .receiving, let upper = fetch.upper, fetch.front >= upper {
            // All bytes of the lease came. How the transfer ended after them does not matter.
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

    /// Whether the reader depends on a request now. It waits for a byte or a version; or the
    /// version is not known, and the request that discovers it is made for this reader, too.
    func isAsking(_ reader: Reader) -> Bool {
        (reader.waitsFor != .nothing && !waitsForVerification(reader)) || (version == nil && reader.wantsBytes && !reader.onlyStored)
    }

    /// Fails the readers at or beyond `offset` that depend on a request.
    private mutating func failReaders(from offset: Int64, _ error: OriginError) {
        for index in readers.indices
        where readers[index].failure == nil && !isApart(readers[index]) && isAsking(readers[index]) && readers[index].position >= offset {
            readers[index].failure = .origin(error)
        }
    }

    // MARK: The store

    /// Moves `range` from the memory of the fetch to the stored bytes of the version.
    /// - Parameter remaining: the lowest offset of the fetch that is still in memory.
    package mutating func wrote(
        _ range: ByteRange, of generation: GenerationID, by id: FetchID, remaining: Int64, now: MonotonicInstant
    ) -> [SessionAction] {
        var discards: [SessionAction] = []
        if version?.generation == generation {
            version?.stored.insert(range)
            discards = dropShortestRuns(sparing: range)
        }
        if let index = fetches.firstIndex(where: { $0.id == id }) {
            // An earlier write may have failed, and its bytes stay in memory. The bytes of this
            // write have left it.
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

    /// Turns the fetches of this generation into relays, because the store cannot take its bytes.
    package mutating func storeFailed(_ generation: GenerationID, _ reason: PassReason, now: MonotonicInstant) -> [SessionAction] {
        guard version?.generation == generation, version?.passReason == nil else { return [] }
        version?.passReason = reason
        goal = nil
        for index in fetches.indices { fetches[index].isRelay = true }
        fetches.removeAll(where: \.isDrained)
        return [.passing(reason)] + releaseRelays() + replan(now: now)
    }

    /// Turns stored bytes that are gone or damaged into a gap.
    package mutating func lost(_ range: ByteRange, of generation: GenerationID, now: MonotonicInstant) -> [SessionAction] {
        guard version?.generation == generation else { return [] }
        version?.forget(ByteRangeSet([range]))
        return replan(now: now)
    }

    /// Ends the session because the resource was removed or the cache closed: readers fail and
    /// fetches stop.
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
