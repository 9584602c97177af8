/// Versions that were current before, and that readers which have committed to them go on with.
enum PastVersions {
    /// The most past versions with stored bytes beside a version that is stored. A film whose tag
    /// differs in each response would otherwise have a file for each of its readers.
    private static let maximumFiles = 2

    /// Keeps a version for the readers that have committed to it. Its running fetches go on as
    /// relays: nothing more of it is stored.
    static func setAside(_ version: SessionVersion, in session: inout SessionState) {
        session.past.append(version)
        for index in session.fetches.indices
        where !session.fetches[index].isOwn && session.fetches[index].generation == version.generation {
            session.fetches[index].isOwn = true
            session.fetches[index].isRelay = true
            session.fetches[index].lingersSince = nil
        }
    }

    /// Passes the current version on without storing it, while too many past ones have files.
    static func limitFiles(of session: inout SessionState) {
        guard session.version?.passReason == nil, session.past.filter({ !$0.stored.isEmpty }).count >= maximumFiles else { return }
        session.ledger.version?.passReason = .olderVersionsInUse
    }

    /// Drops the past versions whose last reader has left, and ends their fetches.
    static func drop(from session: inout SessionState) -> [SessionAction] {
        guard !session.past.isEmpty else { return [] }
        let readers = session.readers
        let over = session.past.map(\.generation).filter { generation in !readers.contains { $0.pastGeneration == generation } }
        guard !over.isEmpty else { return [] }
        session.past.removeAll { over.contains($0.generation) }
        let ended = session.cancelFetches { fetch in fetch.isOwn && fetch.generation.map(over.contains) == true }
        if session.version?.passReason == .olderVersionsInUse {
            session.ledger.version?.passReason = nil
            session.ledger.owesUpdate = true
        }
        return ended + over.map(SessionAction.pastOver)
    }

    /// Begins the verification of the bytes that waiting readers need next.
    static func verify(in session: inout SessionState) -> [SessionAction] {
        var actions: [SessionAction] = []
        for index in session.past.indices {
            let generation = session.past[index].generation
            let readers = session.readers.filter { $0.pastGeneration == generation }
            actions += session.past[index].verify(forWaiting: readers, session.limits)
        }
        return actions
    }
}
