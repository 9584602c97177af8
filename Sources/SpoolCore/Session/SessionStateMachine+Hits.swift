// Hits: a reader comes, is told what it reads, gets its bytes and goes, in two events instead of eight.

extension SessionStateMachine {
    /// A reader that was told of the current version and handed its first bytes.
    package struct Hit: Hashable, Sendable {
        package var reader: ReaderID
        package var generation: GenerationID
        /// Tells what is known of the generation now from what was known of it before.
        package var revision: UInt64
        /// What the reader wants: all that is to be answered.
        package var range: ByteRange
        /// The number of bytes of the resource.
        package var length: Int64
        /// The beginning of `range` that the reader holds: stored, verified, at most as long as was asked.
        package var stored: ByteRange
    }

    /// That a version may be used without asking the origin, as it was found once, and for how long that holds.
    struct StandingUse: Hashable, Sendable {
        var generation: GenerationID
        var revision: UInt64
        var policy: CachePolicy
        var from: Timestamp
        var until: Timestamp
    }

    /// A consumer came that wants `spec`, or the whole, and may be served at once: all of it is stored, nothing is fetched or waits to be,
    /// the policy lets it be used unasked, and the first bytes are verified. Nil when any of that does not hold; then nothing has changed.
    ///
    /// Of a resource that is stored in part, only a reader that wants no more than it asks for is a hit: others make fetches begin.
    /// - Parameter max: how many bytes it will take first.
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

    /// The consumer of a hit took `count` bytes, of which the machine was not told yet, and has gone.
    package mutating func hitLeft(_ id: ReaderID, after count: Int64, now: @autoclosure () -> MonotonicInstant) -> [SessionAction] {
        guard let index = index(of: id) else { return [] }
        if fetches.isEmpty, version?.isComplete == true || (isAtRest && hasAll(readers[index], after: count)) {
            readers.remove(at: index)
            return []
        }
        let now = now()
        return readerAdvanced(id, by: count, now: now) + readerLeft(id, explicitly: false, now: now)
    }

    /// Whether nothing is to be fetched, asked or entered but for what readers want: then one that wants only what is stored changes
    /// nothing by coming and going, and what others want was looked at when they came to it.
    private var isAtRest: Bool {
        fetches.isEmpty && goal == nil && retryAt == nil && !owesRevalidation && !owesUpdate && version?.passReason == nil
    }

    /// Whether the reader of a hit has all that it wanted once it took `count` bytes: it leaves no wish behind.
    private func hasAll(_ reader: Reader, after count: Int64) -> Bool {
        reader.failure == nil && reader.told == version?.generation && reader.policy == .whilePlaying
            && reader.end.map { reader.position.addingClamped(count) >= $0 } ?? false
    }

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
    /// The verified bytes at the beginning of `range`, at most `max`; nil when the first is not.
    fileprivate func usable(in range: ByteRange, max: Int64) -> ByteRange? {
        let run = ByteRange(lower: range.lowerBound, upper: min(range.upperBound, range.lowerBound.addingClamped(max)))
        return verifiedPart(of: run)
    }
}
