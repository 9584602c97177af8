/// Handles doubt about the version: the origin refuses the resource, may have bytes behind the end,
/// or allowed the response for the readers of its moment only.
enum VersionDoubt {
    /// The time after a first 404 from which another one removes the version: 5 minutes, longer
    /// than a server takes to restart or a new file to reach all servers of a network.
    private static let refusalGrace = Nanoseconds.seconds(300)

    /// Handles the refusal of a revalidation: a 410, or a second 404 after `refusalGrace`, removes
    /// the version (RFC 9111 §4.3.3). A first 404 may come from one server of many, so it only
    /// makes the version stale.
    static func refused(
        _ session: inout SessionState, by error: OriginError, to fetch: FetchState, at time: Timestamp?
    ) -> [SessionAction] {
        guard let version = session.version, session.ledger.isRefused(by: error, to: fetch) else { return [] }
        let first = version.representation.refusedAt
        let passed = first.flatMap { first in time.map { $0.nanoseconds.subtractingSaturated(first.nanoseconds) } }
        if error.isLasting || passed ?? 0 >= refusalGrace || !version.representation.isContent {
            return [.gone(version.generation)] + session.forgetVersion()
        }
        return first == nil ? time.map { invalidate(&session, refusedAt: $0) } ?? [] : []
    }

    /// Marks the version as changed at the origin by another request (RFC 9111 §4.4).
    ///
    /// Its bytes stay, and are used again once the origin has confirmed them. Readers that have
    /// committed to the version go on.
    ///
    /// - Parameter refusedAt: the time at which the origin answered that it has no such resource,
    ///   if that is the reason.
    static func invalidate(_ session: inout SessionState, refusedAt: Timestamp? = nil) -> [SessionAction] {
        session.owesInvalidation = session.phase == .new || session.phase == .opening
        guard session.phase == .ready, session.version != nil else { return [] }
        session.ledger.version?.representation.invalidate(refusedAt: refusedAt)
        for index in session.readers.indices where session.readers[index].told == nil {
            if case .trusts = session.readers[index].validation { session.readers[index].validation = .unchecked }
        }
        return [.representationUpdated]
    }

    /// Drops a version that can't be completed (`VersionLedger.isUnfinished`), and the head of a
    /// response that must not be used again, once it has no reader.
    ///
    /// Most bodies that can't be completed are live streams, whose next listener does not need the
    /// beginning.
    static func dropUnfinished(_ session: inout SessionState) -> [SessionAction] {
        let ledger = session.ledger
        guard session.readers.isEmpty, session.fetches.isEmpty, let version = ledger.version, ledger.isUnfinished || version.isUsedUp
        else { return [] }
        session.ledger.version = nil
        return [ledger.holdsBack || version.isUsedUp ? .forgotten(version.generation) : .unfinished(version.generation)]
    }

    /// Handles an answer that the version is current and has no more bytes: a 304, or a 416 to a
    /// question about the end.
    static func confirmed(_ session: inout SessionState) -> [SessionAction] {
        session.ledger.confirm()
        session.backOff.succeeded()
        session.ledger.version?.representation.endsByClose = false
        return [.representationUpdated]
    }

    /// Forgets a length that the end of a connection showed, because the origin sends the bytes
    /// behind it. Readers that have committed to the length end there.
    static func reopenEnd(_ session: inout SessionState, for index: Int) {
        guard let generation = session.version?.generation, let length = session.ledger.forgetEnd() else { return }
        for reader in session.readers.indices where session.readers[reader].told == generation {
            session.readers[reader].endNoLater(than: length)
        }
        session.fetches[index].becomeRest(of: generation)
    }
}
