/// A reader that was added, committed to the current version, and given its first bytes, all in one
/// event.
package struct SessionHit: Hashable, Sendable {
    /// The identity of the reader.
    package var reader: ReaderID
    /// The version that it reads.
    package var generation: GenerationID
    /// The revision of the generation's representation. A larger number means that the
    /// representation has changed.
    package var revision: UInt64
    /// The range that the reader asked for, clipped to the resource.
    package var range: ByteRange
    /// The number of bytes of the resource.
    package var length: Int64
    /// The beginning of `range`, which the reader holds: stored, verified, and at most as long as
    /// requested.
    package var stored: ByteRange
}

/// A request that is answered at once, if everything for it is at hand.
///
/// That takes a version that answers every request, and that is complete and verified, or at least
/// the requested range of it; no fetch that runs or has to start; and a policy that permits the use
/// without asking the origin.
/// A gap behind a part must be one that could be fetched, should bytes of it turn out to be lost.
/// While the resource is only partly stored, a reader whose policy fetches beyond its range is no
/// hit, because it makes a fetch begin.
///
/// A reader that finds all of its bytes stored so takes two events instead of eight.
struct HitRequest {
    /// The requested range; nil for the whole.
    let spec: RangeHeader.Spec?
    let policy: CachePolicy
    let isShared: Bool
    let fetchPolicy: FetchPolicy
    /// The number of bytes that the reader takes first.
    let max: Int64
    /// Whether a gap behind these bytes could be fetched. A complete version has none.
    let mayFetch: Bool
    /// The configured fields of a request for these bytes.
    let fields: HTTPFields

    /// Adds the reader.
    /// - Returns: nil if a condition does not hold; then nothing has changed.
    func serve(_ session: inout SessionState, wallNow: Timestamp) -> SessionHit? {
        guard session.phase == .ready, session.fetches.isEmpty, session.ledger.version?.representation.isContent == true,
            session.ledger.version?.representation.mark?.isOpen(isShared: isShared) != false,
            let length = session.ledger.version?.representation.length,
            let generation = session.ledger.version?.generation, let revision = session.ledger.version?.revision,
            let range = spec.map({ $0.range(length: length) }) ?? ByteRange(0, length),
            session.ledger.version?.isComplete == true
                || (mayFetch && fetchPolicy == .whilePlaying && Self.isAtRest(session)
                    && session.ledger.version?.stored.contains(range) == true),
            let stored = session.ledger.version?.usable(in: range, max: max),
            session.ledger.isUsable(policy, isShared: isShared, fields: fields, wallNow: wallNow)
        else { return nil }
        let id = session.makeReaderID()
        let request = ReaderRequest(
            start: range.lowerBound, end: range.upperBound, policy: fetchPolicy, rules: UseRules(policy: policy, isShared: isShared))
        // The reader is changed in its place: a copy of it costs as much as the rest of this method.
        session.readers.append(ReaderState(id: id, request, asks: session.ledger.asks, confirmations: session.ledger.confirmations))
        let last = session.readers.count - 1
        session.readers[last].validation = .trusts(generation)
        session.readers[last].commit(to: session.ledger.version)
        if session.ledger.version?.isCombinable == false { session.readers[last].bind(to: .version) }
        session.readers[last].hold = stored
        return SessionHit(reader: id, generation: generation, revision: revision, range: range, length: length, stored: stored)
    }
}

extension HitRequest {
    /// Removes the reader of a hit if it leaves nothing to do after it took `count` bytes that the
    /// machine has not counted yet.
    /// - Returns: whether the reader was removed.
    static func remove(_ index: Int, after count: Int64, from session: inout SessionState) -> Bool {
        guard session.fetches.isEmpty, session.bodies.isEmpty,
            session.ledger.version?.isComplete == true || (isAtRest(session) && hasAll(session.readers[index], after: count, session))
        else { return false }
        session.readers.remove(at: index)
        return true
    }

    /// Whether the machine has no fetch, revalidation or commit of its own in progress or due, and
    /// the version may be stored.
    ///
    /// In that state a reader that needs only stored bytes changes nothing by coming and going. The
    /// needs of other readers were planned when they came.
    private static func isAtRest(_ session: SessionState) -> Bool {
        session.fetches.isEmpty && session.goal == nil && session.backOff.retryAt == nil && !session.ledger.owesRevalidation
            && !session.ledger.owesUpdate && session.ledger.version?.passReason == nil
    }

    /// Whether the reader of a hit has its whole range after `count` more bytes, so that it leaves
    /// no goal behind.
    private static func hasAll(_ reader: ReaderState, after count: Int64, _ session: SessionState) -> Bool {
        reader.failure == nil && reader.told == session.ledger.version?.generation && reader.policy == .whilePlaying
            && reader.position.addingSaturated(count).reaches(reader.end)
    }
}
