/// Chooses the blocks of one resource to evict: whole blocks only, the tail first by default,
/// protected bytes never.
///
/// A block with a single protected byte stays. A block that is only partly stored may be chosen.
package struct EvictionCut: Sendable {
    /// The unit of eviction, in bytes. Chosen ranges begin and end at its multiples.
    package let blockBytes: Int64
    /// The bytes that are never chosen.
    package var protected = ByteRangeSet()
    /// The regions in the order in which they are evicted. Bytes outside all regions are evicted
    /// before them, tail first.
    package var regions: [Region] = []

    /// A part of a resource with its own place in the order.
    package struct Region: Hashable, Sendable {
        /// The bytes of the region.
        package var range: ByteRange
        /// Whether the region is evicted from its end; otherwise from its beginning.
        package var isTailFirst: Bool

        /// Creates a region.
        package init(_ range: ByteRange, isTailFirst: Bool = true) {
            self.range = range
            self.isTailFirst = isTailFirst
        }
    }

    /// Creates a cut that works in blocks of `blockBytes`, which is positive.
    package init(blockBytes: Int64) {
        precondition(blockBytes > 0, "a block has bytes")
        self.blockBytes = blockBytes
    }

    /// Chooses the fewest blocks, in order, that contain `wanted` stored bytes, or all that may be
    /// evicted if they contain fewer.
    ///
    /// - Complexity: O(*n* · *r*), *n* being the number of stored ranges and *r* the number of
    ///   regions.
    package func blocks(of stored: ByteRangeSet, wanted: Int64) -> ByteRangeSet {
        guard wanted > 0 else { return ByteRangeSet() }
        let candidates = widened(stored).subtracting(widened(protected))
        var taken = ByteRangeSet()
        var missing = wanted
        // Bytes outside all regions go first. Bytes that several regions contain belong to the last
        // of them.
        for (position, region) in ([nil] + regions.map(Optional.some)).enumerated() {
            var available = region.map { candidates.intersection(widened(ByteRangeSet([$0.range]))) } ?? candidates
            for later in regions[position...] { available.subtract(widened(ByteRangeSet([later.range]))) }
            available.subtract(taken)
            take(&missing, from: available, of: stored, isTailFirst: region?.isTailFirst != false, into: &taken)
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

    /// The smallest end of `range`, in blocks, that contains `missing` stored bytes.
    private func part(of range: ByteRange, stored: ByteRangeSet, missing: Int64, isTailFirst: Bool) -> ByteRange {
        var (low, high) = (Int64(1), (range.count + blockBytes - 1) / blockBytes)
        // Binary search works because a longer end never contains fewer stored bytes.
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

    /// All blocks that the set has a byte of, as whole blocks.
    private func widened(_ set: ByteRangeSet) -> ByteRangeSet {
        ByteRangeSet(set.ranges.map { $0.widened(to: blockBytes) })
    }
}

extension ByteRange {
    /// The range from the beginning of its first block of `blockBytes` to the end of its last, cut
    /// at the last multiple of `blockBytes` in `Int64`.
    package func widened(to blockBytes: Int64) -> ByteRange {
        let lower = lowerBound - lowerBound % blockBytes
        let end = upperBound.addingSaturated((blockBytes - upperBound % blockBytes) % blockBytes)
        let upper = end - end % blockBytes
        return ByteRange(lower, upper) ?? self
    }
}
