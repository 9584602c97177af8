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
        if fetch.isOwn { return endOwn(fetch, &session, now: now) }
        if fetch.isValidation { return failValidation(fetch, error ?? .truncated(afterBytes: 0), &session, now: now) }
        let failure = fetch.failure(error, expectedEnd: fetch.servedEnd ?? session.version?.representation.length)
        let knownEnd = FetchPlanner.knownEnd(session)
        drain(index, &session)
        var actions: [SessionAction] = [.ended(id, failure)]
        if let failure {
            if fetch.isReceiving, session.version?.isCombinable == false { session.ledger.version?.brokenBy = failure }
            fail(fetch, failure, &session, now: now)
        } else if fetch.isReceiving, fetch.upper == nil, session.version?.representation.length == nil {
            actions += knownEnd > fetch.front ? session.suspendVersion() : session.learn(fetch.front, byClose: fetch.endsByClose)
        }
        return actions + session.releaseRelays() + session.wakeReaders() + session.replan(now: now)
    }

    private func drain(_ index: Int, _ session: inout SessionState) {
        session.fetches[index].drain()
        session.fetches.removeAll { $0.isDrained }
    }

    // MARK: Failed fetches

    /// Handles the failure of a fetch: backs off, and decides for each of its readers whether it
    /// fails or waits.
    private func fail(_ fetch: FetchState, _ error: OriginError, _ session: inout SessionState, now: MonotonicInstant) {
        session.backOff(after: error, now: now)
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
            if session.readers[reader].isBound(to: id) { session.readers[reader].unbind(session.version) }
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

    // MARK: Own responses

    /// Handles the end of the transfer of a reader's own response.
    private func endOwn(_ fetch: FetchState, _ session: inout SessionState, now: MonotonicInstant) -> [SessionAction] {
        let failure = fetch.failure(error, expectedEnd: fetch.servedEnd)
        if let index = session.index(of: fetch.id) { drain(index, &session) }
        if let reader = session.readers.firstIndex(where: { $0.isBound(to: fetch.id) }) {
            if failure == nil, fetch.servedEnd == nil, fetch.front < fetch.start {
                // A body of unknown length ended before the reader's first byte: this response has
                // no such byte.
                session.readers[reader].failure = .origin(.rangeNotSatisfiable(length: fetch.front))
            } else if let failure {
                failOwn(reader, fetch, failure, &session, now: now)
            } else if fetch.servedEnd == nil, fetch.upper == nil {
                session.readers[reader].learnOwnLength(fetch.front)
            }
        } else if let failure {
            if let generation = fetch.generation { session.change(generation) { $0.brokenBy = failure } }
            session.backOff(after: failure, now: now)
        } else if fetch.servedEnd == nil, fetch.upper == nil {
            for reader in session.readers.indices where session.readers[reader].pastGeneration == fetch.generation {
                session.readers[reader].learnOwnLength(fetch.front)
            }
        }
        return [.ended(fetch.id, failure)] + session.releaseRelays() + session.wakeReaders() + session.replan(now: now)
    }

    /// Handles the failure of a reader's own response. No other response can continue it. A reader
    /// that used no byte of it may request another.
    private func failOwn(
        _ index: Int, _ fetch: FetchState, _ error: OriginError, _ session: inout SessionState, now: MonotonicInstant
    ) {
        session.backOff(after: error, now: now)
        let reader = session.readers[index]
        session.readers[index].brokenBy = error
        guard reader.position == reader.boundAt, fetch.front == fetch.start else { return }
        if reader.patience.hasProgress, session.readers[index].patience.waits(after: error, of: fetch, session.limits) {
            session.readers[index].unbind(session.version)
        } else {
            session.readers[index].failure = .origin(error)
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
