// Hits: a reader that finds all of its bytes stored takes two events instead of eight.

extension SessionStateMachine {
    /// A reader that was added, committed to the current version, and given its first bytes, all in
    /// one event.
    package struct Hit: Hashable, Sendable {
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
        /// The beginning of `range`, which the reader holds: stored, verified, and at most as long
        /// as requested.
        package var stored: ByteRange
    }

    /// The cached decision that a version may be used without asking the origin, and the time for
    /// which it holds.
    struct StandingUse: Hashable, Sendable {
        var generation: GenerationID
        var revision: UInt64
        var policy: CachePolicy
        var from: Timestamp
        var until: Timestamp
    }

    /// Serves a reader at once, if everything for it is at hand.
    ///
    /// That takes a version that is complete and verified, or at least the requested range of it;
    /// no fetch that runs or has to start; and a policy that permits the use without asking the
    /// origin. While the resource is only partly stored, a reader whose policy fetches beyond its
    /// range is no hit, because it makes a fetch begin.
    ///
    /// - Parameter spec: the requested range; nil for the whole.
    /// - Parameter max: the number of bytes that the reader takes first.
    /// - Returns: nil if a condition does not hold; then nothing has changed.
    package mutating func hit(
        _ spec: RangeHeader.Spec?, policy: CachePolicy, isShared: Bool, fetchPolicy: FetchPolicy, max: Int64, wallNow: Timestamp
    ) -> Hit? {
        guard phase == .ready, fetches.isEmpty, let length = version?.representation.length, let generation = version?.generation,
            let revision = version?.revision, let range = spec.map({ $0.range(length: length) }) ?? ByteRange(0, length),
            version?.isComplete == true || (fetchPolicy == .whilePlaying && isAtRest && version?.stored.contains(range) == true),
            let stored = version?.usable(in: range, max: max), isUsable(policy, isShared: isShared, wallNow: wallNow)
        else { return nil }
        let id = ReaderID(rawValue: nextReader)
        nextReader += 1
        var reader = Reader(
            id: id, position: range.lowerBound, end: range.upperBound, policy: fetchPolicy,
            rules: UseRules(policy: policy, isShared: isShared), confirmationsBefore: confirmations, wantsBytes: true)
        reader.trusted = generation
        reader.prepared = generation
        reader.told = generation
        if version?.isCombinable == false {
            reader.toldAs = version?.representation
            reader.source = .version
            reader.boundAt = range.lowerBound
        }
        reader.hold = stored
        readers.append(reader)
        return Hit(reader: id, generation: generation, revision: revision, range: range, length: length, stored: stored)
    }

    /// Removes the reader of a hit after it took `count` bytes that the machine has not counted
    /// yet.
    package mutating func hitLeft(_ id: ReaderID, after count: Int64, now: @autoclosure () -> MonotonicInstant) -> [SessionAction] {
        guard let index = index(of: id) else { return [] }
        if fetches.isEmpty, version?.isComplete == true || (isAtRest && hasAll(readers[index], after: count)) {
            readers.remove(at: index)
            return []
        }
        let now = now()
        return readerAdvanced(id, by: count, now: now) + readerLeft(id, explicitly: false, now: now)
    }

    /// Whether the machine has no fetch, revalidation or commit of its own in progress or due, and
    /// the version may be stored.
    ///
    /// In that state a reader that needs only stored bytes changes nothing by coming and going. The
    /// needs of other readers were planned when they came.
    private var isAtRest: Bool {
        fetches.isEmpty && goal == nil && retryAt == nil && !owesRevalidation && !owesUpdate && version?.passReason == nil
    }

    /// Whether the reader of a hit has its whole range after `count` more bytes, so that it leaves
    /// no goal behind.
    private func hasAll(_ reader: Reader, after count: Int64) -> Bool {
        reader.failure == nil && reader.told == version?.generation && reader.policy == .whilePlaying
            && reader.end.map { reader.position.addingClamped(count) >= $0 } ?? false
    }

    /// Whether the policy permits the use of the version without asking the origin. Caches a
    /// positive result.
    private mutating func isUsable(_ policy: CachePolicy, isShared: Bool, wallNow: Timestamp) -> Bool {
        if let standing = standingUse, standing.generation == version?.generation, standing.revision == version?.revision,
            standing.policy == policy, standing.from <= wallNow, wallNow < standing.until
        {
            return true
        }
        guard let version, version.passReason == nil, isSelected(version),
            !version.isRemnant || Freshness(version.representation, isShared: isShared, now: wallNow).isFresh,
            let until = UseRules(policy: policy, isShared: isShared).usableUntil(version.representation, now: wallNow)
        else { return false }
        standingUse = StandingUse(
            generation: version.generation, revision: version.revision, policy: policy, from: wallNow, until: until)
        return true
    }
}

extension SessionStateMachine.Version {
    /// The verified bytes at the beginning of `range`, at most `max`.
    /// - Returns: nil if the first byte is not verified.
    fileprivate func usable(in range: ByteRange, max: Int64) -> ByteRange? {
        let run = ByteRange(lower: range.lowerBound, upper: min(range.upperBound, range.lowerBound.addingClamped(max)))
        return verifiedPart(of: run)
    }
}
