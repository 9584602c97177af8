import Spool
import SpoolCore
import SpoolOrigin

/// Leads one request to the variant of its resource that answers it.
///
/// The request joins the session of a variant and looks at the version there. If the version
/// answers other requests, it goes on to another variant, or asks the origin for a new one and
/// offers the tags of those that are stored. No byte leaves before `judge` has returned `.open`.
struct VariantRoute {
    /// The next step of the request.
    enum Step: Equatable {
        /// The reader is woken when the version is known.
        case wait
        /// The request goes on with this reader.
        case open
        /// The request needs a reader of the variant that `key` now names.
        case join
        /// The request has to look for a variant.
        case search
    }

    /// The most steps to another variant before the request gets a response of its own. Two are the
    /// rule; more mean that variants change meanwhile.
    private static let moveLimit = 6

    /// The key of the resource.
    let base: ResourceKey
    /// The request, with the tags that it offers.
    private(set) var client: ClientRequest
    /// The key of the variant that it uses now.
    private(set) var key: ResourceKey
    /// Whether its response is passed on and not stored.
    private(set) var isApart = false
    /// A variant that holds a second copy of stored bytes, to be removed.
    private var duplicate: ResourceKey?
    private var offered: [(tag: String, key: ResourceKey)] = []
    /// The tags that the client has, for an origin that is asked without a stored version.
    private let ownTags: [String]
    /// The tag that the origin confirmed for this request.
    private var confirmedTag: String?
    private var unasked: ResourceKey?
    /// Whether the origin was out of reach, so that the only user may use `unasked`.
    private var isOutOfReach = false
    private var hasEntered = false
    /// Whether the last look found no version.
    private(set) var foundNothing = false
    private var hasTakenOver = false
    private var moves = 0

    init(_ client: ClientRequest, to base: ResourceKey, ownTags: [String]) {
        self.base = base
        self.client = client
        self.ownTags = ownTags
        self.client.offeredTags = ownTags
        key = base
    }

    /// Whether a 304 of the origin is about the bytes that the client has.
    var offersOwnTags: Bool { !ownTags.isEmpty && client.offeredTags == ownTags }

    /// Whether the request made too many steps.
    var isLost: Bool { moves > Self.moveLimit }

    /// A key for this request alone, under which nothing is stored.
    var apart: ResourceKey { base.apart(client.selection.nonce) }

    /// Returns the variant with a second copy, once.
    mutating func takeDuplicate() -> ResourceKey? { duplicate.take() }

    // MARK: Looking

    /// Looks at the version of the reader's session.
    ///
    /// - Parameter wantsBytes: Whether the request needs bytes if no version is stored.
    mutating func look(at reader: SessionReader, wantsBytes: Bool) -> Step {
        let found = reader.look(wantsBytes: wantsBytes)
        foundNothing = found == .unknown
        switch found {
        case .wait: return .wait
        case .unknown: return .open
        case .version(let representation): return judge(representation, reader)
        }
    }

    /// Decides whether a version answers the request.
    mutating func judge(_ representation: Representation, _ reader: SessionReader) -> Step {
        // A refusal of the moment that another client's fields caused.
        if Self.isRefusal(representation.status), reader.readsPage, !reader.failedAsItself, let step = refusedToAnother(reader) {
            return step
        }
        if case .strong(let tag) = representation.validator {
            if tag == confirmedTag { return admit(reader) }
            if let stored = offered.first(where: { $0.tag == tag && $0.key != key }) { return move(to: stored.key, confirming: tag) }
        }
        switch representation.knownMark?.verdict(for: client.selection) ?? .use {
        case .use: return enter(reader)
        case .ask where isOutOfReach: return enter(reader)
        case .ask, .other:
            moves += 1
            return .search
        }
    }

    private mutating func admit(_ reader: SessionReader) -> Step {
        reader.admit()
        return enter(reader)
    }

    private mutating func enter(_ reader: SessionReader) -> Step {
        hasEntered = true
        return .open
    }

    /// Goes to the variant that has the bytes already. The response here begins with the same ones.
    private mutating func move(to stored: ResourceKey, confirming tag: String) -> Step {
        duplicate = key
        return join(stored, confirming: tag)
    }

    private mutating func join(_ key: ResourceKey, confirming tag: String? = nil) -> Step {
        moves += 1
        self.key = key
        confirmedTag = tag
        hasEntered = false
        return .join
    }

    // MARK: Searching

    /// Takes the result of a search.
    ///
    /// - Returns: Whether a reader is to be joined. If not, only the origin has what the request
    ///   needs, and it may not be asked.
    mutating func found(_ choice: VariantChoice, onlyStored: Bool) -> Bool {
        offered = []
        unasked = nil
        switch choice {
        case .stored(let key):
            _ = join(key)
        case .fetch(_, _, let stored) where onlyStored, .apart(_, let stored) where onlyStored:
            guard let stored else { return false }
            isOutOfReach = true
            _ = join(stored)
        case .fetch(let key, let tags, let stored):
            offered = tags
            unasked = stored
            _ = join(key)
        case .apart(let key, let stored):
            isApart = true
            unasked = stored
            _ = join(key)
        }
        client.offeredTags = offered.isEmpty ? ownTags : offered.map(\.tag)
        return true
    }

    // MARK: Failures

    /// Whether an origin may answer another user differently than with this status.
    private static func isRefusal(_ status: Int) -> Bool { (400..<500).contains(status) && status != 408 && status != 429 }

    /// Decides how the request goes on after its reader has failed.
    ///
    /// - Returns: Nil when the failure is the request's own.
    mutating func step(after error: CacheError, of reader: SessionReader) -> Step? {
        guard !isLost else { return nil }
        if error.code == .removed {
            moves += 1
            return .search
        }
        guard let cause = error.cause as? OriginError else { return nil }
        switch cause {
        case .status(304, let fields) where !offered.isEmpty:
            return confirmed(fields[.entityTag])
        case .status(let status, _) where Self.isRefusal(status):
            return reader.failedAsItself ? nil : refusedToAnother(reader)
        case .unreachable, .timeout, .tls, .truncated, .malformed, .status, .networkRefused:
            guard let stored = unasked, !isOutOfReach else { return nil }
            isOutOfReach = true
            offered = []
            client.offeredTags = []
            return join(stored)
        case .representationChanged, .rangeNotSatisfiable, .redirect, .notAsked, .unsupportedURL:
            return nil
        }
    }

    /// Handles a 304: the origin lets this request have a stored variant.
    private mutating func confirmed(_ tag: String?) -> Step {
        let stored = tag.map { tag in offered.first { $0.tag == tag } } ?? (offered.count == 1 ? offered[0] : nil)
        defer {
            offered = []
            client.offeredTags = []
        }
        // A response that names none of the variants helps nobody. The next request has no
        // conditions.
        return stored.map { join($0.key, confirming: $0.tag) } ?? join(key)
    }

    /// Handles the refusal of a request that had the fields of another client.
    private mutating func refusedToAnother(_ reader: SessionReader) -> Step? {
        moves += 1
        guard hasEntered else { return .search }
        guard !hasTakenOver else { return nil }
        // The version answers this client, whose fields may still be accepted: those of the next
        // reader are sent.
        hasTakenOver = true
        return join(key)
    }
}
