/// The record of the current version: which representation is served, how often the origin has
/// confirmed it, and which requests its response answers.
struct VersionLedger: Sendable {
    /// The representation that is served now; nil until the index or the origin supplies one.
    var version: SessionVersion?
    /// The rules by which responses may be stored.
    var rules: StoringRules
    /// The request of the last answer that established or confirmed the version. Readers that bring
    /// none have the origin asked by it, and so do fetches without a reader.
    var asks = CopyOnWrite(RequestSource())
    /// The number of origin responses so far that established or confirmed the current version.
    private(set) var confirmations: UInt64 = 0
    /// Whether a stale response was served and the origin is still to be asked about it
    /// (stale-while-revalidate).
    var owesRevalidation = false
    /// Whether the version's representation changed between two events, so that it has to be
    /// committed.
    var owesUpdate = false
    /// Whether the resource is in the list of downloads.
    var isDownload = false
    /// Whether the index has a finished download, and the current version is another one. The index
    /// keeps the download until the other version is complete.
    var replacesDownload = false
    /// The length that the end of a connection showed, if the origin was asked about it in this
    /// session.
    var doubtedEnd: Int64?
    /// The time of the last question about bytes behind the end of the version.
    var endAskedAt: MonotonicInstant?
    /// The cached result of the freshness check, so that a hit need not repeat it.
    private var lease: FreshnessLease?

    init(rules: StoringRules) { self.rules = rules }

    /// The cached decision that a version may be used without asking the origin, and the time for
    /// which it holds.
    private struct FreshnessLease: Hashable, Sendable {
        var generation: GenerationID
        var revision: UInt64
        var policy: CachePolicy
        var fields: HTTPFields
        var from: Timestamp
        var until: Timestamp
    }

    /// The result of comparing two requests by the fields that select a response.
    enum Selection { case matches, differs, unknown }

    /// Whether the version is a download with all of its bytes. An origin that has the resource no
    /// more does not take it away from the user.
    var isFinishedDownload: Bool { isDownload && version?.isComplete == true }

    /// Whether the version may not be entered into the index yet.
    var holdsBack: Bool { replacesDownload && version?.isComplete != true }

    /// Whether the version is worth nothing without readers and fetches: bytes of unknown length
    /// that nothing ties further bytes to, or a part of what was to replace a finished download.
    var isUnfinished: Bool {
        guard let version, !holdsBack else { return version != nil }
        return version.representation.length == nil && !version.isCombinable && version.passReason?.isTooLarge != false
    }

    // MARK: Changes of the version

    /// Adopts a version from the index.
    /// - Returns: the generation, if the version is unusable and was not adopted.
    mutating func open(
        _ generation: GenerationID, _ representation: Representation, stored: ByteRangeSet, unverified: ByteRangeSet,
        passReason: NotStoredReason?
    ) -> GenerationID? {
        let opened = SessionVersion(
            VersionState(
                generation: generation, representation: representation, stored: stored, unverified: unverified, passReason: passReason,
                identity: rules.identity))
        // Two kinds of stored versions are unusable: one that an earlier process left unfinished,
        // and one from before lengths were bounded, with bytes beyond the bound.
        let isBeyondBound = max(representation.length ?? 0, stored.upperBound ?? 0) > ByteRange.maximumOffset
        guard !isBeyondBound, representation.length != nil || opened.isCombinable else { return generation }
        version = opened
        return nil
    }

    /// Makes a response the current version.
    /// - Returns: the generation that it replaces in the store; nil if there was none, or only its
    ///   head was known.
    mutating func replace(by representation: Representation, _ head: ReceivedHead, _ fetch: FetchState) -> GenerationID? {
        replacesDownload = replacesDownload || isFinishedDownload
        let old = version.flatMap { $0.isCombinable || $0.hasBegun || !$0.stored.isEmpty ? $0.generation : nil }
        if let version, version.representation.endsByClose { doubtedEnd = version.representation.length }
        endAskedAt = nil
        version = SessionVersion(
            VersionState(
                generation: head.newGeneration, representation: representation, stored: ByteRangeSet(), passReason: head.passReason,
                identity: rules.identity))
        let control = CacheControl(response: head.head.fields, isShared: rules.isShared)
        version?.statesFreshness = Freshness.isStated(head.head.fields, control, isShared: rules.isShared)
        if rules.isShared, version?.isUsedUp == true { version?.belongsToAsker = true }
        confirm()
        select(by: fetch, head)
        return old
    }

    /// Counts a response that established or confirmed the current version.
    mutating func confirm() {
        confirmations += 1
        version?.confirmation = confirmations
    }

    /// Updates the representation with the fields of this response.
    mutating func takeOverFields(_ head: ReceivedHead, _ fetch: FetchState) {
        version?.representation.update(from: head.head, requestTime: head.requestTime, responseTime: head.responseTime)
        select(by: fetch, head)
    }

    /// Forgets the length of the version.
    ///
    /// - Returns: The length in bytes, or nil if it was unknown.
    mutating func forgetEnd() -> Int64? {
        guard var representation = version?.representation, let length = representation.length else { return nil }
        representation.length = nil
        representation.endsByClose = false
        version?.representation = representation
        (doubtedEnd, owesUpdate) = (length, true)
        return length
    }

    /// The way in which a reader beyond the end of the version asks the origin for more bytes. The
    /// first one does, and further ones within `endQuestionPause` get the known end.
    mutating func claimEndQuestion(now: MonotonicInstant) -> EndQuestion? {
        guard let version, version.representation.length != nil, !isFinishedDownload,
            !CacheControl(response: version.representation.fields, isShared: rules.isShared).immutable
        else { return nil }
        if let endAskedAt, now - endAskedAt < Self.endQuestionPause { return nil }
        endAskedAt = now
        return version.representation.revalidation == Revalidation(entityTag: nil, lastModified: nil) ? .own : .conditional
    }

    /// Many players ask behind the end at the end of each play. One question in 10 s is often
    /// enough for a player that follows a recording.
    private static let endQuestionPause = Nanoseconds.seconds(10)

    /// Records the request of this fetch as the one that selected the version's fields.
    private mutating func select(by fetch: FetchState, _ head: ReceivedHead) {
        version?.selectedBy = fetch.variant
        asks = fetch.asks
        lease = nil
        version?.askersFields = AskersFields(of: head.head, for: fetch)
    }

    // MARK: Identity of responses

    /// Whether a response is of the current version, by the identity rule of the host.
    func isSameVersion(_ candidate: Representation, isConditional: Bool) -> Bool {
        guard let version else { return false }
        return version.identity.isSame(version.representation, candidate)
            ?? version.representation.isSame(as: candidate, isConditional: isConditional)
    }

    /// Whether the fetch asks about a version without any validator. Any response with bytes then
    /// replaces that version.
    func revalidatesWithoutValidator(_ fetch: FetchState) -> Bool {
        guard let asked = fetch.revalidates, let version, asked == version.generation else { return false }
        return version.representation.validator == Validator.none && version.identity == Identity.validator
    }

    /// Whether the version is stored and consists of media.
    var expectsMedia: Bool {
        guard let version else { return false }
        return version.passReason == nil && (rules.expectsMedia || version.representation.isMedia)
    }

    // MARK: Use by readers

    /// Whether the origin has established or confirmed the version since the reader came, by a
    /// response that also holds for this reader.
    ///
    /// The response may answer a request from before the reader came.
    func isSettled(for reader: ReaderState) -> Bool {
        guard let version, version.confirmation > reader.confirmationsBefore else { return false }
        return selection(of: version, for: reader.asks.value.fields, site: reader.site) == .matches
    }

    /// Whether the policy permits the use of the version without asking the origin. Caches a
    /// positive result.
    mutating func isUsable(_ policy: CachePolicy, isShared: Bool, fields: HTTPFields, wallNow: Timestamp) -> Bool {
        if let lease, lease.generation == version?.generation, lease.revision == version?.revision,
            lease.policy == policy, lease.fields == fields, lease.from <= wallNow, wallNow < lease.until
        {
            return true
        }
        guard let version, version.passReason == nil, selection(of: version, for: fields, site: nil) == .matches,
            !version.isRemnant || Freshness(version.representation, isShared: isShared, now: wallNow).isFresh,
            let until = hitRules(policy, isShared: isShared).usableUntil(version.representation, now: wallNow)
        else { return false }
        lease = FreshnessLease(
            generation: version.generation, revision: version.revision, policy: policy, fields: fields, from: wallNow, until: until)
        return true
    }

    private func hitRules(_ policy: CachePolicy, isShared: Bool) -> UseRules {
        var rules = UseRules(policy: policy, isShared: isShared)
        rules.namesMedia = self.rules.expectsMedia
        return rules
    }

    /// Whether a request with these fields, on behalf of `site`, would select this response, by the
    /// fields that its `Vary` names (RFC 9111 §4.1).
    func selection(of version: SessionVersion, for fields: HTTPFields, site: String?) -> Selection {
        let names = version.representation.fields.names(listedIn: .vary).filter { $0 != "origin" }.map { HTTPFields.Name($0) }
        guard let before = version.selectedBy?.fields else {
            // A field that is never sent can't have differed.
            return names.contains { fields[$0] != nil } ? .unknown : siteSelection(of: version, forSite: site)
        }
        guard names.allSatisfy({ before.combined($0) == fields.combined($0) }) else { return .differs }
        return siteSelection(of: version, forSite: site)
    }

    /// Whether the cross-origin permissions of the response hold for the reader's site.
    ///
    /// A browser cannot use a response that permits another site. Some origins omit `Vary: Origin`
    /// in responses to requests without `Origin`. The machine therefore revalidates such a response
    /// instead of serving it to a page (Fetch, "CORS protocol and HTTP caches"). The result is
    /// never `.differs`: when the origin cannot be reached, the browser decides by the stored
    /// fields.
    func siteSelection(of version: SessionVersion, forSite site: String?) -> Selection {
        let fields = version.representation.fields
        let allowed = fields[.accessControlAllowOrigin]
        let varies = fields.names(listedIn: .vary).contains("origin")
        if let before = version.selectedBy, before.site == site { return .matches }
        if allowed == "*", !varies || version.selectedBy == nil { return .matches }
        // A player belongs to no site. Only a response that varies by site may be another site's.
        if site == nil { return varies && (version.selectedBy != nil || allowed != nil) ? .unknown : .matches }
        return version.selectedBy == nil && allowed == site ? .matches : .unknown
    }
}

/// A question about bytes behind the end of a stored version.
package enum EndQuestion: Hashable, Sendable {
    /// With the validator of the version.
    case conditional
    /// Without any validator: the range of the reader alone. A question about the version would
    /// bring the whole resource.
    case own
}

extension Representation {
    /// Whether the media type is audio, video or a playlist, or one that servers commonly send for
    /// them.
    fileprivate var isMedia: Bool {
        guard let type = contentType.flatMap(MediaType.init) else { return false }
        let essence = type.essence
        return essence.hasPrefix("audio/") || essence.hasPrefix("video/") || isPlaylist
            || ["application/ogg", "application/mp4", "application/octet-stream", "binary/octet-stream"].contains(essence)
    }
}
