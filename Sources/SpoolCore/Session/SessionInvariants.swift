/// The relations that hold in the state of a session after every event.
struct SessionInvariants {
    private let session: SessionState

    init(_ session: SessionState) { self.session = session }

    private var readers: [ReaderState] { session.readers }
    private var fetches: [FetchState] { session.fetches }
    private var version: SessionVersion? { session.version }

    /// The broken invariants, in words; empty when the state is consistent.
    /// - Complexity: O(*f*² + *r* · *f*), *f* being the number of fetches and *r* that of readers.
    var violations: [String] {
        identityViolations + fetchViolations + overlapViolations + storedViolations + waitViolations
    }

    /// Identities are in order, and a version that is not stored has no goal.
    private var identityViolations: [String] {
        var found: [String] = []
        if zip(fetches, fetches.dropFirst()).contains(where: { $0.id >= $1.id }) { found.append("fetches are out of order") }
        if zip(readers, readers.dropFirst()).contains(where: { $0.id >= $1.id }) { found.append("readers are out of order") }
        if let goal = session.goal, version?.passReason != nil { found.append("goal \(goal) in a version that is not stored") }
        return found
    }

    /// Each fetch is consistent in itself.
    private var fetchViolations: [String] {
        fetches.flatMap { fetch -> [String] in
            var found: [String] = []
            if fetch.released > fetch.front { found.append("\(fetch.name) released \(fetch.released) beyond its front \(fetch.front)") }
            if let upper = fetch.upper, fetch.front > upper { found.append("\(fetch.name) went beyond its lease to \(fetch.front)") }
            if fetch.isDraining, fetch.isDrained { found.append("\(fetch.name) is drained and still here") }
            if fetch.isDraining, fetch.upper != fetch.front { found.append("\(fetch.name) drains and leases") }
            if fetch.isRequested, fetch.front != fetch.released { found.append("\(fetch.name) remembers before its head") }
            // The memory of a replaced version's fetches must have been removed.
            let expected = fetch.isRequested ? nil : fetch.isOwn ? fetch.generation : version?.generation
            if fetch.generation != expected {
                found.append("\(fetch.name) brings bytes of \(fetch.generation.map { "\($0)" } ?? "nothing")")
            }
            return found
        }
    }

    /// Two storing fetches neither lease nor remember the same byte.
    private var overlapViolations: [String] {
        var found: [String] = []
        let storing = fetches.filter { !$0.isRelay && !$0.isOwn }
        for (index, a) in storing.enumerated() {
            for b in storing[(index + 1)...] {
                if let leaseA = a.lease, let leaseB = b.lease, leaseA.overlaps(leaseB) {
                    found.append("\(a.name) and \(b.name) lease the same bytes: \(leaseA), \(leaseB)")
                }
                if a.memory.ranges.contains(where: { !b.memory.intersection($0).isEmpty }) {
                    found.append("\(a.name) and \(b.name) remember the same bytes")
                }
            }
        }
        return found
    }

    /// The stored bytes agree with the fetches, the readers and the length.
    private var storedViolations: [String] {
        guard let version else { return [] }
        var found: [String] = []
        for fetch in fetches
        where !fetch.isRelay && !fetch.isOwn && fetch.memory.ranges.contains(where: { !version.stored.intersection($0).isEmpty }) {
            found.append("\(fetch.name) remembers what is stored")
        }
        if !version.unverified.subtracting(version.stored).isEmpty { found.append("unverified bytes that are not stored") }
        if !version.evicting.subtracting(version.stored.intersection(version.unverified)).isEmpty {
            found.append("what is being evicted may be used, or fetched")
        }
        for reader in readers where !reader.isApart && reader.hold.map({ !version.evicting.intersection($0).isEmpty }) == true {
            found.append("\(reader.name) holds what is being evicted")
        }
        guard let length = version.representation.length else { return found }
        if let upper = version.stored.upperBound, upper > length { found.append("stored to \(upper) of \(length) bytes") }
        for fetch in fetches where !fetch.isOwn && fetch.front > length {
            found.append("\(fetch.name) received \(fetch.front) of \(length) bytes")
        }
        return found
    }

    /// Each waiting reader waits for a fetch that runs, or for the retry timer.
    private var waitViolations: [String] {
        guard session.phase == .ready else { return [] }
        return readers.filter { $0.waitsFor != .nothing }.compactMap { reader in
            if reader.failure != nil { return "\(reader.name) waits after its end" }
            if session.backOff.retryAt != nil { return nil }
            // In the middle of a batch the bytes are there already. The end of the batch wakes the
            // reader.
            if ReaderView.look(reader, max: 1, session) != nil { return nil }
            if case .awaited(let id) = reader.source {
                return fetches.contains { $0.id == id && !$0.isDraining } ? nil : "\(reader.name) waits for a response that is over"
            }
            if reader.isApart {
                guard let body = session.body(of: reader) else { return "\(reader.name) waits for a body that is gone" }
                if reader.waitsFor == .version { return "\(reader.name) waits for a head that came" }
                let isUnderWay =
                    body.stored.contains(reader.position)
                    ? body.verifying.contains(reader.position) : fetches.contains { reader.draws(from: $0) && $0.leases(reader.position) }
                return isUnderWay ? nil : "\(reader.name) waits at \(reader.position) of a body apart for nobody"
            }
            if version == nil {
                if reader.onlyStored, fetches.isEmpty { return "\(reader.name) waits for stored bytes of nothing" }
                return fetches.contains { $0.isRequested } ? nil : "\(reader.name) waits for a version that nobody asks for"
            }
            if reader.validation == .awaitsGap, !session.ledger.isSettled(for: reader) {
                return fetches.contains { $0.isRequested } ? nil : "\(reader.name) waits for an answer about its gap, which nobody asks for"
            }
            if reader.awaitsOrigin, !session.ledger.isSettled(for: reader) {
                return fetches.contains(where: \.isValidation) ? nil : "\(reader.name) waits for the origin's word, which nobody asks for"
            }
            if reader.waitsForVerification(in: version) {
                let isUnderWay = version?.verifying.contains(reader.position) == true
                return isUnderWay ? nil : "\(reader.name) waits at \(reader.position) for bytes that nobody verifies"
            }
            if reader.waitsFor == .version { return "\(reader.name) waits for a version that is known" }
            if reader.onlyStored { return "\(reader.name) waits for bytes that are not stored" }
            // Bytes that arrived in this call of the transport wake no reader before their batch
            // ends.
            if fetches.contains(where: { $0.remembers(reader.position) }) { return nil }
            guard let fetch = fetches.first(where: { $0.leases(reader.position) && !$0.isDraining }) else {
                return "\(reader.name) waits at \(reader.position) for nobody"
            }
            // A relay is as slow as its slowest reader, and a fetch without a buffer waits for the
            // pool.
            if fetch.flow == .paused, !fetch.isRelay {
                return "\(reader.name) waits at \(reader.position) for \(fetch.name), which is paused"
            }
            return nil
        }
    }
}

extension FetchState {
    fileprivate var name: String { "fetch \(id.rawValue) from \(start)" }

    fileprivate var lease: ByteRange? { ByteRange(front, upper ?? .max) }

    fileprivate var memory: ByteRangeSet {
        var memory = ByteRangeSet(ByteRange(released, front).map { [$0] } ?? [])
        memory.subtract(skipped)
        return memory
    }
}

extension ReaderState {
    fileprivate var name: String { "reader \(id.rawValue)" }
}
