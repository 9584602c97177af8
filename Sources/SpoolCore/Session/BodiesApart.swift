/// The bodies that readers apart read beside the current version: versions that were current when
/// the reader committed to them, and responses that belong to one reader.
///
/// Nothing more is stored of them, and their fetches are relays.
enum BodiesApart {
    /// The most past versions with stored bytes beside a version that is stored. A film whose tag
    /// differs in each response would otherwise have a file for each of its readers.
    private static let maximumFiles = 2

    /// Keeps a version for its readers. Its running fetches go on as relays.
    static func setAside(_ version: SessionVersion, in session: inout SessionState) {
        session.bodies.append(version)
        let running = session.fetches.indices.filter { index in
            !session.fetches[index].isOwn && session.fetches[index].generation == version.generation
        }
        let starts = running.map { session.fetches[$0].start }
        for index in running {
            session.fetches[index].isOwn = true
            session.fetches[index].isRelay = true
            session.fetches[index].lingersSince = nil
            let front = session.fetches[index].front
            session.fetches[index].takeLeaseBack(upTo: starts.filter { $0 > front }.min())
        }
    }

    /// Passes the current version on without storing it, while too many past ones have files.
    static func limitFiles(of session: inout SessionState) {
        guard session.version?.passReason == nil, session.bodies.filter({ !$0.stored.isEmpty }).count >= maximumFiles else { return }
        session.ledger.version?.passReason = .olderVersionsInUse
    }

    /// Drops the bodies without a reader, and ends their fetches.
    static func drop(from session: inout SessionState) -> [SessionAction] {
        guard !session.bodies.isEmpty else { return [] }
        let readers = session.readers
        let over = session.bodies.map(\.generation).filter { generation in !readers.contains { $0.generationApart == generation } }
        guard !over.isEmpty else { return [] }
        session.bodies.removeAll { over.contains($0.generation) }
        let ended = session.cancelFetches { fetch in fetch.isOwn && fetch.generation.map(over.contains) == true }
        if session.version?.passReason == .olderVersionsInUse {
            session.ledger.version?.passReason = nil
            session.ledger.owesUpdate = true
            limitFiles(of: &session)
        }
        return ended + over.map(SessionAction.pastOver)
    }

    /// Begins the verification of the bytes that waiting readers need next.
    static func verify(in session: inout SessionState) -> [SessionAction] {
        var actions: [SessionAction] = []
        for index in session.bodies.indices {
            let generation = session.bodies[index].generation
            let readers = session.readers.filter { $0.generationApart == generation }
            actions += session.bodies[index].verify(forWaiting: readers, session.limits)
        }
        return actions
    }
}
