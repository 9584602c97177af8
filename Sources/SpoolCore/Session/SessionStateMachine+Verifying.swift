// Verification: bytes that were stored before the store was opened are compared with their
// checksums before their first use.

extension SessionStateMachine {
    /// Requests the verification of the bytes that waiting readers need next.
    mutating func verifyForWaiting() -> [SessionAction] {
        guard version?.unverified.isEmpty == false else { return [] }
        return readers.filter { $0.waitsFor == .bytes }.flatMap { reader in
            verify(from: reader.position, to: min(reader.end ?? .max, reader.position.addingClamped(limits.verifyBytes)))
        }
    }

    /// Requests the verification of the bytes that a moving reader will come to next, so that it
    /// need not wait there.
    ///
    /// Verifies one run at a time, up to a multiple of `verifyAheadBytes`, because the checksums of
    /// those bytes are together in one row of the index.
    mutating func verifyAhead(of reader: Reader) -> [SessionAction] {
        guard let version, version.verifying.isEmpty,
            let next = version.unverified.firstRange(atOrAfter: reader.position)?.lowerBound,
            next - reader.position < limits.verifyAheadBytes, reader.end.map({ next < $0 }) ?? true
        else { return [] }
        return verify(from: next, to: min(reader.end ?? .max, next.border(after: limits.verifyAheadBytes)))
    }

    /// Requests the verification of the bytes from `offset` on, unless they are verified or that is
    /// under way.
    private mutating func verify(from offset: Int64, to limit: Int64) -> [SessionAction] {
        // Where verified and unverified bytes alternate too often, longer runs keep their list
        // short, however large the file is.
        let isScattered = (version?.unverified.rangeCount ?? 0) > limits.verifyIslands
        guard let version, !version.verifying.contains(offset),
            let run = version.unverified.prefix(from: offset, upTo: isScattered ? offset.border(after: limits.verifyAheadBytes) : limit)
        else { return [] }
        let upper = version.verifying.firstRange(atOrAfter: offset).map { min($0.lowerBound, run.upperBound) } ?? run.upperBound
        let range = ByteRange(lower: offset, upper: upper)
        self.version?.verifying.insert(range)
        return [.verify(range, version.generation)]
    }

    /// Handles the result of a verification of `ranges`. The bytes of `damaged` differ from their
    /// checksums and become gaps.
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

    /// The part of `damaged` that is still unverified. Other damaged bytes have been lost and
    /// stored again since the file was opened.
    package func damagedBytes(_ damaged: ByteRangeSet, of generation: GenerationID) -> ByteRangeSet {
        guard let version, version.generation == generation, !damaged.isEmpty else { return ByteRangeSet() }
        return damaged.intersection(version.unverified)
    }

    /// Whether stored bytes are being compared with their checksums. Evicting them meanwhile would
    /// make them look damaged.
    package var isVerifying: Bool { phase == .ready && version?.verifying.isEmpty == false }

    /// Whether the reader waits only for the verification of stored bytes.
    func waitsForVerification(_ reader: Reader) -> Bool {
        reader.waitsFor == .bytes && !isApart(reader) && version?.unverified.contains(reader.position) == true
    }
}

extension SessionStateMachine.Version {
    /// The part of a stored run that may be used: up to the first unverified byte.
    /// - Returns: nil if that is the first byte of the run.
    func verifiedPart(of run: ByteRange) -> ByteRange? {
        guard !self.unverified.isEmpty, let next = self.unverified.firstRange(atOrAfter: run.lowerBound), next.lowerBound < run.upperBound
        else { return run }
        return ByteRange(run.lowerBound, next.lowerBound)
    }

    /// Turns stored bytes into gaps, except those that are being evicted. A gap there could be
    /// filled again at once, and the eviction would delete the new bytes with the old ones.
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
