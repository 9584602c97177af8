/// The view that a reader has of the session: the bytes at its position, and whether its wait is
/// over. Each function is pure.
enum ReaderView {
    /// Returns the bytes, the end or the failure at the reader's position, at most `max` bytes.
    /// - Returns: nil if there is nothing yet.
    static func look(_ reader: ReaderState, max: Int64, _ session: SessionState) -> SessionStep? {
        if let failure = reader.failure { return .failed(failure) }
        if let end = reader.end, reader.position >= end { return .end }
        guard session.phase == .ready else { return nil }
        guard let body = session.body(of: reader) else { return nil }
        let isUndecided = !body.isCombinable && reader.source == .undecided
        if isUndecided, reader.isNews(body) { return nil }
        if let length = body.representation.length, reader.position >= length { return .end }
        // The source of this reader's bytes is not decided yet, so these may belong to another
        // response than its own.
        if isUndecided, !reader.onlyStored { return nil }
        let limit = min(reader.end ?? .max, reader.position.addingSaturated(max))
        if let run = body.stored.prefix(from: reader.position, upTo: limit) {
            return body.verifiedPart(of: run).map(SessionStep.stored)
        }
        for fetch in session.fetches
        where reader.draws(from: fetch) && fetch.generation == body.generation && fetch.remembers(reader.position) {
            if let range = ByteRange(reader.position, min(limit, fetch.runEnd(from: reader.position))) { return .memory(fetch.id, range) }
        }
        // No further fetch brings bytes of a body apart.
        let isComing =
            !reader.isApart || session.fetches.contains { reader.draws(from: $0) && !$0.isDraining && $0.leases(reader.position) }
        return isComing ? nil : .failed(.origin(body.brokenBy ?? .representationChanged))
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
        let body = session.body(of: reader), stays = start == reader.position && end == reader.end
        if reader.source == .version { return stays || (start == reader.position && end == body?.servedPart?.upperBound) }
        // A whole response of another kind may be over already: an empty one ends with its head.
        if body?.isPage == true { return start == reader.position }
        // A reader that has committed to a strong validator gets no bytes of another body.
        if reader.isApart, case .told(_, nil) = reader.commitment { return true }
        if reader.isApart, body?.stored.contains(start) == true { return true }
        guard reader.isApart, let fetch = session.fetches.first(where: { reader.draws(from: $0) && $0.serves(start) }) else { return false }
        guard let end = end ?? body?.representation.length else { return stays || fetch.upper == nil }
        return (fetch.upper ?? .max) >= end
    }

    // MARK: Waiting

    /// Whether the event that the reader waits for has happened.
    static func hasSomething(for reader: ReaderState, _ session: SessionState) -> Bool {
        switch reader.waitsFor {
        case .nothing: false
        case .version where reader.awaitsRetry: reader.failure != nil || (session.backOff.retryAt == nil && session.version != nil)
        case .version where reader.isApart: reader.failure != nil || session.body(of: reader) != nil
        case .version:
            reader.failure != nil
                || (session.phase == .ready && session.version != nil && (!reader.awaitsAnswer || session.ledger.isSettled(for: reader)))
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
            let served = session.body(of: reader)?.generation
        else { return false }
        return session.fetches.contains { fetch in
            fetch.askedBy == reader.id && fetch.isReceiving && fetch.generation == served && fetch.skip == 0
                && !fetch.isPaused && fetch.front == reader.position && fetch.leases(reader.position)
        }
    }
}
