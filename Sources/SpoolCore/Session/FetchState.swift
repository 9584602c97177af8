/// One origin request and its response.
///
/// Its *lease* is `[front, upper)`: the bytes that no other fetch may ask for. Its *memory* is
/// `[released, front)`, without `skipped`: bytes that are received, not yet stored, and readable.
package struct FetchState: Hashable, Sendable {
    /// The identity of the fetch in calls and actions.
    package let id: FetchID
    /// The offset that the request asks for.
    package private(set) var start: Int64
    /// The offset after the last byte of the lease; nil for the end of the resource.
    package var upper: Int64?
    /// The offset of the next byte that will arrive.
    package var front: Int64
    /// The lowest offset that is still in memory only.
    package var released: Int64
    /// The stage of the fetch.
    package var stage: Stage
    /// Whether its bytes go to readers only and are not stored.
    package var isRelay = false
    /// Whether it brings a body apart: a response for one reader, or the rest of a past version.
    package var isOwn = false
    /// Whether the readers that it was started for asked that nothing be stored.
    package var storesNothing = false
    /// Whether the request has credentials of one client, so that a refusal holds for that client.
    var isForOneUser = false
    /// Whether it asks only whether the version has bytes behind its end, with the version's strong
    /// validator in `If-Range`.
    var asksEnd = false
    /// Whether it asks for a gap of a version that has to be confirmed, with the version's strong
    /// validator in `If-Range`.
    var asksGap = false
    /// Whether its request ends before the gap does (`RequestWindow`).
    var isWindow = false
    /// The number of last bytes that it asks for; nil for a request with a first offset. That
    /// offset is known with its head.
    var suffix: Int64?
    /// Whether body bytes are taken now.
    package var flow = Flow.running
    /// The request, besides range, conditions and site.
    let asks: CopyOnWrite<RequestSource>
    /// The fields and the site of the request.
    package var variant: RequestVariant
    /// The reader that it was made for; nil when no reader waited.
    package let askedBy: ReaderID?
    /// The time at which it was started, for measuring the origin's pace.
    package let startedAt: MonotonicInstant
    /// The time since which no reader needs it; nil while one does. It closes after
    /// `SessionLimits.linger`.
    package var lingersSince: MonotonicInstant?
    /// The last time at which a reader waited for its bytes or took some of them.
    var readAt: MonotonicInstant
    /// Whether no reader follows it: it was started ahead of its reader, or no reader has taken bytes
    /// of it for a round trip. Its transfer then has the urgency of a preload.
    package var isUnread = false
    /// Whether a reader has left it in the middle of a play (`AbandonedFetches`).
    var isAbandoned = false
    /// The number of body bytes before the requested offset that are still to be dropped.
    package var skip: Int64 = 0
    /// Runs between `released` and `front` that are not in its memory: they were already stored,
    /// are in the memory of another fetch, or were written while an earlier write failed.
    package var skipped = ByteRangeSet()
    /// Whether a slow reader holds the relay back.
    var blocking = Blocking.none

    init(
        id: FetchID, purpose: Purpose, lower: Int64, upper: Int64?, asks: CopyOnWrite<RequestSource>, site: String?,
        askedBy: ReaderID?, startedAt: MonotonicInstant
    ) {
        self.id = id
        start = lower
        self.upper = upper
        front = lower
        released = lower
        stage = .requested(purpose)
        self.asks = asks
        variant = RequestVariant(fields: asks.value.fields, site: site)
        self.askedBy = askedBy
        self.startedAt = startedAt
        readAt = startedAt
    }

    /// The stage of a fetch.
    package enum Stage: Hashable, Sendable {
        /// The request is made or queued.
        case requested(Purpose)
        /// The head was accepted and body bytes arrive.
        case receiving(Body)
        /// No reader needs it. It takes the bytes that have arrived already, and then its transfer
        /// ends.
        case closing(Body)
        /// The transfer is over, but its memory is not yet stored or taken. The body is nil if no
        /// head came; such a fetch has no memory and is removed at once.
        case draining(Body?)
    }

    /// The purpose of a request.
    package enum Purpose: Hashable, Sendable {
        /// Bytes. The generation is the one whose validator was sent in `If-Range`.
        case bytes(ifRange: GenerationID?)
        /// A conditional request asks whether this generation is current. It becomes an ordinary
        /// fetch, up to `namedEnd`, if another version turns out to be. The end is nil for an open
        /// range.
        case validation(of: GenerationID, namedEnd: Int64?)
    }

    /// The response of a fetch whose head was accepted.
    package struct Body: Hashable, Sendable {
        /// The generation whose bytes it brings.
        package var generation: GenerationID
        /// The offset at which the body ends according to its own head; nil when the head does not
        /// state it.
        package var servedEnd: Int64?
        /// Whether the end of the connection ends the body.
        var endsByClose = false
    }

    /// Whether body bytes are taken.
    package enum Flow: Hashable, Sendable {
        /// Body bytes are taken as they come.
        case running
        /// The transport is paused until `SessionAction.resume`.
        case paused
        /// The transport is paused because no buffer was free. The pool reports when the body can
        /// be offered again.
        case starved
        /// The transport is paused because the store is suspended and no reader waits.
        case held
    }

    /// Whether a reader at the front of a relay waits for a reader behind it.
    enum Blocking: Hashable, Sendable {
        /// No reader waits.
        case none
        /// A reader has waited since this moment.
        case since(MonotonicInstant)
        /// A reader has waited longer than `SessionLimits.relayPatience`. Readers at the front then
        /// get requests of their own.
        case overdue
    }
}

extension FetchState {
    /// Whether no head has been accepted yet.
    var isRequested: Bool { if case .requested = stage { true } else { false } }

    /// Whether its head was accepted and body bytes arrive.
    var isReceiving: Bool { if case .receiving = stage { true } else { false } }

    /// Whether it runs for readers or for the goal.
    var isOpen: Bool { isRequested || isReceiving }

    /// Whether it takes only what has arrived already.
    package var isClosing: Bool { if case .closing = stage { true } else { false } }

    /// Whether its transfer is over.
    var isDraining: Bool { if case .draining = stage { true } else { false } }

    /// Whether it is a conditional request without a response yet. It becomes an ordinary fetch if
    /// another version turns out to be current.
    package var isValidation: Bool { if case .requested(.validation) = stage { true } else { false } }

    /// The generation that its conditional request asks about; nil for a request for bytes.
    var revalidates: GenerationID? { if case .requested(.validation(let generation, _)) = stage { generation } else { nil } }

    /// Whether its request for bytes has `If-Range`.
    var isConditional: Bool { if case .requested(.bytes(.some)) = stage { true } else { asksGap } }

    private var body: Body? {
        switch stage {
        case .requested: nil
        case .receiving(let body), .closing(let body): body
        case .draining(let body): body
        }
    }

    /// The generation whose bytes it brings; nil before its head.
    package var generation: GenerationID? { body?.generation }

    /// The offset at which the body ends according to its own head; nil when the head does not
    /// state it.
    package var servedEnd: Int64? { body?.servedEnd }

    /// Whether the end of the connection ends its body.
    var endsByClose: Bool { body?.endsByClose == true }

    /// Whether the transport is paused.
    package var isPaused: Bool { flow != .running }

    /// Whether it brings bytes to store, ahead of a reader or for the goal.
    var isAhead: Bool { !isRelay && isOpen && lingersSince == nil && !isPaused }

    /// Whether `offset` is in the lease: the fetch will still bring that byte.
    package func leases(_ offset: Int64) -> Bool {
        offset >= front && offset.isBelow(upper)
    }

    /// Whether every byte of the lease has come.
    var isLeaseFilled: Bool { front.reaches(upper) }

    /// Whether a relay can serve a reader at `offset`: from its memory, with its next byte, or at
    /// the offset that it was asked for. The last case matters when the origin sends the whole
    /// body, and the relay skips to that offset.
    func serves(_ offset: Int64) -> Bool {
        offset >= released && (offset <= front || offset == start)
    }

    /// Whether the byte at `offset` is in its memory.
    package func remembers(_ offset: Int64) -> Bool {
        offset >= released && offset < front && !skipped.contains(offset)
    }

    /// The first offset from `offset` on that is in its memory, or nil if there is none.
    func firstRemembered(from offset: Int64) -> Int64? {
        ByteRange(max(offset, released), front).flatMap { skipped.firstGap(in: $0)?.lowerBound }
    }

    /// The end of the remembered run that contains `offset`.
    func runEnd(from offset: Int64) -> Int64 {
        ByteRange(offset, front).flatMap { skipped.firstRange(atOrAfter: offset)?.intersection($0)?.lowerBound } ?? front
    }

    // MARK: Changes

    /// Turns a conditional request that brings bytes into an ordinary fetch: its lease begins.
    mutating func becomeOrdinary() {
        if case .requested(.validation(_, let namedEnd)) = stage { upper = namedEnd }
    }

    /// Turns a question about the end into a fetch of the bytes behind it.
    mutating func becomeRest(of generation: GenerationID) {
        stage = .requested(.bytes(ifRange: generation))
        upper = nil
    }

    /// Sets the first offset of a request for the last bytes, once a head shows it: the first byte
    /// of the part, or the one that the request means in the whole.
    mutating func placeSuffix(in outcome: ResponseOutcome) {
        guard let suffix else { return }
        switch outcome {
        case .partial(let served, _): start = served.lowerBound
        case .full(let length): start = length.bytes.map { max(0, $0 - suffix) } ?? 0
        case .notModified, .notSatisfiable, .failed: return
        }
        front = start
        released = start
    }

    /// Takes back the end of its lease, as far as its response brings it. The request that took it
    /// brings none of these bytes.
    mutating func takeLeaseBack(upTo end: Int64?) {
        if isReceiving { upper = [end, servedEnd].compactMap(\.self).min() }
    }

    /// Lets the whole body arrive from its first byte on.
    mutating func startOver() {
        front = 0
        released = 0
    }

    /// Pauses the transfer because no reader needs its next bytes.
    mutating func pause() {
        if flow == .running { flow = .paused }
    }

    /// Applies the planner's decision about it.
    mutating func settle(_ settlement: FetchPlanner.Settlement, now: MonotonicInstant) {
        switch settlement {
        case .left, .over: break
        case .unneeded: if lingersSince == nil { lingersSince = now }
        case .resumed:
            lingersSince = nil
            flow = .running
            blocking = .none
        case .needed:
            lingersSince = nil
            blocking = .none
        case .heldBack:
            lingersSince = nil
            if blocking == .none { blocking = .since(now) }
        }
    }

    /// Moves the front past `run`, whose bytes are not needed from this fetch.
    mutating func pass(_ run: ByteRange) {
        front = run.upperBound
        flow = .running
        if released == run.lowerBound {
            released = run.upperBound
        } else {
            skipped.insert(run)
        }
    }

    /// Takes `range` out of the memory, because it is stored. An earlier write may have failed, and
    /// its bytes stay in memory.
    /// - Parameter remaining: the lowest offset that is still in memory.
    mutating func wrote(_ range: ByteRange, remaining: Int64) {
        skipped.insert(range)
        released = max(released, min(remaining, front))
        if !skipped.isEmpty, let below = ByteRange(0, released) { skipped.remove(below) }
    }

    /// Stops it from waiting for bytes that have not arrived yet.
    mutating func close() {
        guard case .receiving(let body) = stage else { return }
        (stage, flow, lingersSince) = (.closing(body), .running, nil)
    }

    /// Ends the lease. The bytes in memory stay until they are stored or taken.
    mutating func drain() {
        upper = front
        stage = .draining(body)
    }

    var isDrained: Bool { isDraining && released >= front }

    /// The error of a transfer that ended at the front, given the end that its body should have.
    func failure(_ error: OriginError?, expectedEnd: Int64?) -> OriginError? {
        // All bytes of the lease came. How the transfer ended after them does not matter.
        if isReceiving, isLeaseFilled { return nil }
        guard error == nil, let end = expectedEnd, front < min(end, upper ?? end) else { return error }
        return .truncated(afterBytes: front - start)
    }
}
