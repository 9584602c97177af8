/// The view that a reader has of the session: the bytes at its position, and whether its wait is
/// over. Each function is pure.
enum ReaderView {
    /// Returns the bytes, the end or the failure at the reader's position, at most `max` bytes.
    /// - Returns: nil if there is nothing yet.
    static func look(_ reader: ReaderState, max: Int64, _ session: SessionState) -> SessionStep? {
        if let failure = reader.failure { return .failed(failure) }
        if let end = reader.end, reader.position >= end { return .end }
        guard session.phase == .ready else { return nil }
        if reader.isApart {
            guard let response = reader.ownResponse else { return nil }
            let limit = min(reader.end ?? .max, reader.position.addingClamped(max))
            if let length = response.representation.length, reader.position >= length { return .end }
            if case .own(let id, _) = reader.source { return look(reader, id, limit: limit, session) }
            return lookAtPast(reader, response.generation, limit: limit, session)
        }
        guard let version = session.ledger.version else { return nil }
        if !version.isCombinable, reader.source == .undecided, reader.isNews(version) { return nil }
        if let length = version.representation.length, reader.position >= length { return .end }
        // The source of this reader's bytes is not decided yet, so these may belong to another
        // response than its own.
        if !version.isCombinable, reader.source == .undecided, !reader.onlyStored { return nil }
        let limit = min(reader.end ?? .max, reader.position.addingClamped(max))
        if let run = version.stored.prefix(from: reader.position, upTo: limit) {
            return version.verifiedPart(of: run).map(SessionStep.stored)
        }
        for fetch in session.fetches where !fetch.isOwn && fetch.generation == version.generation && fetch.remembers(reader.position) {
            if let range = ByteRange(reader.position, min(limit, fetch.runEnd(from: reader.position))) { return .memory(fetch.id, range) }
        }
        return nil
    }

    /// Whether every byte of the version is stored or in the memory of a fetch.
    static func hasWhole(_ version: SessionVersion, _ session: SessionState) -> Bool {
        version.representation.length.map { has(0, upTo: $0, version, session) } ?? false
    }

    /// Whether every byte of `[lower, upper)` is stored or in the memory of a fetch of the version.
    static func has(_ lower: Int64, upTo upper: Int64, _ version: SessionVersion, _ session: SessionState) -> Bool {
        var position = lower
        while position < upper {
            if let run = version.stored.prefix(from: position, upTo: upper) {
                position = run.upperBound
                continue
            }
            let fetch = session.fetches.first { !$0.isOwn && $0.generation == version.generation && $0.remembers(position) }
            guard let fetch else { return false }
            position = fetch.runEnd(from: position)
        }
        return true
    }

    /// Whether a reader that moves to `[start, end)` stays with its present source.
    static func goesOn(_ reader: ReaderState, at start: Int64, end: Int64?, _ session: SessionState) -> Bool {
        if reader.source == .version { return start == reader.position && end == reader.end }
        if reader.pastGeneration != nil { return true }
        // A whole response of another kind may be over already: an empty one ends with its head.
        if reader.ownResponse?.isPage == true { return start == reader.position }
        guard case .own(let id, let response) = reader.source, let fetch = session.fetches.first(where: { $0.id == id }) else {
            return false
        }
        guard fetch.serves(start), let end = end ?? response?.representation.length else {
            return fetch.serves(start) && fetch.upper == nil
        }
        return (fetch.upper ?? .max) >= end
    }

    /// The bytes, the end or the failure that the reader's own response has at its position.
    private static func look(_ reader: ReaderState, _ id: FetchID, limit: Int64, _ session: SessionState) -> SessionStep? {
        guard let fetch = session.fetches.first(where: { $0.id == id }) else {
            return .failed(.origin(reader.brokenBy ?? .truncated(afterBytes: 0)))
        }
        if fetch.remembers(reader.position), let range = ByteRange(reader.position, min(limit, fetch.runEnd(from: reader.position))) {
            return .memory(id, range)
        }
        return fetch.isDraining ? .failed(.origin(reader.brokenBy ?? .truncated(afterBytes: 0))) : nil
    }

    /// The bytes or the failure that a past version has at the reader's position. Only its stored
    /// bytes and the fetches that were running can serve the reader.
    private static func lookAtPast(
        _ reader: ReaderState, _ generation: GenerationID, limit: Int64, _ session: SessionState
    ) -> SessionStep? {
        guard let past = session.past.first(where: { $0.generation == generation }) else {
            return .failed(.origin(.representationChanged))
        }
        if let run = past.stored.prefix(from: reader.position, upTo: limit) {
            return past.verifiedPart(of: run).map(SessionStep.stored)
        }
        for fetch in session.fetches where reader.draws(from: fetch) && fetch.remembers(reader.position) {
            if let range = ByteRange(reader.position, min(limit, fetch.runEnd(from: reader.position))) { return .memory(fetch.id, range) }
        }
        let isComing = session.fetches.contains { reader.draws(from: $0) && !$0.isDraining && $0.leases(reader.position) }
        return isComing ? nil : .failed(.origin(past.brokenBy ?? .representationChanged))
    }

    // MARK: Waiting

    /// Whether the event that the reader waits for has happened.
    static func hasSomething(for reader: ReaderState, _ session: SessionState) -> Bool {
        switch reader.waitsFor {
        case .nothing: false
        case .version where reader.awaitsRetry: reader.failure != nil || (session.backOff.retryAt == nil && session.version != nil)
        case .version where reader.isApart: reader.failure != nil || reader.served(session.version) != nil
        case .version:
            reader.failure != nil
                || (session.phase == .ready && session.version != nil && (!reader.awaitsOrigin || session.ledger.isSettled(for: reader)))
        case .bytes: look(reader, max: 1, session) != nil || hasToDecide(reader, session)
        }
    }

    /// Whether the reader has committed to no version yet, so that its next step decides its
    /// source.
    private static func hasToDecide(_ reader: ReaderState, _ session: SessionState) -> Bool {
        guard session.phase == .ready, let version = session.version, !version.isCombinable else { return false }
        return reader.source == .undecided && reader.told == nil && !reader.onlyStored
    }

    /// Whether the reader needs the version together with the first byte, and that byte is the next
    /// of its fetch.
    static func awaitsFirstByte(_ reader: ReaderState, _ session: SessionState) -> Bool {
        guard reader.preparesWithFirstByte, reader.waitsFor == .version, reader.wantsBytes, look(reader, max: 1, session) == nil,
            let served = reader.served(session.version)
        else { return false }
        return session.fetches.contains { fetch in
            fetch.askedBy == reader.id && fetch.isReceiving && fetch.generation == served && fetch.skip == 0
                && !fetch.isPaused && fetch.front == reader.position && fetch.leases(reader.position)
        }
    }
}
