// Stored bytes of an earlier opening are compared with their checks before their first use.

extension SessionStateMachine {
    /// Asks for the verification of what waiting readers stand before.
    mutating func verifyForWaiting() -> [SessionAction] {
        guard version?.unverified.isEmpty == false else { return [] }
        return readers.filter { $0.waitsFor == .bytes }.flatMap { reader in
            verify(from: reader.position, to: min(reader.end ?? .max, reader.position.addingClamped(limits.verifyBytes)))
        }
    }

    /// Asks for the verification of what a reader that has just gone on will come to next, so that it need not wait there.
    ///
    /// One run at a time, up to a border of `verifyAheadBytes`: the checks of its bytes lie together in the index.
    mutating func verifyAhead(of reader: Reader) -> [SessionAction] {
        guard let version, version.verifying.isEmpty,
            let next = version.unverified.firstRange(atOrAfter: reader.position)?.lowerBound,
            next - reader.position < limits.verifyAheadBytes, reader.end.map({ next < $0 }) ?? true
        else { return [] }
        return verify(from: next, to: min(reader.end ?? .max, next.border(after: limits.verifyAheadBytes)))
    }

    /// Asks for the verification of the bytes from `offset` on, if they need it and it is not under way.
    private mutating func verify(from offset: Int64, to limit: Int64) -> [SessionAction] {
        // Where verified and unverified bytes alternate too often, longer runs keep their list short however large the file is.
        let isScattered = (version?.unverified.rangeCount ?? 0) > limits.verifyIslands
        guard let version, !version.verifying.contains(offset),
            let run = version.unverified.prefix(from: offset, upTo: isScattered ? offset.border(after: limits.verifyAheadBytes) : limit)
        else { return [] }
        let upper = version.verifying.firstRange(atOrAfter: offset).map { min($0.lowerBound, run.upperBound) } ?? run.upperBound
        let range = ByteRange(lower: offset, upper: upper)
        self.version?.verifying.insert(range)
        return [.verify(range, version.generation)]
    }

    /// Bytes of `ranges` were compared with their checks; of them `damaged` are not what was written, and become gaps.
    package mutating func verified(
        _ ranges: ByteRangeSet, of generation: GenerationID, damaged: ByteRangeSet, now: MonotonicInstant
    ) -> [SessionAction] {
        guard let version, version.generation == generation else { return [] }
        let lost = damagedBytes(damaged, of: generation)
        self.version?.verifying.subtract(ranges)
        self.version?.forget(lost)
        self.version?.unverified.subtract(ranges)
        return wakeReaders() + (lost.isEmpty ? [] : replan(now: now))
    }

    /// What of damaged bytes is still claimed as it was when the file was opened: the rest was lost and stored anew meanwhile.
    package func damagedBytes(_ damaged: ByteRangeSet, of generation: GenerationID) -> ByteRangeSet {
        guard let version, version.generation == generation, !damaged.isEmpty else { return ByteRangeSet() }
        return damaged.intersection(version.unverified)
    }

    /// Whether stored bytes are being compared with their checks. What would be evicted meanwhile would seem to be damaged.
    package var isVerifying: Bool { phase == .ready && version?.verifying.isEmpty == false }

    /// Whether the reader waits for stored bytes that are not verified yet, and for nobody else.
    func waitsForVerification(_ reader: Reader) -> Bool {
        reader.waitsFor == .bytes && !isApart(reader) && version?.unverified.contains(reader.position) == true
    }
}

extension SessionStateMachine.Version {
    /// The part of a stored run that may be used: to the first byte that is not verified. Nil when that is its first.
    func verifiedPart(of run: ByteRange) -> ByteRange? {
        guard !self.unverified.isEmpty, let next = self.unverified.firstRange(atOrAfter: run.lowerBound), next.lowerBound < run.upperBound
        else { return run }
        return ByteRange(run.lowerBound, next.lowerBound)
    }

    /// Makes gaps of stored bytes. Not of what is being evicted: fetched anew at once, it would go with the old bytes.
    mutating func forget(_ ranges: ByteRangeSet) {
        let ranges = self.evicting.isEmpty ? ranges : ranges.subtracting(self.evicting)
        self.stored.subtract(ranges)
        self.unverified.subtract(ranges)
    }
}

extension Int64 {
    /// The first multiple of `unit` beyond this offset.
    fileprivate func border(after unit: Int64) -> Int64 { (self - self % unit).addingClamped(unit) }
}
