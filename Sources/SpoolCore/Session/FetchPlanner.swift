/// Decides which gaps are fetched, and when fetches are joined, paused, left to linger or ended.
///
/// Each function is pure: from the state of the session it computes one decision, and
/// `SessionState.replan` applies the decisions one after the other.
enum FetchPlanner {
    /// A request to make.
    struct Request {
        /// The offset of the first byte.
        var lower: Int64
        /// The offset after the last byte; nil for an open range.
        var upper: Int64?
        /// The reader that it is for; nil when no reader waits.
        var reader: ReaderState?
        /// Whether the bytes may be stored.
        var stores = true
        /// Whether the request names no range.
        var omitsRange = false
        /// Whether the request ends before the gap does (`RequestWindow`).
        var isWindow = false
        /// The number of last bytes to ask for, in place of the range.
        var suffix: Int64?
        /// Whether the request asks whether the version has bytes behind its end.
        var asksEnd = false
        /// Whether one answer confirms the version and brings bytes of it.
        var asksGap = false

        /// The request up to the next stored or remembered byte, or to the end of its window.
        func bounded(_ session: SessionState) -> Request {
            var request = self
            request.upper = FetchPlanner.clippedEnd(of: self, session)
            if let end = RequestWindow.end(of: request, upTo: request.upper, session) { (request.upper, request.isWindow) = (end, true) }
            return request
        }

        /// The end that the request names, or nil for that of the resource.
        ///
        /// A client that names the last byte is asked for in its own words: some origins refuse open
        /// ranges.
        func namedEnd(_ session: SessionState) -> Int64? {
            if case .part(_, .some) = reader?.clientRange(from: lower) { return upper }
            let reachesEnd = upper != nil && upper == session.version?.representation.length
            return session.limits.requestBytes == nil && reachesEnd ? nil : upper
        }
    }

    // MARK: Starting

    /// The request that discovers the resource; nil when no reader needs it, or during back-off.
    static func discovery(_ session: SessionState, now: MonotonicInstant) -> Request? {
        let wanting = session.readers.filter {
            $0.failure == nil && !$0.onlyStored && !$0.isApart && ($0.wantsBytes || $0.waitsFor != .nothing)
        }
        let asking = wanting.filter { session.backOff.mayTry(for: $0, now: now) }
        guard let reader = asking.first(where: { $0.waitsFor != .nothing }) ?? asking.first else { return nil }
        let stores = wanting.contains { !$0.storesNothing }
        guard !session.origin.omitsRange else {
            // The whole comes from byte 0 on. Without storing, the bytes before the reader's place only
            // pass.
            let lower = stores ? 0 : reader.position
            return Request(lower: lower, upper: nil, reader: reader, stores: stores, omitsRange: true, suffix: stores ? nil : reader.suffix)
        }
        if let suffix = reader.suffix { return Request(lower: 0, upper: nil, reader: reader, stores: stores, suffix: suffix) }
        // A request from offset 0 on is open-ended, whatever range the reader has. Its head
        // supplies length and type, and its body goes on to serve the next request.
        var upper = reader.position == 0 ? nil : reader.fetchEnd
        // A reader at the end of its range only asks for the version. A request for no byte would
        // end before it begins.
        if let end = upper, end <= reader.position { upper = nil }
        let window = session.origin.requestBytes(session.limits).map { reader.position.addingSaturated($0) }
        let isWindow = window?.isBelow(upper) == true
        if isWindow { upper = window }
        return Request(lower: reader.position, upper: upper, reader: reader, stores: stores, isWindow: isWindow)
    }

    /// The conditional request that confirms or replaces the version; nil when no reader waits for
    /// that and none has used a stale version, or during back-off.
    static func revalidation(_ session: SessionState, now: MonotonicInstant) -> Request? {
        guard let version = session.version, !session.fetches.contains(where: \.isValidation) else { return nil }
        let asking = session.readers.first { reader in
            reader.failure == nil && (reader.awaitsOrigin || GapQuestion.isFar(for: reader, session, now: now))
                && !session.ledger.isSettled(for: reader)
                && session.backOff.mayTry(for: reader, now: now)
        }
        let mayAskAhead = session.ledger.owesRevalidation && session.backOff.mayTry(now: now) && !isHeld(version, session)
        guard asking != nil || mayAskAhead else { return nil }
        // If the version turns out to be another, the response begins with the bytes that the
        // reader needs.
        var lower = asking?.position ?? 0
        if let length = version.representation.length {
            let isBehind = lower >= length
            // A 304 would confirm the tag and not the end.
            if isBehind || version.representation.endsByClose, length > 0, isStrong(version) {
                return Request(lower: length, upper: nil, reader: asking, asksEnd: true)
            }
            if isBehind { lower = 0 }
        }
        // One answer confirms the version and brings bytes (RFC 9110 §13.1.5). An offset behind the
        // end is not the reader's.
        if let asking, lower == asking.position, asking.wantsBytes, !asking.storesNothing, isStrong(version), isFree(lower, session) {
            return Request(lower: lower, upper: asking.fetchEnd, reader: asking, asksGap: true).bounded(session)
        }
        var upper = session.origin.requestBytes(session.limits).map { lower.addingSaturated($0) }
        if let asking, lower == asking.position, case .part(_, let end?) = asking.clientRange(from: lower) {
            upper = min(upper ?? end, end)
        }
        return Request(lower: lower, upper: upper, reader: asking)
    }

    /// Whether `If-Range` ties further bytes to the version.
    static func isStrong(_ version: SessionVersion) -> Bool {
        version.identity == .validator && version.representation.validator.isStrong
    }

    /// Whether a revalidation in the background has to wait for a reader of stored bytes: for its
    /// first byte, or for its end where the version has no strong validator. The answer would take
    /// the version from it.
    private static func isHeld(_ version: SessionVersion, _ session: SessionState) -> Bool {
        session.readers.contains { reader in
            guard reader.failure == nil, reader.validation == .trusts(version.generation) else { return false }
            return !version.isCombinable || (reader.told == nil && version.hasRest(of: reader))
        }
    }

    /// The index of the first reader from `index` on that waits at a gap that no running fetch will
    /// bring in time.
    static func urgentReader(_ session: SessionState, from index: Int, now: MonotonicInstant) -> Int? {
        session.readers[index...].firstIndex { reader in
            !reader.isApart && reader.waitsFor == .bytes && !reader.waitsForVerification(in: session.version)
                && session.window(of: reader) != nil && session.backOff.mayTry(for: reader, now: now)
                && !isCovered(reader.position, session)
        }
    }

    /// The next gap of a window, or of the goal, that is fetched although no reader waits for it;
    /// nil while another such fetch runs.
    static func ahead(_ session: SessionState, now: MonotonicInstant) -> Request? {
        guard let version = session.version, !version.isComplete, session.backOff.mayTry(now: now) else { return nil }
        guard !session.fetches.contains(where: { $0.isAhead && !RequestWindow.isEnding($0, session) }) else { return nil }
        for reader in session.readers where !reader.storesNothing && !reader.isApart {
            guard let window = session.window(of: reader) else { continue }
            guard let gap = firstFreeOffset(in: window, session), mayStore(session, from: gap) else { continue }
            if RequestWindow.isUsed(for: reader, session), !RequestWindow.mayAsk(aheadOf: reader, at: gap, session) { continue }
            return Request(lower: gap, upper: reader.fetchEnd, reader: reader)
        }
        let all = ByteRange(lower: 0, upper: version.representation.length ?? .max)
        guard let goal = session.goal.flatMap({ $0.intersection(all) }), let gap = firstFreeOffset(in: goal, session),
            mayStore(session, from: gap)
        else { return nil }
        return Request(lower: gap, upper: goal.upperBound == .max ? nil : goal.upperBound)
    }

    /// Whether the byte at `offset` is neither stored, nor in memory, nor leased.
    static func isFree(_ offset: Int64, _ session: SessionState) -> Bool {
        ByteRange(offset, offset.addingSaturated(1)).map { firstFreeOffset(in: $0, session) == offset } == true
    }

    /// The end of a fetch of `gap`: at the next stored or remembered byte.
    static func clippedEnd(of gap: Request, _ session: SessionState) -> Int64? {
        let lower = gap.lower, version = session.version
        var upper = gap.upper
        func clip(_ bound: Int64) { upper = min(upper ?? bound, bound) }
        if let length = version?.representation.length { clip(length) }
        if let next = version?.stored.firstRange(atOrAfter: lower) { clip(next.lowerBound) }
        for fetch in session.fetches where !fetch.isRelay && fetch.released > lower { clip(fetch.released) }
        for fetch in session.fetches where !fetch.isRelay && !fetch.isValidation && fetch.front > lower { clip(fetch.front) }
        for fetch in session.fetches { fetch.skipped.prefix(from: lower, upTo: .max).map { clip($0.upperBound) } }
        return upper
    }

    /// Whether a response from `offset` on may be stored, so that nothing is relayed ahead of its
    /// readers.
    static func mayStore(_ session: SessionState, from offset: Int64) -> Bool {
        guard let version = session.version, version.storesResponse(from: offset) else { return false }
        return offset > 0 || version.isCombinable || !session.fetches.contains { !$0.isRelay }
    }

    /// Whether a running fetch will bring the byte at `offset` sooner than a new request would, so
    /// that the reader joins it.
    private static func isCovered(_ offset: Int64, _ session: SessionState) -> Bool {
        guard let version = session.version else { return false }
        let distance = session.origin.joinDistance(within: session.limits.joinBytes)
        return session.fetches.contains { fetch in
            if fetch.isOwn { return false }
            if fetch.isRelay {
                return fetch.leases(offset) && fetch.serves(offset) && !(fetch.blocking == .overdue && offset == fetch.front)
            }
            if fetch.remembers(offset) { return true }
            return fetch.leases(offset) && (offset - fetch.front <= distance || version.refusesRanges)
        }
    }

    /// The offset of the first byte in `range` that is neither stored, nor in memory, nor leased.
    private static func firstFreeOffset(in range: ByteRange, _ session: SessionState) -> Int64? {
        var offset = range.lowerBound
        // Each iteration passes one stored run or one lease.
        for _ in 0...(2 * session.fetches.count + 1) {
            guard let rest = ByteRange(offset, range.upperBound), let gap = session.version?.stored.firstGap(in: rest) else { return nil }
            offset = gap.lowerBound
            guard let fetch = session.fetches.first(where: { !$0.isRelay && ($0.remembers(offset) || $0.leases(offset)) }) else {
                return offset
            }
            guard let upper = fetch.upper else { return nil }
            offset = upper
        }
        return nil
    }

    /// Whether all of the goal is stored, or the version is not stored at all.
    static func isGoalMet(_ session: SessionState) -> Bool {
        guard let goal = session.goal, let version = session.version else { return false }
        if version.isComplete || version.passReason != nil { return true }
        let wanted = goal.intersection(ByteRange(lower: 0, upper: max(version.representation.length ?? .max, 1)))
        return wanted.map { version.stored.contains($0) } != false
    }

    // MARK: Pausing and ending

    /// The decision about one running fetch.
    enum Settlement {
        /// It stays as it is.
        case left
        /// It ends.
        case over
        /// No reader needs it: it lingers.
        case unneeded
        /// A reader needs it.
        case needed
        /// A reader needs it again, and its transport resumes.
        case resumed
        /// A slow reader has not taken the bytes in its memory, and another reader waits at its
        /// front.
        case heldBack
    }

    /// The decision about `fetch`, which is neither draining nor a validation.
    static func settlement(of fetch: FetchState, _ session: SessionState) -> Settlement {
        if let upper = fetch.upper, fetch.front >= upper {
            // A body that ends here by its framing is left to end, so that its connection can be
            // reused.
            return fetch.servedEnd == upper ? .left : .over
        }
        guard let demand = demand(of: fetch, session) else {
            if !fetch.isRelay { return .unneeded }
            return isAwaited(fetch, session) ? .left : .over
        }
        if fetch.isPaused, shouldResume(fetch, demand: demand, session) { return .resumed }
        return isHeldBack(fetch, session) ? .heldBack : .needed
    }

    /// The offset up to which readers and the goal need this fetch.
    /// - Returns: nil if none of them needs it.
    static func demand(of fetch: FetchState, _ session: SessionState) -> Int64? {
        let version = session.version
        var demand: Int64?
        for reader in session.readers {
            // Until the version is known, every reader depends on the fetch that discovers it.
            if version == nil, reader.failure == nil, !reader.onlyStored, !fetch.isOwn, !reader.isApart {
                let end = session.window(of: reader)?.upperBound ?? reader.position
                demand = max(demand ?? fetch.front, reader.position == fetch.start ? end : fetch.front)
                continue
            }
            guard reader.draws(from: fetch), let window = session.window(of: reader) else { continue }
            if reader.isApart || isBehind(reader, fetch, session), fetch.front.isBelow(reader.end) {
                // No other fetch will bring these bytes, so this one waits for a slow reader.
                demand = max(demand ?? 0, fetch.front)
            }
            guard window.upperBound > fetch.front, reader.position.isBelow(fetch.upper) else { continue }
            guard !fetch.isRelay || isAttached(reader, to: fetch, session) else { continue }
            demand = max(demand ?? 0, window.upperBound)
        }
        if let goal = session.goal, !fetch.isRelay, !fetch.isOwn, goal.upperBound > fetch.front,
            goal.lowerBound.isBelow(fetch.upper)
        {
            demand = max(demand ?? 0, goal.upperBound)
        }
        guard let demand else { return RequestWindow.isFinishing(fetch, session) ? fetch.upper : nil }
        return fetch.isRelay ? min(demand, fetch.released.addingSaturated(session.limits.relayBytes)) : demand
    }

    /// Whether a relay keeps bytes for a reader. No other fetch brings bytes of a body apart, so its
    /// relay waits for a reader before its memory, and skips to one beyond its front.
    static func isAttached(_ reader: ReaderState, to relay: FetchState, _ session: SessionState) -> Bool {
        reader.isApart || relay.serves(reader.position) || isBehind(reader, relay, session)
    }

    /// Whether a reader still reads stored bytes, and will then need the memory of a relay that no
    /// other request can continue. Storing has ended in the middle of that response.
    private static func isBehind(_ reader: ReaderState, _ relay: FetchState, _ session: SessionState) -> Bool {
        guard relay.isRelay, !isContinuable(relay, session), relay.blocking != .overdue, let version = session.version,
            relay.generation == version.generation, let run = ByteRange(reader.position, relay.released)
        else { return false }
        return !relay.isOwn && version.stored.contains(run)
    }

    /// Whether a relay stays although no window needs its bytes.
    ///
    /// That is so for a reader that waits for the head of its own response, and for a reader that
    /// has asked only for the version, or that committed to none yet. The second may need the
    /// relay's bytes next, also those behind an end that it took from another version, and would
    /// otherwise request them twice.
    private static func isAwaited(_ relay: FetchState, _ session: SessionState) -> Bool {
        session.readers.contains { reader in
            guard reader.failure == nil, !reader.onlyStored else { return false }
            if reader.source == .awaited(relay.id) { return true }
            return (!reader.wantsBytes || reader.told == nil) && relay.serves(reader.position)
                && (reader.draws(from: relay) || !reader.isApart)
        }
    }

    /// Whether a paused fetch resumes: when a reader waits for it, or when half of its window is
    /// free again. It does not resume for every chunk.
    private static func shouldResume(_ fetch: FetchState, demand: Int64, _ session: SessionState) -> Bool {
        guard demand > fetch.front else { return false }
        // The goal does not move. If less than half of a window of it remained, no later event
        // would resume the fetch.
        if let goal = session.goal, demand == goal.upperBound { return true }
        if session.readers.contains(where: { $0.waitsFor == .bytes && $0.position >= fetch.front && fetch.leases($0.position) }) {
            return true
        }
        let window = fetch.isRelay ? session.limits.relayBytes : readAhead(of: fetch, session)
        let end = min(fetch.upper ?? .max, session.version?.representation.length ?? .max)
        return demand - fetch.front >= window / 2 || demand >= end
    }

    /// The longest window of the readers of a fetch.
    private static func readAhead(of fetch: FetchState, _ session: SessionState) -> Int64 {
        let longest = session.limits.readAheadBytes
        let windows = session.readers.filter { $0.draws(from: fetch) }.map { reader in
            if case .readAhead(let bytes) = reader.policy { min(max(bytes, 1), longest) } else { longest }
        }
        return windows.max() ?? longest
    }

    /// The offset of the slowest reader that reads from the memory of a relay, or the front of the
    /// relay if none does.
    static func lowestAttached(to fetch: FetchState, _ session: SessionState) -> Int64 {
        let attached = session.readers.filter {
            $0.draws(from: fetch) && session.window(of: $0) != nil && $0.position <= fetch.front
                && ($0.position >= fetch.released || isAttached($0, to: fetch, session))
        }
        return attached.map { max($0.position, fetch.released) }.min() ?? fetch.front
    }

    /// The offset after the last byte that the current version is known to have.
    static func knownEnd(_ session: SessionState) -> Int64 {
        let received = session.fetches.filter { !$0.isOwn && !$0.isRequested && $0.front > $0.released }.map(\.front).max() ?? 0
        return max(session.version?.stored.upperBound ?? 0, received, session.version?.passedEnd ?? 0)
    }

    /// Whether a slow reader has not taken the bytes in the memory of a relay, or those stored
    /// before them, and another reader waits at its front.
    private static func isHeldBack(_ fetch: FetchState, _ session: SessionState) -> Bool {
        guard fetch.isRelay, !fetch.isOwn, fetch.isPaused, session.version != nil else { return false }
        guard isContinuable(fetch, session) || session.readers.contains(where: { isBehind($0, fetch, session) }) else { return false }
        return session.readers.contains {
            $0.waitsFor == .bytes && $0.failure == nil && $0.position == fetch.front && $0.draws(from: fetch)
        }
    }

    /// Whether another request could bring the rest of the fetch's response. That takes an origin
    /// that serves ranges, and a version that identifies the bytes.
    static func isContinuable(_ fetch: FetchState, _ session: SessionState) -> Bool {
        !fetch.isOwn && session.version?.isCombinable == true && session.version?.refusesRanges == false
    }

    /// Whether the limiter may end the fetch now, to use its slot for another.
    static func isIdle(_ id: FetchID, _ session: SessionState) -> Bool {
        guard let fetch = session.fetches.first(where: { $0.id == id }), fetch.isOpen else { return false }
        // The readers of a relay would go on with requests of their own from their positions. No
        // other response could continue one that belongs to its readers alone.
        if fetch.isOwn || fetch.isRelay, !isContinuable(fetch, session) { return false }
        if session.version?.isCombinable == false, fetch.lingersSince == nil { return false }
        if fetch.lingersSince != nil { return true }
        guard fetch.isPaused else { return false }
        if fetch.flow == .held { return true }
        // A relay without a buffer gets one only when its readers advance; a storing fetch gets one
        // when the disk advances.
        return demand(of: fetch, session) ?? fetch.front <= fetch.front || (fetch.isRelay && fetch.flow == .starved)
    }

    /// The next moment at which `SessionState.timePassed` has something to do.
    static func nextDeadline(_ session: SessionState) -> MonotonicInstant? {
        let limits = session.limits
        let lingering = session.fetches.compactMap { $0.isDraining ? nil : $0.lingersSince.map { $0 + limits.linger } }.min()
        let blocked = session.fetches.compactMap { fetch -> MonotonicInstant? in
            if case .since(let start) = fetch.blocking { start + limits.relayPatience } else { nil }
        }.min()
        let questions = session.readers.compactMap { $0.awaitsAnswer && $0.failure == nil ? $0.questionEnds : nil }.min()
        return [lingering, session.backOff.retryAt, blocked, questions].compactMap { $0 }.min()
    }

    /// Whether a running fetch of the version goes on to bring the reader's whole window, so that
    /// the reader's step changes no plan.
    ///
    /// With this shortcut a thousand readers of one live stream need not look at each other for
    /// each batch of bytes.
    static func isProvidedFor(_ reader: ReaderState, _ session: SessionState) -> Bool {
        guard session.fetches.count == 1, let fetch = session.fetches.first, !fetch.isRelay, !fetch.isOwn, fetch.isReceiving,
            fetch.lingersSince == nil, session.goal == nil, session.backOff.retryAt == nil, !session.ledger.owesRevalidation,
            !session.ledger.owesUpdate, !reader.isApart, !reader.onlyStored, let version = session.version, version.isCombinable,
            version.unverified.isEmpty, let window = session.window(of: reader)
        else { return false }
        // Every byte below the lowest offset in memory has to be stored. From there to the front
        // the bytes are in memory.
        let behind = ByteRange(window.lowerBound, min(window.upperBound, fetch.released)).map { version.stored.contains($0) } != false
        guard behind, window.lowerBound <= fetch.front, fetch.skipped.isEmpty, reaches(fetch, window, of: reader, session) else {
            return false
        }
        return !fetch.isPaused || (window.upperBound - fetch.front < readAhead(of: fetch, session) / 2 && window.lowerBound < fetch.front)
    }

    /// Whether the lease contains the rest of the reader's window, or no request follows before the
    /// reader comes to its end.
    private static func reaches(_ fetch: FetchState, _ window: ByteRange, of reader: ReaderState, _ session: SessionState) -> Bool {
        guard let upper = fetch.upper, upper < window.upperBound else { return true }
        return RequestWindow.isUsed(for: reader, session) && reader.position < upper
    }
}
