/// The end of a transfer, and the error of it; nil if the body was complete by its framing.
///
/// `apply` ends the fetch and decides for each of its readers whether it fails or waits for another
/// attempt.
struct FetchEnd {
    let id: FetchID
    let error: OriginError?
    /// The time of the response whose status is the error; nil when there is none.
    var responseTime: Timestamp?

    func apply(to session: inout SessionState, now: MonotonicInstant) -> [SessionAction] {
        guard let index = session.index(of: id), !session.fetches[index].isDraining else { return [] }
        let fetch = session.fetches[index]
        if fetch.isClosing {
            // That is no failure. A reader that came meanwhile gets a request of its own.
            drain(index, &session)
            return [.ended(id, nil)] + session.wakeReaders() + session.replan(now: now)
        }
        if fetch.isValidation { return failValidation(fetch, error ?? .truncated(afterBytes: 0), &session, now: now) }
        let body = fetch.isOwn ? fetch.generation.flatMap { session.version(of: $0) } : session.version
        let failure = fetch.failure(error, expectedEnd: fetch.servedEnd ?? body?.representation.length)
        let knownEnd = FetchPlanner.knownEnd(session)
        drain(index, &session)
        var actions: [SessionAction] = [.ended(id, failure)]
        if let failure {
            Self.giveLeaseBack(of: fetch, in: &session)
            if let body, fetch.isReceiving, fetch.isOwn || !body.isCombinable { session.change(body.generation) { $0.brokenBy = failure } }
            session.backOff(after: failure, now: now)
            if fetch.isOwn { failApart(fetch, failure, &session) } else { fail(fetch, failure, &session) }
        } else if fetch.isReceiving, fetch.upper == nil, let body, body.representation.length == nil {
            if fetch.isOwn {
                endApart(fetch, body.generation, &session)
            } else {
                actions += knownEnd > fetch.front ? session.suspendVersion() : session.learn(fetch.front, byClose: fetch.endsByClose)
            }
        }
        return actions + session.releaseRelays() + session.wakeReaders() + session.replan(now: now)
    }

    private func drain(_ index: Int, _ session: inout SessionState) {
        session.fetches[index].drain()
        session.fetches.removeAll { $0.isDrained }
    }

    /// Lets the running fetch whose lease ends where `fetch` began go on, because `fetch` brings none
    /// of the bytes that it asked for.
    static func giveLeaseBack(of fetch: FetchState, in session: inout SessionState) {
        let before = session.fetches.firstIndex { $0.id != fetch.id && $0.isReceiving && !$0.isRelay && $0.upper == fetch.start }
        guard fetch.front == fetch.start, let before else { return }
        let rest = FetchPlanner.Request(lower: session.fetches[before].front, upper: session.fetches[before].servedEnd)
        session.fetches[before].takeLeaseBack(upTo: FetchPlanner.clippedEnd(of: rest, session))
    }

    // MARK: Failed fetches

    /// Handles the failure of a fetch: decides for each of its readers whether it fails or waits.
    private func fail(_ fetch: FetchState, _ error: OriginError, _ session: inout SessionState) {
        // A reader in the middle of its bytes waits for a retry. A reader without a byte fails at
        // once, as it would without a cache, because its client can still react. The client of the
        // AVFoundation door can't, so that door retries by itself.
        let arrived = fetch.front != fetch.start
        // A malformed response may come from one server of many, so each reader gets one more
        // attempt. A request from offset 0 on names no range in the next attempt, in case the
        // server fails on ranges.
        let isMalformed = if case .malformed = error { true } else { false }
        if isMalformed, session.version == nil, fetch.start == 0 { session.origin.omitsRange = true }
        for index in session.readers.indices where concerns(fetch, session.readers[index], session.version) {
            if error.refuses(fetch, instead: session.readers[index]) { continue }
            let patience = session.readers[index].patience
            let isPatient = patience.hasProgress || arrived || (isMalformed && patience.failures == 0)
            if !isPatient || !session.readers[index].patience.waits(after: error, of: fetch, session.limits) {
                session.readers[index].failure = .origin(error)
            }
        }
    }

    // MARK: Refusals of a second connection

    /// Whether readers wait for `fetch` that have no byte and have survived no failure.
    static func mayAskAgain(_ fetch: FetchState, _ session: SessionState) -> Bool {
        fetch.isRequested && !fetch.isValidation
            && session.readers.contains { reader in
                FetchEnd(id: fetch.id, error: nil).concerns(fetch, reader, session.version) && reader.patience.failures == 0
                    && !reader.patience.hasProgress
            }
    }

    /// Ends the fetch, and lets its readers ask again after the shortest pause.
    func askAgain(in session: inout SessionState, now: MonotonicInstant) -> [SessionAction] {
        guard let error, let index = session.index(of: id) else { return [] }
        let fetch = session.fetches[index]
        drain(index, &session)
        session.backOff(after: error, now: now)
        for reader in session.readers.indices where concerns(fetch, session.readers[reader], session.version) {
            session.readers[reader].patience.failures += 1
            if session.readers[reader].isApart { session.readers[reader].unbind(session.version) }
        }
        return [.ended(id, error)] + session.releaseRelays() + session.replan(now: now)
    }

    /// Whether the reader depends on the fetch that failed.
    private func concerns(_ fetch: FetchState, _ reader: ReaderState, _ version: SessionVersion?) -> Bool {
        guard reader.failure == nil, reader.isAsking(in: version) else { return false }
        guard reader.draws(from: fetch) else { return false }
        if fetch.isRelay, version != nil { return fetch.serves(reader.position) }
        return version == nil || reader.position == fetch.start || fetch.leases(reader.position)
    }

    // MARK: Bodies apart

    /// Handles the end of a body apart whose length was not known.
    private func endApart(_ fetch: FetchState, _ generation: GenerationID, _ session: inout SessionState) {
        session.change(generation) { $0.representation.length = fetch.front }
        // Such a body may end before its reader's first byte. Then it has no such byte. The reader of a
        // page reads it from the beginning, wherever its request began.
        for reader in session.readers.indices
        where session.readers[reader].draws(from: fetch) && fetch.front < session.readers[reader].boundAt {
            session.readers[reader].failure = .origin(.rangeNotSatisfiable(length: fetch.front))
        }
    }

    /// Handles the failure of a body apart. No other response can continue it. A reader that used
    /// no byte of it may request another.
    private func failApart(_ fetch: FetchState, _ error: OriginError, _ session: inout SessionState) {
        for index in session.readers.indices where session.readers[index].draws(from: fetch) {
            let reader = session.readers[index]
            guard reader.position == reader.boundAt, fetch.front == fetch.start, session.body(of: reader)?.stored.isEmpty != false else {
                continue
            }
            if reader.patience.hasProgress, session.readers[index].patience.waits(after: error, of: fetch, session.limits) {
                session.readers[index].unbind(session.version)
            } else {
                session.readers[index].failure = .origin(error)
            }
        }
    }

    // MARK: Revalidations

    /// Handles the failure of a revalidation. Readers whose rules permit it use the version
    /// unconfirmed; the others fail.
    private func failValidation(
        _ fetch: FetchState, _ error: OriginError, _ session: inout SessionState, now: MonotonicInstant
    ) -> [SessionAction] {
        session.fetches.removeAll { $0.id == fetch.id }
        session.backOff(after: error, now: now)
        var actions: [SessionAction] = [.ended(fetch.id, error)]
        if let version = session.version, version.generation == fetch.revalidates {
            for index in session.readers.indices where session.readers[index].awaitsOrigin && session.readers[index].failure == nil {
                if error.refuses(fetch, instead: session.readers[index]) { continue }
                if session.ledger.serves(after: error), session.readers[index].mayDoWithoutOrigin {
                    actions.append(.usedUnvalidated(error))
                    session.trust(index)
                    session.play.giveUp()
                } else {
                    session.readers[index].failure = .origin(error)
                }
            }
            actions += VersionDoubt.refused(&session, by: error, to: fetch, at: responseTime)
        }
        return actions + session.wakeReaders() + session.replan(now: now)
    }
}
