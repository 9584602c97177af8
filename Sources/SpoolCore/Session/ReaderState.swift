/// One consumer of the bytes of the resource.
///
/// Three lives run side by side in a reader. `validation` records whether it may use the current
/// version, `commitment` which version its consumer has received, and `source` which response its
/// bytes come from. ARCHITECTURE.md has drawings of them.
package struct ReaderState: Hashable, Sendable {
    /// The identity of the reader in calls and actions.
    package let id: ReaderID
    /// The web site on whose behalf it reads (`ReaderRequest.site`).
    package let site: String?
    /// The request by which the origin is asked for it.
    package let asks: CopyOnWrite<RequestSource>
    /// The offset of the next byte that it reads.
    package var position: Int64
    /// The offset after the last byte that it reads; nil for the end of the resource.
    package var end: Int64?
    /// How far fetches run ahead for it.
    package let policy: FetchPolicy
    /// The number of bytes that it has taken without a move.
    package internal(set) var takenInARow: Int64 = 0
    /// The freshness rules by which it may use stored bytes.
    package let rules: UseRules
    /// The value of `VersionLedger.confirmations` when the reader came. A later confirmation
    /// settles for this reader, too, which version is current.
    package let confirmationsBefore: UInt64
    /// Whether it may use the current version.
    package var validation = Validation.unchecked
    /// The version that its consumer has received.
    package var commitment = Commitment.none
    /// The body that its bytes come from.
    package var source = Source.undecided
    /// Its position when `source` was decided.
    var boundAt: Int64 = 0
    /// The number of requests that were made for responses of its own.
    var ownResponses = 0
    /// Whether its window counts: it asked for bytes, or announced on joining that it will.
    package var wantsBytes: Bool
    /// Whether it needs bytes if the index has no version. It looks at a stored one first.
    var wantsBytesIfUnknown = false
    /// The event that it waits for.
    package var waitsFor: Wait = .nothing
    /// Whether it needs a response of its own and has to wait until `BackOff.retryAt` to request
    /// it.
    var awaitsRetry = false
    /// Whether a consumer that waits for the version can use it only together with the first byte.
    package var preparesWithFirstByte = false
    /// Whether the origin had to be asked for the version: none was known when the reader came, or
    /// another one was.
    package var awaitedVersion = false
    /// Whether a request to the origin was made for it.
    package var hasAsked = false
    /// Whether it has waited at any time for the origin to confirm or replace the version.
    package var awaitedOrigin = false
    /// The stored bytes that it received last and may still be sending.
    package var hold: ByteRange?
    /// Whether its consumer can pass on a response with any status. Other readers fail with the
    /// status.
    package let takesAnyStatus: Bool
    /// Whether its client named no range.
    package let asksWhole: Bool
    /// Whether its client named the last byte. `end` has the length of the resource otherwise, once
    /// that is known.
    let namesEnd: Bool
    /// Whether it began with the first byte of the resource.
    let beginsAtZero: Bool
    /// The time at which it goes on with the stored version, if the origin has not answered.
    var questionEnds: MonotonicInstant?
    /// The number of last bytes that it reads, until its response and so their position is known.
    /// Meanwhile it has no window.
    package var suffix: Int64?
    /// The failures that it has survived.
    package var patience = Patience()
    /// The reason why the reader has ended; nil while it goes on.
    package var failure: ReadFailure?

    /// Creates a reader that has received nothing. Inlined, because a hit takes the parts out of its
    /// request and needs no copy of them.
    ///
    /// - Parameters:
    ///   - asks: The request by which the origin is asked where `request` has none.
    ///   - confirmations: The value of `VersionLedger.confirmations`.
    @inline(__always)
    init(id: ReaderID, _ request: ReaderRequest, asks: CopyOnWrite<RequestSource>, confirmations: UInt64) {
        self.id = id
        site = request.site
        self.asks = request.asks.map(CopyOnWrite.init) ?? asks
        position = min(request.start, ByteRange.maximumOffset)
        end = request.end.map { min($0, ByteRange.maximumOffset) }
        policy = request.policy
        rules = request.rules
        confirmationsBefore = confirmations
        wantsBytes = request.wantsBytes
        takesAnyStatus = request.takesAnyStatus
        asksWhole = request.asksWhole
        namesEnd = request.end != nil
        beginsAtZero = request.start == 0 && request.suffix == nil
        suffix = request.suffix
        patience.endsSoon = request.endsSoon
    }

    /// Ends the reader at `offset` at the latest.
    mutating func endNoLater(than offset: Int64) {
        end = min(end ?? offset, offset)
    }

    /// Whether a reader may use the current version.
    package enum Validation: Hashable, Sendable {
        /// The freshness rules have not been applied to the current version.
        case unchecked
        /// The reader waits for the origin to confirm or replace the version. When the origin is
        /// out of reach, it may use the version unconfirmed if `mayDoWithout` is true.
        case awaitsOrigin(mayDoWithout: Bool)
        /// The version lacks bytes of the reader's range. The reader waits until `questionEnds` for
        /// the origin to confirm or replace it, and uses it then.
        case awaitsGap
        /// The freshness rules let the reader use this version. Any other version is unchecked.
        case trusts(GenerationID)
    }

    /// The version that a consumer has received.
    package enum Commitment: Hashable, Sendable {
        /// The consumer has received nothing.
        case none
        /// `prepare` returned this version. Another one may still take its place.
        case prepared(GenerationID)
        /// The consumer has received the length, type or bytes of this version, and gets its bytes
        /// or an error from now on. The representation is present where only equal length and type
        /// can tie another response to this one.
        case told(GenerationID, as: CopyOnWrite<Representation>?)
    }

    /// The range for which its client asked, from `offset` on, or nil if the consumer is no client
    /// that gets the origin's statuses, or asked for no byte there.
    func clientRange(from offset: Int64) -> ClientRange? {
        guard takesAnyStatus, suffix == nil, offset.isBelow(end) else { return nil }
        return asksWhole && offset == 0 ? .whole : .part(lower: offset, upper: namesEnd ? end : nil)
    }

    /// The event that a reader waits for.
    package enum Wait: Hashable, Sendable {
        /// The reader does not wait.
        case nothing
        /// It waits for the representation.
        case version
        /// It waits for a byte at its position.
        case bytes
    }

    /// The failures that a reader has survived, and the reasons to survive more of them.
    package struct Patience: Hashable, Sendable {
        /// Whether the reader has received bytes.
        package var hasProgress = false
        /// The failed fetches since its last byte that it survived. With a failure its next attempt
        /// waits for `BackOff.retryAt`; a reader without one does not wait.
        package var failures = 0
        /// The accepted responses in a row that ended early without a new byte.
        var emptyAnswers = 0
        /// Whether its client can repeat the request by itself and should do so soon: an HTTP
        /// client.
        package var endsSoon = false

        mutating func bytesTaken() {
            hasProgress = true
            failures = 0
            emptyAnswers = 0
        }

        /// Counts a failure of the reader's fetch, and returns whether the reader waits for another
        /// attempt.
        ///
        /// An accepted response that ends without a new byte is worse than none. A reader whose
        /// client can repeat the request by itself fails after `limits.emptyAnswers` of them in a
        /// row.
        mutating func waits(after error: OriginError, of fetch: FetchState, _ limits: SessionLimits) -> Bool {
            guard error.isRetryable, error.askedDelay ?? 0 <= limits.longestAskedDelay, failures < limits.failures else { return false }
            if case .truncated = error, fetch.isReceiving, fetch.front == fetch.start { emptyAnswers += 1 }
            if endsSoon, emptyAnswers >= limits.emptyAnswers { return false }
            failures += 1
            return true
        }
    }
}

extension ReaderState {
    /// Whether it uses stored bytes only and never causes an origin request.
    package var onlyStored: Bool { rules.mode == .onlyStored }

    /// Whether bytes of its range were requested for it before it could use the version.
    package var askedForGap: Bool { questionEnds != nil && hasAsked && !awaitedOrigin }

    /// Whether bytes that are fetched for it must not be stored.
    package var storesNothing: Bool { rules.mode == .doNotStore }

    /// Whether it waits for the origin to confirm or replace the version.
    var awaitsOrigin: Bool { if case .awaitsOrigin = validation { true } else { false } }

    /// Whether it may use the version unconfirmed if the origin is out of reach.
    var mayDoWithoutOrigin: Bool { validation == .awaitsOrigin(mayDoWithout: true) }

    /// Whether it waits for an answer about a gap further on, and has stored bytes to go on with.
    func mayDoWithoutAnswer(in version: SessionVersion?) -> Bool {
        validation == .awaitsGap && version?.stored.contains(position) == true
    }

    /// Whether it waits for the origin before it uses the version.
    var awaitsAnswer: Bool { awaitsOrigin || validation == .awaitsGap }

    /// The version that the consumer has committed to, or nil before that.
    package var told: GenerationID? { if case .told(let generation, _) = commitment { generation } else { nil } }

    /// Whether the bytes of `fetch` are for this reader: a reader apart takes only those of its
    /// body, and the others those of the current version.
    func draws(from fetch: FetchState) -> Bool {
        switch source {
        case .awaited(let id): id == fetch.id
        case .body(let generation), .replaced(let generation): fetch.isOwn && fetch.generation == generation
        case .undecided, .version: !fetch.isOwn
        }
    }

    /// The bytes that the reader will need soon.
    /// - Returns: nil if it needs none.
    func window(in body: SessionVersion?, _ limits: SessionLimits) -> ByteRange? {
        guard wantsBytes, failure == nil, !onlyStored, suffix == nil else { return nil }
        // When a different version than the reader's is current, its length does not bound what
        // this reader will get.
        let isOpen = source == .undecided && body.map { !$0.isCombinable && isNews($0) } == true
        let length = isOpen ? .max : body?.representation.length ?? .max
        let end = min(self.end ?? .max, length)
        guard position < end else { return nil }
        let upper: Int64 =
            switch policy {
            case .whilePlaying: min(end, position.addingSaturated(limits.readAheadBytes))
            case .readAhead(let bytes): min(length, position.addingSaturated(max(bytes, 1)))
            case .wholeResource: length
            }
        return ByteRange(position, max(upper, min(end, position + 1)))
    }

    /// The offset up to which its policy has its range fetched; nil for the end of the resource.
    var fetchEnd: Int64? {
        switch policy {
        case .whilePlaying: end
        case .readAhead(let bytes): end.map { max($0, position.addingSaturated(bytes)) }
        case .wholeResource: nil
        }
    }

    /// The bytes that its policy still asks for after it has left.
    /// - Returns: nil if the policy asks for none.
    var goal: ByteRange? {
        switch policy {
        case .whilePlaying: nil
        case .readAhead(let bytes): ByteRange(position, position.addingSaturated(bytes))
        case .wholeResource: ByteRange(lower: 0, upper: .max)
        }
    }

    /// Moves it past `count` bytes that its consumer took.
    mutating func take(_ count: Int64) {
        position += count
        takenInARow += count
        patience.bytesTaken()
    }

    /// Moves it to `[start, end)`.
    mutating func move(to start: Int64, end: Int64?) {
        if start != position { takenInARow = 0 }
        position = start
        self.end = end
        suffix = nil
        hold = nil
    }

    /// Moves a reader of last bytes to the first of them, once its response is known.
    ///
    /// It reads the part of a response that states no complete length. It reads from the beginning if
    /// the response has no length at all, and if it is of another status, to which no range applies
    /// (RFC 9110 §14.2).
    mutating func placeSuffix(in body: SessionVersion?) {
        guard let suffix, let representation = body?.representation else { return }
        let length = representation.isContent ? representation.length : nil
        move(to: length.map { max(0, $0 - suffix) } ?? body?.servedPart?.lowerBound ?? 0, end: nil)
        if source != .undecided { boundAt = position }
    }

    /// Whether it waits only for the verification of stored bytes.
    func waitsForVerification(in version: SessionVersion?) -> Bool {
        waitsFor == .bytes && !isApart && version?.unverified.contains(position) == true
    }

    /// Whether it depends on a request now. It waits for a byte or a version; or the version is not
    /// known, and the request that discovers it is made for this reader, too.
    func isAsking(in version: SessionVersion?) -> Bool {
        (waitsFor != .nothing && !waitsForVerification(in: version)) || (version == nil && wantsBytes && !onlyStored)
    }

    /// Whether it waits at or beyond `offset` for a request that is not its own.
    func dependsOnRequest(from offset: Int64, in version: SessionVersion?) -> Bool {
        failure == nil && !isApart && isAsking(in: version) && position >= offset
    }

    /// Whether it waits for the next bytes of this fetch, or for its version.
    func isWaiting(for fetch: FetchState) -> Bool {
        waitsFor != .nothing && draws(from: fetch) && fetch.leases(position) && (!fetch.isRelay || fetch.serves(position))
    }

    // MARK: Commitment

    /// Commits the consumer to a body. Where only length and type can tie another response to it,
    /// its representation is kept.
    mutating func commit(to body: SessionVersion?) {
        if let commitment = body.flatMap(newCommitment) { self.commitment = commitment }
    }

    private func newCommitment(to body: SessionVersion) -> Commitment? {
        let isKept = isApart || !body.isCombinable
        return told == body.generation ? nil : .told(body.generation, as: isKept ? CopyOnWrite(body.representation) : nil)
    }

    /// Records the version that `prepare` returns.
    mutating func prepare(_ generation: GenerationID) {
        if told == nil { commitment = .prepared(generation) }
    }

    /// Whether `prepare` returned another body than the reader reads now, and the consumer has not
    /// committed to it.
    func isOutdated(by body: SessionVersion?) -> Bool {
        if case .prepared(let generation) = commitment { generation != body?.generation } else { false }
    }

    /// Whether the version is another than the one that the reader committed to, and differs from
    /// it in length or type.
    func isNews(_ version: SessionVersion) -> Bool {
        guard let told else { return false }
        return told != version.generation && !isAsTold(version.representation)
    }

    /// Whether a consumer that has committed to one response may go on with another. Equal length
    /// and type are enough for that, because no bytes of the two responses are combined. A consumer
    /// that has committed to a version with a strong validator gets no other.
    func isAsTold(_ representation: Representation) -> Bool {
        switch commitment {
        case .none, .prepared: true
        case .told(_, let told): told?.value.looksLike(representation) ?? false
        }
    }

    /// Whether the consumer has the head of a response, no byte of it yet, and may have the bytes of
    /// this version in their place. Its own response may have failed, and the version is its retry.
    func mayChange(to version: SessionVersion) -> Bool {
        guard case .told(_, .some) = commitment, source == .undecided else { return false }
        return !version.isCombinable && isAsTold(version.representation)
    }
}
