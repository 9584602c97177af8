import SpoolCore

/// The tables of a track that give time, size and place of each sample (ISO/IEC 14496-12 §8.6–8.7).
///
/// The tables stay in the form of the file. A walk over them reads each entry once.
struct SampleTable {
    private let durations: ArraySlice<UInt8>
    private let chunkRuns: ArraySlice<UInt8>
    private let sizes: Sizes
    private let chunkOffsets: ArraySlice<UInt8>
    /// The bytes of one entry of `chunkOffsets`: 4 or 8.
    private let offsetBytes: Int
    /// The largest number of ticks by which a sample is shown before it is decoded.
    private let earliestShown: UInt64

    /// The sizes of samples: one for all, or one each of 4, 8, 16 or 32 bits.
    private enum Sizes {
        case equal(UInt64, count: UInt64)
        case each(ArraySlice<UInt8>, bits: Int, count: UInt64)

        var count: UInt64 {
            switch self {
            case .equal(_, let count), .each(_, _, let count): count
            }
        }

        /// The bytes of the samples, at most 2^60.
        func bytes(of samples: Range<UInt64>) -> UInt64 {
            switch self {
            case .equal(let size, _):
                let (bytes, overflow) = size.multipliedReportingOverflow(by: UInt64(samples.count))
                return overflow ? UInt64(ByteRange.maximumOffset) : min(bytes, UInt64(ByteRange.maximumOffset))
            case .each(let table, let bits, _):
                // A table in memory has fewer than 2^28 entries of at most 2^32 bytes.
                return samples.reduce(0) { $0 + Self.size(of: $1, table, bits) }
            }
        }

        private static func size(of sample: UInt64, _ table: ArraySlice<UInt8>, _ bits: Int) -> UInt64 {
            let index = table.startIndex + Int(sample) * bits / 8
            if bits == 4 { return UInt64(sample.isMultiple(of: 2) ? table[index] >> 4 : table[index] & 15) }
            return table[index..<index + bits / 8].reduce(0) { $0 << 8 | UInt64($1) }
        }
    }

    init(_ boxes: Boxes) throws(MediaReadFailure) {
        durations = try Self.entries(boxes.first("stts"), bytes: 8)
        chunkRuns = try Self.entries(boxes.first("stsc"), bytes: 12)
        if let long = boxes.first("co64") {
            chunkOffsets = try Self.entries(long, bytes: 8)
            offsetBytes = 8
        } else {
            chunkOffsets = try Self.entries(boxes.first("stco"), bytes: 4)
            offsetBytes = 4
        }
        sizes = try Self.sizes(boxes)
        earliestShown = try Self.earliestShown(boxes.first("ctts"))
    }

    /// Whether the track has no samples, as in a fragmented movie.
    var isEmpty: Bool { sizes.count == 0 || chunkOffsets.isEmpty }

    // MARK: Tables

    /// The entries of a table behind its version, flags and count. A count beyond the box is cut.
    private static func entries(_ content: ArraySlice<UInt8>?, bytes: Int) throws(MediaReadFailure) -> ArraySlice<UInt8> {
        guard let content else { return [] }
        var table = BigEndian(content)
        try table.skip(4)
        let count = try table.int(4)
        return table.rest.prefix(min(count, table.count / bytes) * bytes)
    }

    private static func sizes(_ boxes: Boxes) throws(MediaReadFailure) -> Sizes {
        if let content = boxes.first("stsz") {
            var table = BigEndian(content)
            try table.skip(4)
            let equal = try table.number(4)
            let count = try table.int(4)
            guard equal == 0 else { return .equal(equal, count: UInt64(count)) }
            return .each(table.rest, bits: 32, count: UInt64(min(count, table.count / 4)))
        }
        guard let content = boxes.first("stz2") else { return .equal(0, count: 0) }
        var table = BigEndian(content)
        try table.skip(7)
        let bits = try table.int(1)
        guard [4, 8, 16].contains(bits) else { throw .malformed("sample sizes of \(bits) bits") }
        let count = try table.int(4)
        return .each(table.rest, bits: bits, count: UInt64(min(count, table.count * 8 / bits)))
    }

    /// Composition offsets of version 1 may be negative: such a sample is shown before the time at
    /// which it is decoded.
    private static func earliestShown(_ content: ArraySlice<UInt8>?) throws(MediaReadFailure) -> UInt64 {
        guard let content, content.first == 1 else { return 0 }
        var table = BigEndian(try entries(content, bytes: 8))
        var earliest: Int32 = 0
        while table.count >= 8 {
            try table.skip(4)
            earliest = min(earliest, Int32(bitPattern: UInt32(truncatingIfNeeded: try table.number(4))))
        }
        return UInt64(earliest.magnitude)
    }

    // MARK: Walk

    /// The bytes of the samples that are decoded before `ticks`, which is at most 2^61.
    ///
    /// - Parameter chunks: The number of chunks that were visited, which the call increases.
    /// - Complexity: O(*n*), *n* being the entries of the tables.
    func samples(
        decodedBefore ticks: UInt64, _ limits: MediaLimits, chunks: inout Int
    ) throws(MediaReadFailure) -> Samples {
        let wanted = count(decodedBefore: ticks + earliestShown)
        var ranges = ByteRangeSet()
        var sample: UInt64 = 0
        var run = ChunkRun(chunkRuns)
        var chunk: UInt64 = 1
        while sample < wanted, let offset = offset(of: chunk), let count = run.samples(in: chunk), count > 0 {
            chunks += 1
            guard chunks <= limits.elements else { throw .malformed("more than \(limits.elements) chunks") }
            let end = min(sample + count, wanted)
            let bytes = Int64(sizes.bytes(of: sample..<end))
            if offset <= UInt64(ByteRange.maximumOffset), let range = ByteRange(Int64(offset), Int64(offset) + bytes) {
                ranges.insert(range)
                guard ranges.rangeCount <= limits.ranges else { throw .malformed("samples in more than \(limits.ranges) places") }
            }
            sample = end
            chunk += 1
        }
        return Samples(ranges: ranges, reachesEnd: wanted >= sizes.count)
    }

    /// The number of samples whose decoding time is before `ticks`.
    private func count(decodedBefore ticks: UInt64) -> UInt64 {
        var table = BigEndian(durations)
        var time: UInt64 = 0, count: UInt64 = 0
        while table.count >= 8, time < ticks {
            guard let run = try? table.number(4), let duration = try? table.number(4) else { break }
            guard duration > 0 else {
                count += run
                continue
            }
            let fitting = (ticks - time + duration - 1) / duration
            guard fitting >= run else { return min(count + fitting, sizes.count) }
            count += run
            time += run * duration
        }
        return min(count, sizes.count)
    }

    private func offset(of chunk: UInt64) -> UInt64? {
        let start = chunkOffsets.startIndex + (Int(chunk) - 1) * offsetBytes
        guard start + offsetBytes <= chunkOffsets.endIndex else { return nil }
        return chunkOffsets[start..<start + offsetBytes].reduce(0) { $0 << 8 | UInt64($1) }
    }
}

/// The runs of chunks with an equal number of samples (`stsc`), read in ascending order.
private struct ChunkRun {
    private var table: BigEndian
    private var current: UInt64?
    private var next: (chunk: UInt64, samples: UInt64)?

    init(_ entries: ArraySlice<UInt8>) {
        table = BigEndian(entries)
        readNext()
    }

    /// The number of samples in `chunk`, or nil behind a broken table. Chunks are asked in
    /// ascending order.
    mutating func samples(in chunk: UInt64) -> UInt64? {
        while let next, next.chunk <= chunk {
            current = next.samples
            readNext()
        }
        return current
    }

    private mutating func readNext() {
        guard table.count >= 12, let chunk = try? table.number(4), let samples = try? table.number(4), (try? table.skip(4)) != nil else {
            next = nil
            return
        }
        next = (chunk, samples)
    }
}
