/// The representation that is served now. Every event reads it and few change it, so it is copied
/// on write.
package typealias SessionVersion = CopyOnWrite<VersionState>

/// The state of one version: its representation, and which of its bytes are stored.
package struct VersionState: Hashable, Sendable {
    /// The number of this version in the store.
    package var generation: GenerationID
    /// Length, validator and fields of this version.
    package var representation: Representation { didSet { revision += 1 } }
    /// The number of changes to `representation` since this version became current.
    package private(set) var revision: UInt64 = 0
    /// The bytes that are stored, including those that are unverified or being evicted.
    package var stored: ByteRangeSet
    /// The part of `stored` that was written before the store was opened and has not been compared
    /// with its checksums since. No reader may use it yet.
    package var unverified = ByteRangeSet()
    /// The part of `unverified` that is being compared with its checksums.
    package var verifying = ByteRangeSet()
    /// The part of `stored` that is being evicted. Until it is gone it is neither used nor fetched
    /// again.
    package var evicting = ByteRangeSet()
    /// The reason why bytes of this version are passed on without being stored; nil when they may
    /// be stored.
    package var passReason: NotStoredReason?
    /// The value of `VersionLedger.confirmations` when the origin last established or confirmed
    /// this version; 0 when that was before this session.
    package var confirmation: UInt64 = 0
    /// The rule that decides whether another response is of this version.
    package var identity = Identity.validator
    /// The request whose response supplied the representation's fields; nil when that was before
    /// this session.
    package var selectedBy: RequestVariant?
    /// The fields of that response for the reader whose request it answered.
    var askersFields: AskersFields?
    /// The highest offset that relays have passed on without storing. The version is at least as
    /// long.
    package var passedEnd: Int64 = 0
    /// Whether the origin answered a range request with the whole body.
    package var refusesRanges = false
    /// Whether the origin states for how long the response is fresh. A part that does not begin at 0
    /// can then be reused without a strong validator.
    var statesFreshness = false
    /// Whether a response whose body is stored as this version has begun. A version without a
    /// strong validator has only one such response.
    var hasBegun = false
    /// The error that ended that response early.
    var brokenBy: OriginError?
    /// The part that its response brings, unless that is the whole.
    var servedPart: ByteRange?
    /// Whether its response must not be used for another request than the one that it answered (RFC
    /// 9111 §5.2.2.5): several users share the cache, and the response forbids to store it.
    var belongsToAsker = false
    /// Whether this is a page that came instead of media, or another status for one reader. The
    /// whole is passed on, whatever range was requested.
    var isPage = false
}

/// The part of a request, besides range and conditions, by which an origin may select its response
/// (RFC 9110 §12.5.5).
package struct RequestVariant: Hashable, Sendable {
    /// The fields of the request.
    package var fields: HTTPFields
    /// The web site on whose behalf the request was made: the value of `Origin`.
    package var site: String?
}

/// Fields of a response that go to one reader, once, and are never stored.
struct AskersFields: Hashable, Sendable {
    let reader: ReaderID
    let fields: HTTPFields

    /// Returns nil where no reader asked, or the response has no such field.
    init?(of head: ResponseHead, for fetch: FetchState) {
        fields = fieldsForAsker(of: head.fields)
        guard let asker = fetch.askedBy, !fields.lines.isEmpty else { return nil }
        reader = asker
    }
}

extension SessionVersion {
    /// Whether bytes of several responses may be combined (RFC 9110 §15.3.7.3).
    package var isCombinable: Bool {
        !self.belongsToAsker && (self.identity != .validator || self.representation.validator.isStrong)
    }

    /// Whether this is the head of a response that may answer no later request. Its bytes went to
    /// the readers of its moment.
    var isUsedUp: Bool { self.stored.isEmpty && self.passReason?.forbidsReuse == true && self.passReason != .byRequest }

    /// Returns the most bytes of the version that are stored, or nil for no limit.
    func storedBytesLimit(_ rules: StoringRules, _ limits: SessionLimits) -> Int64? {
        guard self.representation.length == nil, !isCombinable else { return rules.maxResourceBytes }
        return min(rules.maxResourceBytes ?? .max, limits.openEndedBytes)
    }

    /// Whether the body of a response from `offset` on may be stored with the bytes that are stored
    /// already.
    ///
    /// Without a strong validator only one response's bytes are kept (RFC 9110 §15.3.7.3). That
    /// response begins at 0, or states for how long its part is fresh.
    func storesResponse(from offset: Int64) -> Bool {
        self.passReason == nil && (isCombinable || (self.stored.isEmpty && (offset == 0 || (self.statesFreshness && !self.hasBegun))))
    }

    /// Whether every byte of the resource is stored. False while the length is unknown.
    package var isComplete: Bool {
        guard let length = self.representation.length else { return false }
        // Every hit reads this. Comparing byte counts would be slower, because `totalBytes` adds up
        // all spans.
        return ByteRange(0, length).map { self.stored.contains($0) } ?? (length == 0)
    }

    /// Whether these are stored bytes of an earlier session, not all of the resource, and no strong
    /// validator identifies them.
    package var isRemnant: Bool { self.confirmation == 0 && !isCombinable && !isComplete }

    /// The verified bytes at the beginning of `range`, at most `max`.
    /// - Returns: nil if the first byte is not verified.
    func usable(in range: ByteRange, max: Int64) -> ByteRange? {
        let run = ByteRange(lower: range.lowerBound, upper: min(range.upperBound, range.lowerBound.addingSaturated(max)))
        return verifiedPart(of: run)
    }

    /// The part of a stored run that may be used: up to the first unverified byte.
    /// - Returns: nil if that is the first byte of the run.
    func verifiedPart(of run: ByteRange) -> ByteRange? {
        guard !self.unverified.isEmpty, let next = self.unverified.firstRange(atOrAfter: run.lowerBound), next.lowerBound < run.upperBound
        else { return run }
        return ByteRange(run.lowerBound, next.lowerBound)
    }

    /// Whether all bytes that the reader still needs are stored.
    func hasRest(of reader: ReaderState) -> Bool {
        guard let end = reader.end.map({ min($0, self.representation.length ?? .max) }) ?? self.representation.length else { return false }
        return ByteRange(reader.position, end).map { self.stored.contains($0) } ?? true
    }

    /// Turns stored bytes into gaps, except those that are being evicted. A gap there could be
    /// filled again at once, and the eviction would delete the new bytes with the old ones.
    mutating func forget(_ ranges: ByteRangeSet) {
        let ranges = self.evicting.isEmpty ? ranges : ranges.subtracting(self.evicting)
        self.stored.subtract(ranges)
        self.unverified.subtract(ranges)
    }

    /// Withholds bytes from readers by the same mechanism as bytes that are being compared with
    /// their checksums.
    mutating func takeAway(_ bytes: ByteRangeSet) {
        self.evicting = bytes
        self.unverified.formUnion(bytes)
        self.verifying.formUnion(bytes)
    }

    // MARK: Verification

    /// Begins the verification of the blocks from `offset` on, unless that byte is verified or that
    /// is under way.
    ///
    /// Always whole blocks, because a checksum covers the stored bytes of a block. If two
    /// verifications shared a block, the first one would give it free for an eviction, and the
    /// second one would find the evicted bytes damaged.
    /// - Returns: the bytes to compare with their checksums, or nil if there are none.
    mutating func beginVerification(from offset: Int64, to limit: Int64, _ limits: SessionLimits) -> ByteRange? {
        // Where verified and unverified bytes alternate too often, longer runs keep their list
        // short, however large the file is.
        let isScattered = self.unverified.rangeCount > limits.verifyIslands
        let end = isScattered ? offset.border(after: limits.verifyAheadBytes) : limit
        guard !self.verifying.contains(offset), let run = self.unverified.prefix(from: offset, upTo: end) else { return nil }
        let next = self.verifying.firstRange(atOrAfter: offset)?.lowerBound ?? .max
        let blocks = run.widened(to: limits.blockBytes)
        let range = ByteRange(lower: blocks.lowerBound, upper: min(blocks.upperBound, next, self.representation.length ?? .max))
        self.verifying.insert(range)
        return range
    }

    /// Begins the verification of the bytes that waiting readers need next.
    mutating func verify(forWaiting readers: [ReaderState], _ limits: SessionLimits) -> [SessionAction] {
        guard !self.unverified.isEmpty else { return [] }
        var actions: [SessionAction] = []
        for reader in readers where reader.waitsFor == .bytes {
            let limit = min(reader.end ?? .max, reader.position.addingSaturated(limits.verifyBytes))
            if let range = beginVerification(from: reader.position, to: limit, limits) { actions.append(.verify(range, self.generation)) }
        }
        return actions
    }

    /// Begins the verification of the bytes that a moving reader will come to next, so that it need
    /// not wait there.
    ///
    /// Verifies one run at a time, up to a multiple of `verifyAheadBytes`, because the checksums of
    /// those bytes are together in one row of the index.
    mutating func beginVerification(aheadOf reader: ReaderState, _ limits: SessionLimits) -> ByteRange? {
        guard self.verifying.isEmpty, let next = self.unverified.firstRange(atOrAfter: reader.position)?.lowerBound,
            next - reader.position < limits.verifyAheadBytes, next.isBelow(reader.end)
        else { return nil }
        return beginVerification(from: next, to: min(reader.end ?? .max, next.border(after: limits.verifyAheadBytes)), limits)
    }

    // MARK: Bounds on the number of stored runs

    /// The block that contains `offset`, clipped to the length of the version.
    func block(at offset: Int64, _ limits: SessionLimits) -> ByteRange? {
        let lower = offset - offset % limits.blockBytes
        return ByteRange(lower, min(lower.addingSaturated(limits.blockBytes), self.representation.length ?? .max))
    }

    /// The blocks of which every byte is stored. The last block ends with the resource.
    func wholeBlocks(_ limits: SessionLimits) -> ByteRangeSet {
        let size = limits.blockBytes, length = self.representation.length
        return ByteRangeSet(
            self.stored.ranges.compactMap { run in
                let upper = run.upperBound == length ? run.upperBound : run.upperBound - run.upperBound % size
                return ByteRange((run.lowerBound + size - 1) / size * size, upper)
            })
    }
}

extension Int64 {
    /// The first multiple of `unit` beyond this offset.
    fileprivate func border(after unit: Int64) -> Int64 { (self - self % unit).addingSaturated(unit) }
}
