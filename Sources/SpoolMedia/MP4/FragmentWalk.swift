import SpoolCore

/// Goes from box to box through the fragments (`moof`) of a file, and follows the times of its
/// tracks.
struct FragmentWalk {
    /// The latest time. Sums with the duration of a run fit.
    private static let maximumTicks: UInt64 = 1 << 61

    /// The time at which each track begins, in ticks of its clock. A recording of a live stream
    /// begins later than 0.
    private var begun: [Int: UInt64] = [:]
    /// The time that each track has reached.
    private var reached: [Int: UInt64] = [:]
    private var fragments = 0
    /// The offset of the next box.
    private(set) var offset: Int64
    /// The bytes that the seconds need, as far as the walk came.
    private(set) var ranges: ByteRangeSet
    /// Whether the seconds end inside a fragment whose samples are known. Of the media from there on
    /// they need these samples only.
    private(set) var isCut = false

    /// Creates a walk from the box at `offset`.
    ///
    /// - Parameter head: Bytes before it that the seconds need, too.
    init(from offset: Int64, head: ByteRange? = nil) {
        self.offset = offset
        ranges = ByteRangeSet(head.map { [$0] } ?? [])
    }

    /// Whether every track that has begun reaches `end`.
    ///
    /// A track may have its first fragment later than the others. After two fragments for each
    /// track, a track without one counts as empty.
    private func reaches(_ end: MediaTime, of movie: Movie) -> Bool {
        guard !reached.isEmpty else { return false }
        let isComplete = reached.count == movie.tracks.count || fragments >= 2 * movie.tracks.count
        return isComplete
            && movie.tracks.allSatisfy { track in
                guard let reached = reached[track.id], let begun = begun[track.id] else { return true }
                return MediaTime(ticks: reached - min(begun, reached), scale: track.timeScale) >= end
            }
    }

    /// Visits the box at `offset`.
    ///
    /// - Parameters:
    ///   - end: The time before which samples are needed.
    ///   - content: Returns the content of the box, or throws if it is not known yet.
    /// - Returns: Whether the walk is over, because all tracks reach `end`.
    mutating func visit(
        _ box: Box, until end: MediaTime, of movie: Movie, content: (Box) throws(MediaReadFailure) -> ArraySlice<UInt8>
    ) throws(MediaReadFailure) -> Bool {
        switch box.type {
        case "moof":
            // The fragment before was needed as a whole.
            if reaches(end, of: movie) { return true }
            let part = try add(try content(box), at: box.range.lowerBound, movie, until: end)
            ranges.insert(box.range)
            if let part { ranges.formUnion(part) }
            isCut = part != nil
        case "mdat" where isCut:
            ranges.insert(ByteRange(lower: box.range.lowerBound, upper: box.range.lowerBound + Int64(box.headerBytes)))
        default:
            ranges.insert(box.range)
        }
        offset = box.range.upperBound
        return box.type == "mdat" && isCut && reaches(end, of: movie)
    }

    /// Adds a `moof` box (ISO/IEC 14496-12 §8.8).
    ///
    /// - Parameters:
    ///   - content: The content of the box.
    ///   - offset: The offset of the box in the file.
    ///   - end: The time before which samples are needed.
    /// - Returns: The bytes of the samples that are decoded before `end`, or nil if the fragment is
    ///   needed as a whole: it has no later sample, or does not state the sizes.
    private mutating func add(
        _ content: ArraySlice<UInt8>, at offset: Int64, _ movie: Movie, until end: MediaTime
    ) throws(MediaReadFailure) -> ByteRangeSet? {
        fragments += 1
        var needed = ByteRangeSet()
        var hasLater = false, hasSizes = true
        // Where the data of the track before ends, which is the base of a track without one.
        var position = offset
        for content in try Boxes(content).all("traf") {
            let boxes = try Boxes(content)
            guard let header = boxes.first("tfhd") else { continue }
            let fragment = try FragmentHeader(header)
            guard let track = movie.tracks.first(where: { $0.id == fragment.track }) else {
                hasSizes = false
                continue
            }
            let limit = try begin(track, boxes.first("tfdt"), movie, until: end)
            let base = fragment.base ?? (fragment.countsFromFragment ? offset : position)
            let standard = FragmentRun.Standard(
                duration: fragment.duration ?? track.defaults.duration, size: fragment.size ?? track.defaults.size)
            position = base
            for content in boxes.all("trun") {
                let time = reached[track.id, default: 0]
                let run = try FragmentRun(content, standard, needed: limit - min(time, limit))
                reached[track.id] = min(time + run.ticks, Self.maximumTicks)
                guard let bytes = run.bytes else {
                    hasSizes = false
                    continue
                }
                if let distance = run.distance { position = min(base, ByteRange.maximumOffset) + distance }
                let upper = min(max(position, 0), ByteRange.maximumOffset) + run.neededBytes
                if let range = ByteRange(max(position, 0), min(upper, ByteRange.maximumOffset)) { needed.insert(range) }
                if run.neededBytes < bytes { hasLater = true }
                position = min(max(position, 0), ByteRange.maximumOffset) + bytes
            }
        }
        return hasLater && hasSizes ? needed : nil
    }

    /// Moves to the time at which a track's part of a fragment begins.
    ///
    /// - Returns: The tick of the track's clock that is `end`.
    private mutating func begin(
        _ track: Track, _ decodeTime: ArraySlice<UInt8>?, _ movie: Movie, until end: MediaTime
    ) throws(MediaReadFailure) -> UInt64 {
        if let decodeTime {
            var box = BigEndian(decodeTime)
            let size = try box.byte() == 1 ? 8 : 4
            try box.skip(3)
            reached[track.id] = min(try box.number(size), Self.maximumTicks)
        }
        let begun = self.begun[track.id] ?? (movie.hasSamples ? 0 : reached[track.id] ?? 0)
        self.begun[track.id] = begun
        let (limit, overflow) = end.ticks(scale: track.timeScale).addingReportingOverflow(begun)
        return overflow ? Self.maximumTicks : min(limit, Self.maximumTicks)
    }
}
