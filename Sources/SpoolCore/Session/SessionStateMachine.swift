/// Decides everything about one resource: its readers, its fetches, its stored bytes and its
/// version.
///
/// The machine is a value without clock, disk, network or closure. Events arrive as method calls,
/// and decisions leave as `SessionAction`s. The shell (`ResourceSession`) keeps the machine behind
/// one lock and carries out the actions after it has released the lock. An action may therefore be
/// late or repeated. Each one is a level and not an edge, so repetition is harmless.
///
/// Terms:
///
/// - A *reader* has a position and a *window*: the bytes from there on that it will need soon.
/// - A *fetch* is one origin request. Its *lease* is `[front, upper)`: the bytes that no other
///   fetch may ask for. Its *memory* is `[released, front)`: bytes that are received, not yet
///   stored, and readable.
/// - The *version* is the representation that the session serves now.
/// - A *relay* is a fetch whose bytes go to its readers and are not stored.
/// - A reader *commits to* a version when its consumer receives the length, the type or bytes of it
///   (`Reader.told`). From then on it gets bytes of that version or an error. The commit of bytes
///   to the index is unrelated.
///
/// How readers, fetches and versions interact:
///
/// 1. The first reader makes the session open the index (`readerJoined`, `.open`). The index
///    returns a stored version or none (`opened`).
/// 2. Without a version, one fetch discovers it: the head of the response becomes the version, and
///    the body serves the readers (`discover`, `headReceived`).
/// 3. With a version, each reader first decides whether it may use that version (`mayUse`). If it
///    may not, one conditional request asks the origin, and the reader waits (`revalidate`).
/// 4. A reader calls `prepare` for the representation and `step` for bytes. A step returns stored
///    bytes, bytes in the memory of a fetch, or `.wait`.
/// 5. After most events `replan` compares the windows with the leases. It starts fetches for gaps,
///    and pauses, resumes or ends the fetches that run.
/// 6. The shell offers body bytes (`intake`), stores what the machine keeps, and reports each write
///    (`wrote`). The written bytes then leave the memory of the fetch and become stored bytes of
///    the version.
/// 7. A response of another version replaces the current one (`replaceVersion`). Readers that have
///    committed to the old version fail, because bytes of two versions never mix. The other readers
///    prepare again.
/// 8. A version without a strong validator cannot combine responses. Each of its readers takes all
///    of its bytes from one response (`SessionStateMachine+OwnResponses`).
package struct SessionStateMachine: Sendable {
    /// The bounds of this session's decisions.
    package let limits: SessionLimits
    /// The rules by which responses may be stored.
    package internal(set) var rules: StoringRules
    /// The request fields that are sent to the origin, besides range and conditions.
    package internal(set) var requestFields = HTTPFields()
    /// The stage of the session's life cycle.
    package internal(set) var phase: Phase = .new
    /// The representation that is served now; nil until the index or the origin supplies one.
    package internal(set) var version: Version?
    /// The readers, in the order in which they came.
    package internal(set) var readers: [Reader] = []
    /// The fetches, in the order in which they were started.
    package internal(set) var fetches: [Fetch] = []
    /// The bytes that a fetch policy still asks for after its reader has left.
    package internal(set) var goal: ByteRange?
    /// The number of origin responses so far that established or confirmed the current version.
    var confirmations: UInt64 = 0
    /// The cached result of the freshness check, so that a hit need not repeat it.
    var standingUse: StandingUse?
    /// Whether a stale response was served and the origin is still to be asked about it
    /// (stale-while-revalidate).
    var owesRevalidation = false
    /// Whether the version's representation changed between two events, so that it has to be
    /// committed.
    var owesUpdate = false
    /// Whether requests from offset 0 on name no range. Set when the origin's response to a range
    /// from 0 on was malformed, contradicted itself, or had no strong validator and was too short.
    var asksPlainly = false
    /// Whether requests are open-ended, whatever `requestBytes` is. Set when a windowed response
    /// shows that the origin has no strong validator: the whole then has to come in one response.
    var asksOpenEnded = false
    /// The number of pages in a row that came instead of media.
    var pagesInARow = 0
    var failuresInARow = 0
    var jitter: UInt64 = 0
    /// Back-off: fetches are retried no earlier than this. A waiting reader that has seen no
    /// failure yet gets one immediate attempt.
    package internal(set) var retryAt: MonotonicInstant?
    var pace = OriginPace()
    var nextReader: UInt64 = 1
    var nextFetch: UInt64 = 1

    /// The life cycle of the session.
    package enum Phase: Hashable, Sendable {
        /// No reader has come yet; next: `.opening`.
        case new
        /// The index is being read; next: `.ready`.
        case opening
        /// The machine plans fetches and serves readers.
        case ready
        /// The resource was removed or the cache closed: readers fail, and no fetch starts.
        case ended(ReadFailure)
    }

    /// The representation that is served now. Every event reads it and few change it, so it is
    /// copied on write.
    package typealias Version = CopyOnWrite<VersionState>

    /// The state of one version.
    package struct VersionState: Hashable, Sendable {
        /// The number of this version in the store.
        package var generation: GenerationID
        /// Length, validator and fields of this version.
        package var representation: Representation { didSet { revision += 1 } }
        /// The number of changes to `representation` since this version became current.
        package private(set) var revision: UInt64 = 0
        /// The bytes that are stored, including those that are unverified or being evicted.
        package var stored: ByteRangeSet
        /// The part of `stored` that was written before the store was opened and has not been
        /// compared with its checksums since. No reader may use it yet.
        package var unverified = ByteRangeSet()
        /// The part of `unverified` that is being compared with its checksums.
        package var verifying = ByteRangeSet()
        /// The part of `stored` that is being evicted. Until it is gone it is neither used nor
        /// fetched again.
        package var evicting = ByteRangeSet()
        /// The reason why bytes of this version are passed on without being stored; nil when they
        /// may be stored.
        package var passReason: PassReason?
        /// The value of `confirmations` when the origin last established or confirmed this version;
        /// 0 when that was before this session.
        package var confirmation: UInt64 = 0
        /// The rule that decides whether another response is of this version.
        package var identity = Identity.validator
        /// The request whose response supplied the representation's fields; nil when that was
        /// before this session.
        package var selectedBy: Selecting?
        /// The cookies of that response, for the reader whose request it answered.
        var cookies: Cookies?
        /// The highest offset that relays have passed on without storing. The version is at least
        /// as long.
        package var passedEnd: Int64 = 0
        /// Whether the origin answered a range request with the whole body.
        package var refusesRanges = false
        /// Whether a response whose body is stored as this version has begun. A version without a
        /// strong validator has only one such response.
        var hasBegun = false
        /// The error that ended that response early.
        var brokenBy: OriginError?
    }

    /// The part of a request, besides range and conditions, by which an origin may select its
    /// response (RFC 9110 §12.5.5).
    package struct Selecting: Hashable, Sendable {
        /// The fields of the request.
        package var fields: HTTPFields
        /// The web site on whose behalf the request was made: the value of `Origin`.
        package var site: String?
    }

    /// Values of `Set-Cookie`. They go to one reader, once, and are never stored (RFC 9111 §7.3).
    struct Cookies: Hashable, Sendable {
        var reader: ReaderID
        var values: [String]
    }

    /// One consumer of the bytes of the resource.
    package struct Reader: Hashable, Sendable {
        /// The identity of the reader in calls and actions.
        package let id: ReaderID
        /// The web site on whose behalf it reads: the value of a browser's `Origin`; nil for a
        /// player, which belongs to no site.
        package var site: String?
        /// The offset of the next byte that it reads.
        package var position: Int64
        /// The offset after the last byte that it reads; nil for the end of the resource.
        package var end: Int64?
        /// How far fetches run ahead for it.
        package var policy: FetchPolicy
        /// The freshness rules by which it may use stored bytes.
        package var rules: UseRules
        /// The value of `confirmations` when the reader came. A later confirmation settles for this
        /// reader, too, which version is current.
        package let confirmationsBefore: UInt64
        /// The version that its freshness rules let it use.
        package var trusted: GenerationID?
        /// Whether it waits for the origin to confirm or replace the version.
        package var awaitsOrigin = false
        /// Whether it has waited for that at any time.
        package var awaitedOrigin = false
        /// Whether it may use the version unconfirmed when the origin is out of reach.
        package var mayDoWithoutOrigin = false
        /// The version that `prepare` returned last.
        package var prepared: GenerationID?
        /// The version that its consumer has committed to, because it received its length, type or
        /// bytes.
        package var told: GenerationID?
        /// The representation behind `told`, where only equal length and type can tie another
        /// response to it.
        var toldAs: Representation?
        /// The source of its bytes while the version has no strong validator.
        package var source = Source.undecided
        /// Its position when `source` was decided.
        var boundAt: Int64 = 0
        /// The number of requests that were made for responses of its own.
        var ownResponses = 0
        /// Whether it needs a response of its own and has to wait until `retryAt` to request it.
        var awaitsRetry = false
        /// The error that ended its own response early.
        var brokenBy: OriginError?
        /// Whether its window counts: it asked for bytes, or announced on joining that it will.
        package var wantsBytes: Bool
        /// The event that it waits for.
        package var waitsFor: Wait = .nothing
        /// Whether a consumer that waits for the version can use it only together with the first
        /// byte.
        package var preparesWithFirstByte = false
        /// Whether the origin had to be asked for the version: none was known when the reader came,
        /// or another one was.
        package var awaitedVersion = false
        /// The stored bytes that it received last and may still be sending.
        package var hold: ByteRange?
        /// Whether it has received bytes.
        package var hasProgress = false
        /// The failed fetches since its last byte that it survived. With a failure its next attempt
        /// waits for `retryAt`; a reader without one does not wait.
        package var failures = 0
        /// The accepted responses in a row that ended early without a new byte.
        var emptyAnswers = 0
        /// Whether its client can repeat the request by itself and should do so soon: an HTTP
        /// client.
        package var endsSoon = false
        /// The reason why the reader has ended; nil while it goes on.
        package var failure: ReadFailure?

        /// Whether it uses stored bytes only and never causes an origin request.
        package var onlyStored: Bool { rules.mode == .onlyStored }
        /// Whether bytes that are fetched for it must not be stored.
        package var storesNothing: Bool { rules.mode == .doNotStore }
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

    /// One origin request and its response.
    package struct Fetch: Hashable, Sendable {
        /// The identity of the fetch in calls and actions.
        package let id: FetchID
        /// The offset that the request asks for.
        package let start: Int64
        /// The offset after the last byte of the lease; nil for the end of the resource.
        package var upper: Int64?
        /// The offset of the next byte that will arrive.
        package var front: Int64
        /// The lowest offset that is still in memory only.
        package var released: Int64
        /// The stage of the fetch.
        package var phase: FetchPhase = .requested
        /// Whether its bytes go to readers only and are not stored.
        package var isRelay = false
        /// Whether its response belongs to the one reader that is bound to it (`Source.own`).
        package var isOwn = false
        /// The generation that names that response; nil before its head.
        var ownGeneration: GenerationID?
        /// Whether the readers that it was started for asked that nothing be stored.
        package var storesNothing = false
        /// Whether the transport is paused until `.resume`.
        package var isPaused = false
        /// The generation whose bytes it brings; nil before its head.
        package var generation: GenerationID?
        /// The generation whose validator was sent in `If-Range`.
        package var condition: GenerationID?
        /// The generation that its conditional request asks about; nil for a request for bytes.
        package var revalidates: GenerationID?
        /// The offset after the last byte that the conditional request named; nil for an open
        /// range.
        var namedEnd: Int64?
        /// The fields and the site of the request.
        package var selecting: Selecting
        /// The reader that it was made for; nil when no reader waited.
        package var askedBy: ReaderID?
        /// The time at which it was started, for measuring the origin's pace.
        package var startedAt: MonotonicInstant
        /// The time since which no reader needs it; nil while one does. It closes after
        /// `SessionLimits.linger`.
        package var lingersSince: MonotonicInstant?
        /// The offset at which the body ends according to its own head; nil when the head does not
        /// state it.
        package var servedEnd: Int64?
        /// The number of body bytes before the requested offset that are still to be dropped.
        package var skip: Int64 = 0
        /// Runs between `released` and `front` that are not in its memory: they were already
        /// stored, are in the memory of another fetch, or were written while an earlier write
        /// failed.
        package var skipped = ByteRangeSet()
        /// The time since which a reader at the front of this relay has waited for a reader behind
        /// it.
        var blockedSince: MonotonicInstant?
        /// Whether that wait exceeded `SessionLimits.relayPatience`. Readers at the front then get
        /// requests of their own.
        var isBlocked = false
        /// Whether the fetch is paused because no buffer was free. The pool reports when the body
        /// can be offered again.
        package var waitsForBuffer = false

        /// Whether `offset` is in the lease: the fetch will still bring that byte.
        package func leases(_ offset: Int64) -> Bool {
            offset >= front && upper.map { offset < $0 } ?? true
        }

        /// Ends the lease. The bytes in memory stay until they are stored or taken.
        mutating func drain() {
            upper = front
            phase = .draining
        }

        /// Whether a relay can serve a reader at `offset`: from its memory, with its next byte, or
        /// at the offset that it was asked for. The last case matters when the origin sends the
        /// whole body, and the relay skips to that offset.
        func serves(_ offset: Int64) -> Bool {
            offset >= released && (offset <= front || offset == start)
        }

        /// The end of the remembered run that contains `offset`.
        func runEnd(from offset: Int64) -> Int64 {
            ByteRange(offset, front).flatMap { skipped.firstRange(atOrAfter: offset)?.intersection($0)?.lowerBound } ?? front
        }

        mutating func dropReleasedSkips() {
            if !skipped.isEmpty, let below = ByteRange(0, released) { skipped.remove(below) }
        }

        var isDrained: Bool { phase == .draining && released >= front }

        /// Whether the byte at `offset` is in its memory.
        package func remembers(_ offset: Int64) -> Bool {
            offset >= released && offset < front && !skipped.contains(offset)
        }

        /// The first offset from `offset` on that is in its memory, or nil if there is none.
        func firstRemembered(from offset: Int64) -> Int64? {
            ByteRange(max(offset, released), front).flatMap { skipped.firstGap(in: $0)?.lowerBound }
        }
    }

    /// The stage of a fetch.
    package enum FetchPhase: Hashable, Sendable {
        /// The request is made or queued; next: `.receiving`, or removed.
        case requested
        /// The head was accepted and body bytes arrive. Next: `.draining`, or removed.
        case receiving
        /// The transfer is over, but its memory is not yet stored or taken. Next: removed.
        case draining
    }

    /// Creates a machine in phase `.new`, which plans by `limits` and stores by `rules`.
    package init(limits: SessionLimits = SessionLimits(), rules: StoringRules = StoringRules()) {
        self.limits = limits
        self.rules = rules
    }
}

extension SessionStateMachine.Version {
    /// Whether bytes of several responses may be combined (RFC 9110 §15.3.7.3).
    package var isCombinable: Bool { self.identity != .validator || self.representation.validator.isStrong }

    /// Whether the body of a response from `offset` on may be stored with the bytes that are stored
    /// already.
    ///
    /// Without a strong validator only one response's bytes are kept, and that response begins at 0
    /// (RFC 9110 §15.3.7.3).
    func storesResponse(from offset: Int64) -> Bool {
        self.passReason == nil && (isCombinable || (offset == 0 && self.stored.isEmpty))
    }

    /// Whether every byte of the resource is stored. False while the length is unknown.
    package var isComplete: Bool {
        guard let length = self.representation.length else { return false }
        // Every hit reads this. Comparing byte counts would be slower, because `totalBytes` adds up
        // all spans.
        return ByteRange(0, length).map { self.stored.contains($0) } ?? (length == 0)
    }
}

/// The identity of a reader within its session. Later readers have larger numbers.
package struct ReaderID: Hashable, Comparable, Sendable {
    /// The number itself, counted from 1.
    package let rawValue: UInt64
    /// Creates the identity with this number.
    package init(rawValue: UInt64) { self.rawValue = rawValue }
    package static func < (a: ReaderID, b: ReaderID) -> Bool { a.rawValue < b.rawValue }
}

/// The identity of a fetch within its session. Later fetches have larger numbers.
package struct FetchID: Hashable, Comparable, Sendable {
    /// The number itself, counted from 1.
    package let rawValue: UInt64
    /// Creates the identity with this number.
    package init(rawValue: UInt64) { self.rawValue = rawValue }
    package static func < (a: FetchID, b: FetchID) -> Bool { a.rawValue < b.rawValue }
}

/// A task for the shell that follows from an event.
package enum SessionAction: Hashable, Sendable {
    /// Look up the resource in the index and call `opened` with the result.
    case open
    /// Start an origin request.
    case start(FetchID, OriginAsk)
    /// Offer the body again.
    case resume(FetchID)
    /// End the transfer. The machine expects no further event of it.
    case cancel(FetchID)
    /// Notify a waiting reader that it can go on.
    case wake(ReaderID)
    /// Call `timePassed` at this moment. It replaces the moment set before.
    case setTimer(MonotonicInstant)
    /// Compare stored bytes of the generation with their checksums and call `verified` with the
    /// result.
    case verify(ByteRange, GenerationID)
    /// Remove stored bytes of the generation from the index. From now on they are a gap.
    case discard(ByteRangeSet, GenerationID)
    /// Free the memory of this fetch below the offset.
    case release(FetchID, below: Int64)
    /// Note that another version became current. Its bytes and those of the old one never mix.
    case versionChanged(from: GenerationID?, to: GenerationID)
    /// Commit the representation: the length or the fields of the current version changed.
    case representationUpdated
    /// Note that a reader uses stored bytes although the origin could not confirm them.
    case usedUnvalidated(OriginError)
    /// Delete the stored bytes of this generation: the origin no longer has the resource.
    case gone(GenerationID)
    /// Delete the stored bytes of this generation: they cannot be completed, because nothing ties
    /// further bytes to them.
    case unfinished(GenerationID)
    /// Stop serving this version, because the origin contradicted it. Its index entry stays.
    case forgotten(GenerationID)
    /// Note that the version cannot or must not be stored.
    case passing(PassReason)
    /// Note that a fetch is over. The error is nil when it succeeded or was cancelled.
    case ended(FetchID, OriginError?)
}

extension [SessionAction] {
    // Most parts of an event produce no action. Appending an empty array costs as much as appending
    // a full one, so these operators skip it.

    static func += (actions: inout Self, more: Self) {
        if actions.isEmpty { actions = more } else if !more.isEmpty { actions.append(contentsOf: more) }
    }

    static func + (actions: Self, more: Self) -> Self {
        var all = actions
        all += more
        return all
    }
}

/// The range, conditions and site of one origin request.
package struct OriginAsk: Hashable, Sendable {
    /// The offset of the first byte.
    package var lower: Int64
    /// The offset after the last byte; nil for an open range.
    package var upper: Int64?
    /// The value of `If-Range`, when bytes of the version are stored already.
    package var ifRange: String?
    /// The conditions of a revalidation; nil for a request for bytes.
    package var revalidation: Revalidation?
    /// Whether the request names no range and so asks for the whole.
    package var isPlain = false
    /// The value of `Origin`; nil when the field is not sent.
    package var site: String?

    /// Creates a request for `[lower, upper)` that names its range and no site.
    package init(lower: Int64, upper: Int64?, ifRange: String?, revalidation: Revalidation? = nil) {
        self.lower = lower
        self.upper = upper
        self.ifRange = ifRange
        self.revalidation = revalidation
    }
}

/// The reason why bytes are passed on without being stored.
package enum PassReason: Hashable, Sendable {
    /// `Cache-Control: no-store` (RFC 9111 §5.2.2.5).
    case noStore
    /// `Vary: *` (RFC 9111 §4.1).
    case varyAny
    /// `Cache-Control: private`, and the cache serves several users (RFC 9111 §5.2.2.7).
    case privateResponse
    /// The request carried credentials, and the cache serves several users (RFC 9111 §3.5).
    case authorizedRequest
    /// An HTML page came where media were expected. The value is its media type.
    case unexpectedType(String)
    /// The resource exceeds the limit for one resource, in bytes.
    case tooLarge(limit: Int64)
    /// The origin states a length, or a last position, beyond `ByteRange.maximumOffset`.
    case lengthBeyondBound
    /// The reader asked that nothing be stored.
    case byRequest
    /// The store is open for reading only.
    case readOnlyStore
    /// The bytes in use fill the quota.
    case quotaReached
    /// The disk has no more free space than the store leaves to others.
    case diskReserved
    /// The file system of the store cannot hold a file of that size.
    case fileTooLarge
    /// The store failed repeatedly and is not used for a while.
    case storeRests
    /// The store failed. The value is its own message.
    case storeTrouble(String)
}

/// The measured speed of the origin.
package struct OriginPace: Hashable, Sendable {
    /// The time from the request to the head of the last fetch, in nanoseconds.
    package var firstByte: Nanoseconds?
    /// The rate of the last fetch that ran long enough for a measurement, in bytes a second.
    package var bytesPerSecond: Int64?

    /// The number of bytes that the origin would send while a new request waits for its first byte,
    /// within `bounds`.
    func joinDistance(within bounds: ClosedRange<Int64>) -> Int64 {
        guard let firstByte, let bytesPerSecond else { return bounds.lowerBound }
        let product = Double(bytesPerSecond) * (Double(firstByte) / 1e9)
        return Int64(min(max(product, Double(bounds.lowerBound)), Double(bounds.upperBound)))
    }
}
