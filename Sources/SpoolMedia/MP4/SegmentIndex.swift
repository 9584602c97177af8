import SpoolCore

/// The index of a fragmented file: sizes and durations of its segments (`sidx`, ISO/IEC 14496-12
/// §8.16.3).
struct SegmentIndex {
    /// The offset of the first segment.
    let firstOffset: Int64
    /// The offset behind the last segment.
    private(set) var end: Int64
    private let timeScale: UInt64
    private var segments: [Segment] = []

    private struct Segment {
        var bytes: Int64
        var duration: UInt64
    }

    /// Reads the content of a `sidx` box that ends at the offset `end`. Offsets in it count from
    /// there.
    init(_ content: ArraySlice<UInt8>, endingAt end: Int64) throws(MediaReadFailure) {
        var box = BigEndian(content)
        let size = try box.byte() == 0 ? 4 : 8
        try box.skip(7)
        timeScale = max(1, try box.number(4))
        try box.skip(size)
        let distance = try box.number(size)
        guard distance <= UInt64(ByteRange.maximumOffset) - UInt64(min(end, ByteRange.maximumOffset)) else {
            throw .malformed("an index of segments at a distance of \(distance) bytes")
        }
        firstOffset = end + Int64(distance)
        self.end = firstOffset
        try box.skip(2)
        let count = try box.int(2)
        for _ in 0..<min(count, box.count / 12) {
            // The highest bit marks a segment that begins with an index of its own.
            let bytes = Int64(try box.number(4) & 0x7FFF_FFFF)
            segments.append(Segment(bytes: bytes, duration: try box.number(4)))
            try box.skip(4)
            self.end = min(self.end + bytes, ByteRange.maximumOffset)
        }
    }

    /// The segments that begin before a time.
    struct Selection: Hashable {
        /// The segments but the last one.
        var before: ByteRange?
        /// The last segment, and the time at which it begins.
        var last: ByteRange?
        var begin = MediaTime(nanoseconds: 0)
        /// Whether the last segment ends behind the time.
        var isCut = false
        /// Whether these are all segments of the index.
        var reachesEnd = true
    }

    /// Returns the segments that begin before `end`.
    func selection(until end: MediaTime) -> Selection {
        var selection = Selection()
        var time: UInt64 = 0
        var offset = firstOffset
        for segment in segments {
            let begin = MediaTime(ticks: time, scale: timeScale)
            guard begin < end else {
                selection.reachesEnd = false
                break
            }
            let upper = min(offset + segment.bytes, ByteRange.maximumOffset)
            time += segment.duration
            selection.before = ByteRange(firstOffset, offset)
            selection.last = ByteRange(offset, upper)
            selection.begin = begin
            selection.isCut = end < MediaTime(ticks: time, scale: timeScale)
            offset = upper
        }
        return selection
    }
}
