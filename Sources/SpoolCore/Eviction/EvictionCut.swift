/// Decides which blocks of one resource go: whole blocks only, tail first, what players ask for first last.
///
/// A block that has a single protected byte stays. A block of which only a part is stored may go: its other bytes mean nothing.
package struct EvictionCut: Sendable {
    /// The unit in which bytes are given back, in bytes; ranges of the answer begin and end at its multiples.
    package let blockBytes: Int64
    /// Bytes that stay whatever is wanted.
    package var protected = ByteRangeSet()
    /// Regions in the order in which they go; what lies in none of them goes before all of them, tail first.
    package var regions: [Region] = []

    /// A part of a resource that goes at its own turn.
    package struct Region: Hashable, Sendable {
        package var range: ByteRange
        /// From its end; else from its beginning.
        package var isTailFirst: Bool

        package init(_ range: ByteRange, isTailFirst: Bool = true) {
            self.range = range
            self.isTailFirst = isTailFirst
        }
    }

    package init(blockBytes: Int64) {
        precondition(blockBytes > 0, "a block has bytes")
        self.blockBytes = blockBytes
    }

    /// The blocks that go so that `wanted` of the stored bytes are gone, or all that may go when these are fewer.
    ///
    /// - Complexity: O(*n* · *r*), *n* being the number of stored ranges and *r* that of regions.
    package func blocks(of stored: ByteRangeSet, wanted: Int64) -> ByteRangeSet {
        guard wanted > 0 else { return ByteRangeSet() }
        let candidates = widened(stored).subtracting(widened(protected))
        var taken = ByteRangeSet()
        var missing = wanted
        // What lies in no region goes first; each region gives what those after it don't claim.
        for (position, region) in ([nil] + regions.map(Optional.some)).enumerated() {
            var available = region.map { candidates.intersection(widened(ByteRangeSet([$0.range]))) } ?? candidates
            for later in regions[position...] { available.subtract(widened(ByteRangeSet([later.range]))) }
            available.subtract(taken)
            take(&missing, from: available, of: stored, isTailFirst: region?.isTailFirst ?? true, into: &taken)
            if missing <= 0 { break }
        }
        return taken
    }

    private func take(
        _ missing: inout Int64, from available: ByteRangeSet, of stored: ByteRangeSet, isTailFirst: Bool, into taken: inout ByteRangeSet
    ) {
        let ranges = available.ranges
        for range in isTailFirst ? ranges.reversed() : ranges {
            guard missing > 0 else { return }
            let whole = stored.intersection(range).totalBytes
            let part = whole <= missing ? range : self.part(of: range, stored: stored, missing: missing, isTailFirst: isTailFirst)
            taken.insert(part)
            missing -= stored.intersection(part).totalBytes
        }
    }

    /// The fewest blocks at one end of `range` with `missing` stored bytes in them.
    private func part(of range: ByteRange, stored: ByteRangeSet, missing: Int64, isTailFirst: Bool) -> ByteRange {
        var (low, high) = (Int64(1), (range.count + blockBytes - 1) / blockBytes)
        // Halving: the stored bytes of a growing end only grow.
        while low < high {
            let middle = (low + high) / 2
            let end = end(of: range, blocks: middle, isTailFirst: isTailFirst)
            if stored.intersection(end).totalBytes >= missing { high = middle } else { low = middle + 1 }
        }
        return end(of: range, blocks: low, isTailFirst: isTailFirst)
    }

    private func end(of range: ByteRange, blocks: Int64, isTailFirst: Bool) -> ByteRange {
        isTailFirst
            ? ByteRange(lower: max(range.lowerBound, range.upperBound - blocks * blockBytes), upper: range.upperBound)
            : ByteRange(lower: range.lowerBound, upper: min(range.upperBound, range.lowerBound + blocks * blockBytes))
    }

    /// The blocks that the bytes of a set touch, whole.
    private func widened(_ set: ByteRangeSet) -> ByteRangeSet {
        ByteRangeSet(set.ranges.map { $0.widened(to: blockBytes) })
    }
}

extension ByteRange {
    /// The range from the beginning of its first block of `blockBytes` to the end of its last; cut at the last multiple that fits.
    package func widened(to blockBytes: Int64) -> ByteRange {
        let lower = lowerBound - lowerBound % blockBytes
        let end = upperBound.addingClamped((blockBytes - upperBound % blockBytes) % blockBytes)
        let upper = end - end % blockBytes
        return ByteRange(lower, upper) ?? self
    }
}
