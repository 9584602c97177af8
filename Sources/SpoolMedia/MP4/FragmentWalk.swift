/// Follows the times of the tracks through the fragments (`moof`) of a file without an index.
struct FragmentWalk {
    /// The most samples in one run. A segment has some hundred.
    private static let maximumSamples = 65_536
    /// The latest time. Sums with the duration of a run fit.
    private static let maximumTicks: UInt64 = 1 << 61

    /// The time at which each track begins, in ticks of its clock. A recording of a live stream
    /// begins later than 0.
    private var begun: [Int: UInt64] = [:]
    /// The time that each track has reached.
    private var reached: [Int: UInt64] = [:]
    private var fragments = 0

    /// Whether every track that has begun reaches `end`.
    ///
    /// A track may have its first fragment later than the others. After two fragments for each
    /// track, a track without one counts as empty.
    func reaches(_ end: MediaTime, of movie: Movie) -> Bool {
        guard !reached.isEmpty else { return false }
        let isComplete = reached.count == movie.tracks.count || fragments >= 2 * movie.tracks.count
        return isComplete
            && movie.tracks.allSatisfy { track in
                guard let reached = reached[track.id], let begun = begun[track.id] else { return true }
                return MediaTime(ticks: reached - min(begun, reached), scale: track.timeScale) >= end
            }
    }

    /// Adds the content of a `moof` box (ISO/IEC 14496-12 §8.8).
    mutating func add(_ content: ArraySlice<UInt8>, _ movie: Movie) throws(MediaReadFailure) {
        fragments += 1
        for content in try Boxes(content).all("traf") {
            let boxes = try Boxes(content)
            guard let header = boxes.first("tfhd") else { continue }
            let fragment = try FragmentHeader(header)
            guard let track = movie.tracks.first(where: { $0.id == fragment.track }) else { continue }
            if let decodeTime = boxes.first("tfdt") {
                var box = BigEndian(decodeTime)
                let size = try box.byte() == 1 ? 8 : 4
                try box.skip(3)
                reached[track.id] = min(try box.number(size), Self.maximumTicks)
            }
            if begun[track.id] == nil { begun[track.id] = movie.hasSamples ? 0 : reached[track.id] ?? 0 }
            for run in boxes.all("trun") {
                let duration = try Self.duration(of: run, standard: fragment.duration ?? track.defaultDuration)
                reached[track.id, default: 0] = min(reached[track.id, default: 0] + duration, Self.maximumTicks)
            }
        }
    }

    /// The ticks of a run of samples. Each sample has a duration of its own, or the standard one.
    private static func duration(of content: ArraySlice<UInt8>, standard: UInt64) throws(MediaReadFailure) -> UInt64 {
        var run = BigEndian(content)
        let flags = try run.number(4)
        let count = min(try run.int(4), maximumSamples)
        if flags & 0x1 != 0 { try run.skip(4) }
        if flags & 0x4 != 0 { try run.skip(4) }
        guard flags & 0x100 != 0 else { return UInt64(count) * min(standard, 1 << 32) }
        let others = [0x200, 0x400, 0x800].filter { flags & $0 != 0 }.count * 4
        var ticks: UInt64 = 0
        for _ in 0..<count where run.count >= 4 + others {
            ticks += try run.number(4)
            try run.skip(others)
        }
        return ticks
    }
}

/// The header of a track's fragment (`tfhd`).
private struct FragmentHeader {
    let track: Int
    /// The duration of a sample that states none, or nil.
    let duration: UInt64?

    init(_ content: ArraySlice<UInt8>) throws(MediaReadFailure) {
        var box = BigEndian(content)
        let flags = try box.number(4)
        track = try box.int(4)
        if flags & 0x1 != 0 { try box.skip(8) }
        if flags & 0x2 != 0 { try box.skip(4) }
        duration = flags & 0x8 != 0 ? try box.number(4) : nil
    }
}
