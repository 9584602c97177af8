/// Decides everything about one resource: who reads, what is fetched, what is stored, which version is current.
///
/// A value without clock, disk, network or closure. Events come in as method calls, decisions go out as `SessionAction`s.
/// The shell (`ResourceSession`) keeps it behind one lock and acts after letting go of it, so an action may be
/// carried out late or twice: all of them are levels, harmless when repeated.
///
/// Words: a *reader* stands at a position and has a *window* of bytes that it will want soon. A *fetch* is one origin request;
/// its *lease* is `[front, upper)`, the bytes that it alone may ask for. Its *memory* is `[released, front)`:
/// received, not yet stored, readable. A *version* is the representation that the session serves now.
package struct SessionStateMachine: Sendable {
    package let limits: SessionLimits
    package internal(set) var rules: StoringRules
    /// What the origin is asked with, besides range and conditions.
    package internal(set) var requestFields = HTTPFields()
    package internal(set) var phase: Phase = .new
    package internal(set) var version: Version?
    package internal(set) var readers: [Reader] = []
    package internal(set) var fetches: [Fetch] = []
    /// What a policy wants beyond the readers that are there.
    package internal(set) var goal: ByteRange?
    /// How often the origin said which version is current.
    var confirmations: UInt64 = 0
    /// What hits need not find out again.
    var standingUse: StandingUse?
    /// A stale response was served while the origin was to be asked beside that.
    var owesRevalidation = false
    /// What is known of the version changed between two events: it is to be committed.
    var owesUpdate = false
    /// What the origin made of a range from 0 on made no sense: of a resource that nobody knows the whole is asked, without a range.
    var asksPlainly = false
    /// A window showed that the origin has no strong validator: the whole is asked in one response, whatever `requestBytes` says.
    var asksOpenEnded = false
    /// Pages in a row that came instead of media.
    var pagesInARow = 0
    var failuresInARow = 0
    var jitter: UInt64 = 0
    /// Nobody but newcomers asks the origin before this moment.
    package internal(set) var retryAt: MonotonicInstant?
    var pace = OriginPace()
    var nextReader: UInt64 = 1
    var nextFetch: UInt64 = 1

    package enum Phase: Hashable, Sendable {
        /// Nothing was asked yet; next: `.opening`.
        case new
        /// The index is being asked; next: `.ready`.
        case opening
        /// Decisions are made.
        case ready
        /// Removed or closed: readers end, nothing is fetched.
        case ended(ReadFailure)
    }

    /// The representation that is served now. Every event looks at it, few change it.
    package typealias Version = CopyOnWrite<VersionState>

    /// What is known of a version.
    package struct VersionState: Hashable, Sendable {
        package var generation: GenerationID
        package var representation: Representation { didSet { revision += 1 } }
        /// How often the representation has changed since the version came.
        package private(set) var revision: UInt64 = 0
        package var stored: ByteRangeSet
        /// Of these, what an earlier opening stored and nobody has compared with its checks since: not to be used yet.
        package var unverified = ByteRangeSet()
        /// What is being compared.
        package var verifying = ByteRangeSet()
        /// What is being evicted: stored, neither to be used nor to be fetched anew before it is gone.
        package var evicting = ByteRangeSet()
        /// Nil when bytes may be stored, otherwise why they are passed on only.
        package var passReason: PassReason?
        /// Which word of the origin made or confirmed this version, counted from 1; 0 when that was before the session.
        package var confirmation: UInt64 = 0
        /// By what other responses are known to be of this version.
        package var identity = Identity.validator
        /// What the request was made with whose fields these are; nil when that was before the session.
        package var selectedBy: Selecting?
        /// What the response had for whoever it was asked for.
        var cookies: Cookies?
        /// How far bytes of it have come that were passed on and not stored: it is at least as long.
        package var passedEnd: Int64 = 0
        /// The origin answered a request for a range with the whole body.
        package var refusesRanges = false
        /// A response whose body is stored as this version has begun. Of a version without a strong validator there is only one.
        var hasBegun = false
        /// Why that response ended early.
        var brokenBy: OriginError?
    }

    /// What a request was made with besides range and conditions: by this an origin may select what it answers (RFC 9110 §12.5.5).
    package struct Selecting: Hashable, Sendable {
        package var fields: HTTPFields
        /// The web site on whose behalf it was made: the value of `Origin`.
        package var site: String?
    }

    /// Values of `Set-Cookie`: for one reader, once, and never stored (RFC 9111 §7.3).
    struct Cookies: Hashable, Sendable {
        var reader: ReaderID
        var values: [String]
    }

    /// One consumer.
    package struct Reader: Hashable, Sendable {
        package let id: ReaderID
        /// The web site on whose behalf it asks: the value of a browser's `Origin`; nil for a player, which is bound to none.
        package var site: String?
        package var position: Int64
        /// The offset after the last byte it wants; nil for the end of the resource.
        package var end: Int64?
        package var policy: FetchPolicy
        package var rules: UseRules
        /// How often the origin had spoken of the resource's version when it came; what it said later tells this reader what is current.
        package let confirmationsBefore: UInt64
        /// The version that it may use by its rules.
        package var trusted: GenerationID?
        /// It waits for the origin to say whether the version is current.
        package var awaitsOrigin = false
        /// It waited for that once.
        package var awaitedOrigin = false
        /// … and may use it should the origin be out of reach.
        package var mayDoWithoutOrigin = false
        /// The version that `prepare` answered with last.
        package var prepared: GenerationID?
        /// The version that its consumer was told of, by length, type or bytes.
        package var told: GenerationID?
        /// What was told, where nothing but equality of length and type can tie another response to it.
        var toldAs: Representation?
        /// Where its bytes come from while the version has no strong validator.
        package var source = Source.undecided
        /// Its position when `source` was decided.
        var boundAt: Int64 = 0
        /// Responses of its own that were asked for.
        var ownResponses = 0
        /// It needs a response of its own, and may not ask for it before `retryAt`.
        var awaitsRetry = false
        /// Why its own response ended early.
        var brokenBy: OriginError?
        /// It asked for bytes, or said that it will; its window counts.
        package var wantsBytes: Bool
        /// What it will be woken for.
        package var waitsFor: Wait = .nothing
        /// Whoever waits for the version can use it with the first byte only.
        package var preparesWithFirstByte = false
        /// The origin had to be asked for the version: none was known when it came, or another.
        package var awaitedVersion = false
        /// The stored bytes that it was handed last, and may still be sending.
        package var hold: ByteRange?
        /// It got bytes.
        package var hasProgress = false
        /// Fetches for it that failed since its last byte, while it was spared. Its next try waits for `retryAt`; that of a newcomer does not.
        package var failures = 0
        /// Answers in a row that were accepted and ended early without a new byte.
        var emptyAnswers = 0
        /// Its client can ask again by itself, and had better do so soon: an HTTP client.
        package var endsSoon = false
        package var failure: ReadFailure?

        /// Stored bytes only; never asks the origin.
        package var onlyStored: Bool { rules.mode == .onlyStored }
        /// What is fetched for it is not stored.
        package var storesNothing: Bool { rules.mode == .doNotStore }
    }

    package enum Wait: Hashable, Sendable {
        case nothing
        /// To know the representation.
        case version
        /// For a byte at its position.
        case bytes
    }

    /// One origin request.
    package struct Fetch: Hashable, Sendable {
        package let id: FetchID
        /// The offset that was asked for.
        package let start: Int64
        /// The offset after the last byte of the lease; nil for the end of the resource.
        package var upper: Int64?
        /// The offset of the next byte that will come.
        package var front: Int64
        /// The lowest offset that is still in memory only.
        package var released: Int64
        package var phase: FetchPhase = .requested
        package var isRelay = false
        /// Its response belongs to the one reader that is bound to it (`Source.own`).
        package var isOwn = false
        /// The generation that stands for that response; nil before its head.
        var ownGeneration: GenerationID?
        /// Whoever it was started for wants nothing stored.
        package var storesNothing = false
        package var isPaused = false
        /// The generation whose bytes it brings; nil before its head.
        package var generation: GenerationID?
        /// `If-Range` was sent for this generation.
        package var condition: GenerationID?
        /// The generation of which it asked whether it is current.
        package var revalidates: GenerationID?
        /// The offset after the last byte that such a request named; nil for an open range.
        var namedEnd: Int64?
        /// What it was made with.
        package var selecting: Selecting
        /// The reader for whom it was made; nil when nobody waited.
        package var askedBy: ReaderID?
        package var startedAt: MonotonicInstant
        package var lingersSince: MonotonicInstant?
        /// Where the body ends by its own head; nil when it did not say.
        package var servedEnd: Int64?
        /// Body bytes before the wanted offset, still to be dropped.
        package var skip: Int64 = 0
        /// Runs between `released` and `front` that came but were not kept: they were stored already, or in the memory of another fetch.
        package var skipped = ByteRangeSet()
        /// Since when a reader at the front of this relay waits for one behind it.
        var blockedSince: MonotonicInstant?
        /// It waited for too long: the readers at the front ask for themselves.
        var isBlocked = false
        /// No buffer was free; the pool says when the body can be offered again.
        package var waitsForBuffer = false

        package func leases(_ offset: Int64) -> Bool {
            offset >= front && upper.map { offset < $0 } ?? true
        }

        mutating func drain() {
            upper = front
            phase = .draining
        }

        /// Whether a relay is there for a reader at `offset`: what it remembers, what comes next, and what it was asked for,
        /// where the origin sends the whole and it skips to there.
        func serves(_ offset: Int64) -> Bool {
            offset >= released && (offset <= front || offset == start)
        }

        /// The end of the remembered run that begins at or before `offset`.
        func runEnd(from offset: Int64) -> Int64 {
            ByteRange(offset, front).flatMap { skipped.firstRange(atOrAfter: offset)?.intersection($0)?.lowerBound } ?? front
        }

        mutating func dropReleasedSkips() {
            if !skipped.isEmpty, let below = ByteRange(0, released) { skipped.remove(below) }
        }

        var isDrained: Bool { phase == .draining && released >= front }

        package func remembers(_ offset: Int64) -> Bool {
            offset >= released && offset < front && !skipped.contains(offset)
        }

        /// The first offset from `offset` on that is in its memory, or nil.
        func firstRemembered(from offset: Int64) -> Int64? {
            ByteRange(max(offset, released), front).flatMap { skipped.firstGap(in: $0)?.lowerBound }
        }
    }

    package enum FetchPhase: Hashable, Sendable {
        /// Asked (or queued to be); next: `.receiving`, or gone.
        case requested
        /// The head was accepted; bytes come. Next: `.draining`, or gone.
        case receiving
        /// The transfer is over, its memory is not yet stored or taken. Next: gone.
        case draining
    }

    package init(limits: SessionLimits = SessionLimits(), rules: StoringRules = StoringRules()) {
        self.limits = limits
        self.rules = rules
    }
}

extension SessionStateMachine.Version {
    /// Whether bytes of several responses may be combined (RFC 9110 §15.3.7.3).
    package var isCombinable: Bool { self.identity != .validator || self.representation.validator.isStrong }

    /// Whether the body of a response from `offset` on may be stored with what is there.
    ///
    /// Without a strong validator only one response's bytes are kept, and that one begins at 0 (RFC 9110 §15.3.7.3).
    func storesResponse(from offset: Int64) -> Bool {
        self.passReason == nil && (isCombinable || (offset == 0 && self.stored.isEmpty))
    }

    package var isComplete: Bool {
        guard let length = self.representation.length else { return false }
        // Not by the number of its bytes: those are counted span by span, and every hit asks.
        return ByteRange(0, length).map { self.stored.contains($0) } ?? (length == 0)
    }
}

package struct ReaderID: Hashable, Comparable, Sendable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }
    package static func < (a: ReaderID, b: ReaderID) -> Bool { a.rawValue < b.rawValue }
}

package struct FetchID: Hashable, Comparable, Sendable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }
    package static func < (a: FetchID, b: FetchID) -> Bool { a.rawValue < b.rawValue }
}

/// What the shell has to do after an event.
package enum SessionAction: Hashable, Sendable {
    /// Ask the index for the resource and answer with `opened`.
    case open
    /// Start an origin request.
    case start(FetchID, OriginAsk)
    /// Offer the body again.
    case resume(FetchID)
    /// End the transfer; no event of it is expected any more.
    case cancel(FetchID)
    /// A waiting reader has something to do.
    case wake(ReaderID)
    /// Call `timePassed` at this moment; replaces the last one.
    case setTimer(MonotonicInstant)
    /// Compare stored bytes of the generation with their checks and answer with `verified`.
    case verify(ByteRange, GenerationID)
    /// Take stored bytes of the generation out of the index: they are a gap from now on.
    case discard(ByteRangeSet, GenerationID)
    /// Memory of this fetch below the offset is no longer needed.
    case release(FetchID, below: Int64)
    /// Another version became current; its bytes and those of the old one never mix.
    case versionChanged(from: GenerationID?, to: GenerationID)
    /// The length or the fields of the current version were learnt; commit them.
    case representationUpdated
    /// A reader is served what is stored although the origin could not say that it is current.
    case usedUnvalidated(OriginError)
    /// The origin has the resource no more: what is stored of it goes.
    case gone(GenerationID)
    /// What is stored can't be completed, because nothing ties further bytes to it: it goes.
    case unfinished(GenerationID)
    /// The session serves this version no more, because the origin contradicted it. What the index has of it stays.
    case forgotten(GenerationID)
    /// The version can't or must not be stored.
    case passing(PassReason)
    /// A fetch came to its end; with the error where it failed.
    case ended(FetchID, OriginError?)
}

extension [SessionAction] {
    // Most parts of an event lead to nothing, and appending nothing to an array costs as much as appending something.

    static func += (actions: inout Self, more: Self) {
        if actions.isEmpty { actions = more } else if !more.isEmpty { actions.append(contentsOf: more) }
    }

    static func + (actions: Self, more: Self) -> Self {
        var all = actions
        all += more
        return all
    }
}

/// What one origin request asks for.
package struct OriginAsk: Hashable, Sendable {
    package var lower: Int64
    /// The offset after the last byte; nil for an open range.
    package var upper: Int64?
    /// The value of `If-Range`, where bytes of this version are at hand.
    package var ifRange: String?
    /// The conditions, where it is to be learnt whether a version is current; nil for a request for bytes.
    package var revalidation: Revalidation?
    /// No range is named: the whole is asked.
    package var isPlain = false
    /// The value of `Origin`; nil for none.
    package var site: String?

    package init(lower: Int64, upper: Int64?, ifRange: String?, revalidation: Revalidation? = nil) {
        self.lower = lower
        self.upper = upper
        self.ifRange = ifRange
        self.revalidation = revalidation
    }
}

/// Why bytes are passed on without being stored.
package enum PassReason: Hashable, Sendable {
    /// `Cache-Control: no-store` (RFC 9111 §5.2.2.5).
    case noStore
    /// `Vary: *` (RFC 9111 §4.1).
    case varyAny
    /// `Cache-Control: private`, and the cache serves several users (RFC 9111 §5.2.2.7).
    case privateResponse
    /// The request carried credentials, and the cache serves several users (RFC 9111 §3.5).
    case authorizedRequest
    /// A page came where media were asked for; its media type.
    case unexpectedType(String)
    /// It is larger than one resource may be; how many bytes that is.
    case tooLarge(limit: Int64)
    /// The origin states a length, or a last position, beyond `ByteRange.maximumOffset`.
    case lengthBeyondBound
    /// Whoever reads asked that nothing be stored.
    case byRequest
    /// The store is open for reading only.
    case readOnlyStore
    /// The quota is used up by what is in use.
    case quotaReached
    /// The disk has no more left than what the store leaves to others.
    case diskReserved
    /// The file system of the store holds no file of that size.
    case fileTooLarge
    /// The store failed again and again, and is left alone for a while.
    case storeRests
    /// The store failed; its own words.
    case storeTrouble(String)
}

/// What the machine knows of the origin's speed.
package struct OriginPace: Hashable, Sendable {
    /// Time from asking to the head, of the last fetch, in nanoseconds.
    package var firstByte: Nanoseconds?
    /// Bytes a second of the last fetch that ran long enough to tell.
    package var bytesPerSecond: Int64?

    /// What the origin would send while a new request waits for its first byte.
    func joinDistance(within bounds: ClosedRange<Int64>) -> Int64 {
        guard let firstByte, let bytesPerSecond else { return bounds.lowerBound }
        let product = Double(bytesPerSecond) * (Double(firstByte) / 1e9)
        return Int64(min(max(product, Double(bounds.lowerBound)), Double(bounds.upperBound)))
    }
}
