// The choice of the response that a reader's bytes come from, while the version has no strong
// validator.
//
// Bytes of two responses must never be combined in one answer unless a strong validator ties them
// together (RFC 9110 §15.3.7.3). Each reader therefore takes all of its bytes from one response:
//
// - The version, if its response has all of them or will bring them. The version's bytes are those
//   of one response that began at 0.
// - Otherwise a response of the reader's own. It is requested from the reader's first byte on and
//   relayed. The reader learns length and type from its head, so a consumer that has committed to
//   no version never sees a change.
//
// A reader that moves is decided about again. Versions with a strong validator need none of this.

/// A decision about the source of a reader's bytes. Computing it changes nothing.
enum SourceChoice {
    /// Nothing is to be decided: the reader goes on with the version.
    case asBefore
    /// The version serves the reader.
    case version
    /// The reader has or awaits a response of its own.
    case ownAlready
    /// The reader needs a response of its own now.
    case own
    /// The reader needs a response of its own, and its request waits for `BackOff.retryAt`.
    case ownLater
    /// The reader has requested too many responses of its own, and fails.
    case exhausted

    /// The number of own responses that a reader may request before it commits to one.
    ///
    /// An origin that states another length in each response could otherwise keep a request for the
    /// last bytes going without end.
    static var maximumOwnResponses: Int { 3 }

    /// Decides about `reader`.
    /// - Parameter wallNow: the time by which the freshness of stored bytes is judged; nil when the
    ///   reader has passed that check.
    init(for reader: ReaderState, in session: SessionState, wallNow: Timestamp?, now: MonotonicInstant) {
        self = Self.choice(for: reader, in: session, wallNow: wallNow, now: now)
    }

    private static func choice(
        for reader: ReaderState, in session: SessionState, wallNow: Timestamp?, now: MonotonicInstant
    ) -> SourceChoice {
        guard session.phase == .ready, let version = session.version, !version.isCombinable, reader.failure == nil, !reader.onlyStored,
            reader.wantsBytes
        else { return .asBefore }
        switch reader.source {
        case .awaited, .body, .replaced: return .ownAlready
        case .version: return .asBefore
        case .undecided: break
        }
        // For a reader that committed to another response, only the head of an own response can
        // confirm that its length and type still hold.
        if !reader.isNews(version), versionServes(reader, version, session), isUsableRemnant(version, for: reader, wallNow: wallNow) {
            return .version
        }
        // A reader that has seen no failure yet does not pay for the failures of others.
        guard session.backOff.mayTry(now: now) || reader.patience.failures == 0 else { return .ownLater }
        return reader.ownResponses < maximumOwnResponses || reader.told != nil ? .own : .exhausted
    }

    /// The request for the reader's own response.
    ///
    /// It names an end only if the reader has one. The known length may be another version's.
    static func request(for reader: ReaderState, in session: SessionState) -> FetchPlanner.Request {
        let omitsRange = session.origin.omitsRange && reader.position == 0
        // A reader may ask for the version while it needs no byte. A request for no byte would end
        // before it begins.
        let end = omitsRange ? nil : reader.end.flatMap { $0 > reader.position ? $0 : nil }
        return FetchPlanner.Request(
            lower: reader.position, upper: end, reader: reader, stores: !reader.storesNothing, omitsRange: omitsRange)
    }

    /// Whether stored bytes of an incomplete version may be used: within the session that fetched
    /// them, or while they are fresh.
    private static func isUsableRemnant(_ version: SessionVersion, for reader: ReaderState, wallNow: Timestamp?) -> Bool {
        guard let wallNow, reader.told == nil, version.isRemnant else { return true }
        return Freshness(version.representation, isShared: reader.rules.isShared, now: wallNow).isFresh
    }

    /// Whether the version's response has, or will soon bring, every byte of the reader's range.
    private static func versionServes(_ reader: ReaderState, _ version: SessionVersion, _ session: SessionState) -> Bool {
        let end = min(reader.end ?? .max, version.representation.length ?? .max)
        guard reader.position < end else { return true }
        guard let missing = firstMissing(from: reader.position, to: end, version, session.fetches) else { return true }
        let distance = session.origin.joinDistance(within: session.limits.joinBytes)
        return session.fetches.contains { fetch in
            brings(fetch, missing, to: end, version) && (missing - fetch.front <= distance || version.refusesRanges)
        }
    }

    /// Whether the version still has, or will bring, the next byte of a reader that is bound to it.
    static func versionStillServes(_ reader: ReaderState, _ version: SessionVersion, _ fetches: [FetchState]) -> Bool {
        let end = min(reader.end ?? .max, version.representation.length ?? .max)
        guard reader.position < end, let missing = firstMissing(from: reader.position, to: reader.position + 1, version, fetches) else {
            return true
        }
        return fetches.contains { brings($0, missing, to: missing + 1, version) }
    }

    /// The first byte of `[offset, end)` that is neither stored nor in the memory of the version's
    /// fetches.
    /// - Returns: nil if there is none.
    private static func firstMissing(from offset: Int64, to end: Int64, _ version: SessionVersion, _ fetches: [FetchState]) -> Int64? {
        var offset = offset
        // Each iteration passes one stored run or the memory of one fetch.
        for _ in 0...(2 * fetches.count + 1) {
            guard offset < end else { return nil }
            if let run = version.stored.prefix(from: offset, upTo: end) {
                offset = run.upperBound
            } else if let fetch = fetches.first(where: { !$0.isOwn && $0.generation == version.generation && $0.remembers(offset) }) {
                offset = min(fetch.runEnd(from: offset), end)
            } else {
                return offset
            }
        }
        return offset < end ? offset : nil
    }

    /// Whether the fetch of the version's own response will bring all of `[missing, end)`.
    private static func brings(_ fetch: FetchState, _ missing: Int64, to end: Int64, _ version: SessionVersion) -> Bool {
        !fetch.isOwn && fetch.isReceiving && fetch.generation == version.generation && fetch.leases(missing)
            && (fetch.upper ?? .max) >= end
    }
}
