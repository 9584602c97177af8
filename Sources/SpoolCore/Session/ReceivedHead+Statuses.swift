// Responses with another status than 200, 206, 304 and 416, which a consumer may pass on as they
// are.

extension ReceivedHead {
    /// Handles such a response: adopts it as the version if it may be stored and is about the
    /// resource, else passes it to the reader that asked.
    ///
    /// - Returns: the actions that follow, or nil if the reader takes no such status, or may use
    ///   stored bytes in its place. The fetch has failed then.
    func otherStatus(_ index: Int, _ session: inout SessionState, now: MonotonicInstant) -> [SessionAction]? {
        let fetch = session.fetches[index]
        let error = OriginError.status(head)
        let asker = session.readers.firstIndex { reader in
            reader.id == fetch.askedBy && reader.takesAnyStatus && reader.failure == nil && reader.told == nil
        }
        guard let asker, case .full(let length) = ResponseOutcome.whole(head) else { return nil }
        let reader = session.readers[asker]
        guard !reader.mayDoWithoutAnswer(in: session.version),
            !(fetch.isValidation && session.ledger.serves(after: error) && reader.mayDoWithoutOrigin)
        else { return nil }
        if mayReplace(error, fetch, session) { return full(index, length: length.bytes, &session, now: now) }
        passWhole(index, to: asker, representation(length: length.bytes), &session)
        var actions = settleOthers(besides: asker, error, fetch, &session)
        actions += VersionDoubt.refused(&session, by: error, to: fetch, at: responseTime)
        if error.isRetryable { session.backOff(after: error, now: now) }
        return actions + session.wakeReaders() + session.replan(now: now)
    }

    /// Whether the response takes the place of the version. Bytes of the resource stay stored
    /// unless the resource is gone for every client: neither a refusal to one user nor a lifetime
    /// in the refusal of an expired token may delete a film. The answer to a request for a gap
    /// replaces nothing, and no status replaces a finished download.
    private func mayReplace(_ error: OriginError, _ fetch: FetchState, _ session: SessionState) -> Bool {
        guard passReason == nil, !fetch.isOwn else { return false }
        guard let version = session.version else { return true }
        guard !session.ledger.isFinishedDownload else { return false }
        guard !version.representation.isContent || session.ledger.holdsForEverybody(fetch) else { return false }
        return fetch.isValidation && (error.isGone || !version.representation.isContent)
    }

    /// Ends the wait of the other readers that the fetch was for: they use stored bytes if they
    /// may, and fail with the status otherwise.
    private func settleOthers(
        besides asker: Int, _ error: OriginError, _ fetch: FetchState, _ session: inout SessionState
    ) -> [SessionAction] {
        var actions: [SessionAction] = []
        for index in session.readers.indices where index != asker {
            let reader = session.readers[index]
            guard reader.failure == nil, !reader.isApart, !error.refuses(fetch, instead: reader) else { continue }
            let isConcerned =
                fetch.isValidation ? reader.awaitsOrigin : session.version == nil && reader.waitsFor != .nothing && !reader.onlyStored
            guard isConcerned else { continue }
            if fetch.isValidation, session.ledger.serves(after: error), reader.mayDoWithoutOrigin {
                actions.append(.usedUnvalidated(error))
                session.trust(index)
                session.play.giveUp()
            } else {
                session.readers[index].failure = .origin(error)
            }
        }
        return actions
    }
}

extension VersionDoubt {
    /// Drops a version that must not answer another request (RFC 9111 §3), once a reader comes that
    /// follows the rules of HTTP caching and was not there when the response came.
    static func dropUsedUp(_ session: inout SessionState, for index: Int) -> [SessionAction] {
        let reader = session.readers[index]
        guard session.phase == .ready, let version = session.version, version.passReason?.forbidsReuse == true, reader.told == nil,
            !reader.onlyStored, reader.rules.policy(for: version.representation) == .standard,
            reader.confirmationsBefore >= version.confirmation,
            !session.readers.contains(where: { $0.id != reader.id && ($0.told == version.generation || $0.awaitsOrigin) })
        else { return [] }
        return [.forgotten(version.generation)] + session.forgetVersion()
    }
}

extension ReaderState {
    /// Whether the reader takes the status of a version. Fails the reader with the status if not.
    mutating func takesStatus(of version: SessionVersion) -> Bool {
        let representation = version.representation
        guard !representation.isContent, !takesAnyStatus else { return true }
        failure = .origin(.status(ResponseHead(status: representation.status, fields: representation.fields)))
        return false
    }
}
