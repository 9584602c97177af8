// The reports of the store: writes, failures, losses, verifications, evictions.

extension SessionStateMachine {
    /// Whether the bytes of the fetch are written to the file of the version.
    ///
    /// False for a relay, and for a fetch that has left the machine: its bytes may be those of
    /// another response.
    package func stores(_ id: FetchID) -> Bool { fetch(id)?.isRelay == false }

    /// Moves `range` from the memory of the fetch to the stored bytes of the version.
    /// - Parameter remaining: the lowest offset of the fetch that is still in memory.
    package mutating func wrote(
        _ range: ByteRange, of generation: GenerationID, by id: FetchID, remaining: Int64, now: MonotonicInstant
    ) -> [SessionAction] {
        state.wrote(range, of: generation, by: id, remaining: remaining, now: now)
    }

    /// Turns the fetches of this generation into relays, because the store cannot take its bytes.
    package mutating func storeFailed(_ generation: GenerationID, _ reason: NotStoredReason, now: MonotonicInstant) -> [SessionAction] {
        state.storeFailed(generation, reason, now: now)
    }

    /// Turns stored bytes that are gone or damaged into a gap.
    package mutating func lost(_ range: ByteRange, of generation: GenerationID, now: MonotonicInstant) -> [SessionAction] {
        guard state.change(generation, { $0.forget(ByteRangeSet([range])) }) else { return [] }
        return state.wakeReaders() + state.replan(now: now)
    }

    /// Whether the head of the current version may be entered into the index without further bytes:
    /// the version has stored bytes, or has none at all.
    package var mayEnterHead: Bool {
        guard let version, version.passReason == nil, !holdsBack else { return false }
        return !version.stored.isEmpty || version.representation.length == 0
    }

    /// Whether the index has a finished download in the place of the current version.
    package var replacesDownload: Bool { state.ledger.replacesDownload }

    /// Whether the current version may not be entered into the index yet, because it would take the
    /// place of a finished download before all of its bytes are there.
    package var holdsBack: Bool { state.ledger.holdsBack }

    /// Notes that the current version is about to take the place of a finished download.
    package mutating func tookPlace() { state.ledger.replacesDownload = false }

    /// Whether the machine itself keeps no session: it has no goal, the index is read, and no
    /// stored bytes are being compared with their checks. Evicting them meanwhile would make them
    /// look damaged.
    ///
    /// Mutating, although it changes nothing: a caller passes the place of the machine then, and
    /// not a copy of half a KiB for each hit.
    package mutating func isIdle() -> Bool {
        let isVerifying = state.phase == .ready && state.ledger.version?.verifying.isEmpty == false
        return state.goal == nil && state.phase != .opening && !isVerifying
    }

    /// The part of `damaged` that is still unverified. Other damaged bytes have been lost and
    /// stored again since the file was opened.
    package func damagedBytes(_ damaged: ByteRangeSet, of generation: GenerationID) -> ByteRangeSet {
        guard !damaged.isEmpty, let version = state.version(of: generation) else { return ByteRangeSet() }
        return damaged.intersection(version.unverified)
    }

    /// Handles the result of a verification of `ranges`. The bytes of `damaged` differ from their
    /// checksums and become gaps.
    package mutating func verified(
        _ ranges: ByteRangeSet, of generation: GenerationID, damaged: ByteRangeSet, now: MonotonicInstant
    ) -> [SessionAction] {
        let lost = damagedBytes(damaged, of: generation)
        let isKnown = state.change(generation) { version in
            version.verifying.subtract(ranges)
            version.forget(lost)
            version.unverified.subtract(ranges)
        }
        guard isKnown else { return [] }
        return state.wakeReaders() + (lost.isEmpty ? [] : state.replan(now: now))
    }

    /// Chooses whole blocks with about `bytes` stored bytes for eviction, and withholds them from
    /// readers. The shell then deletes them and calls `evicted`.
    ///
    /// These bytes stay: bytes that are being compared with their checksums; the bytes that a
    /// reader holds, its window, and `SessionLimits.keptBehindBytes` behind it; the goal of a fetch
    /// policy; and `spared`.
    /// - Returns: the chosen bytes; empty if all stored bytes are needed soon.
    package mutating func evict(_ bytes: Int64, sparing spared: ByteRangeSet, regions: [EvictionCut.Region]) -> ByteRangeSet {
        takeAway(SessionEviction.unneeded(bytes, sparing: spared, regions: regions, state))
    }

    /// Chooses whole blocks that can never be entered into the index, and withholds them from
    /// readers. The shell then deletes them and calls `evicted`.
    /// - Parameter named: the bytes that the index names; no chosen block has one of them.
    /// - Returns: the chosen bytes; empty if none may go.
    package mutating func release(allBut named: ByteRangeSet) -> ByteRangeSet {
        mayRelease ? takeAway(SessionEviction.unnamed(allBut: named, state)) : ByteRangeSet()
    }

    /// Whether stored bytes of the version that the index does not name may be released.
    package var mayRelease: Bool {
        switch phase {
        case .ready, .ended(.closed): version?.passReason != nil
        default: false
        }
    }

    private mutating func takeAway(_ bytes: ByteRangeSet) -> ByteRangeSet {
        if !bytes.isEmpty { state.ledger.version?.takeAway(bytes) }
        return bytes
    }

    /// Ends an eviction or release.
    /// - Parameter isGone: whether the bytes were deleted. If not, they are compared with their
    ///   checksums before their next use.
    package mutating func evicted(
        _ blocks: ByteRangeSet, of generation: GenerationID, isGone: Bool, now: MonotonicInstant
    ) -> [SessionAction] {
        let isKnown = state.change(generation) { version in
            version.evicting.subtract(blocks)
            version.verifying.subtract(blocks)
            if isGone { version.forget(blocks) }
        }
        guard isKnown else { return [] }
        return state.wakeReaders() + state.replan(now: now)
    }
}
