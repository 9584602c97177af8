import SpoolCore

/// The bytes of samples, and whether they are all that the file has.
struct Samples: Hashable {
    var ranges: ByteRangeSet
    var reachesEnd: Bool
}

/// The index of a movie: the content of its `moov` box.
struct Movie {
    /// The most tracks that are read.
    private static let maximumTracks = 64

    let tracks: [Track]
    /// Whether samples are in fragments behind the index.
    let isFragmented: Bool
    /// Whether the index has samples. The first samples of some fragmented files are not in a
    /// fragment.
    var hasSamples: Bool { tracks.contains { !$0.table.isEmpty } }

    init(_ content: ArraySlice<UInt8>) throws(MediaReadFailure) {
        let boxes = try Boxes(content)
        var tracks: [Track] = []
        var defaults: [Int: FragmentRun.Standard] = [:]
        if let extends = boxes.first("mvex") {
            for content in try Boxes(extends).all("trex").prefix(Self.maximumTracks) {
                var trex = BigEndian(content)
                try trex.skip(4)
                let id = try trex.int(4)
                try trex.skip(4)
                defaults[id] = FragmentRun.Standard(duration: try trex.number(4), size: try trex.number(4))
            }
        }
        let movieScale = try Self.timeScale(boxes.first("mvhd"))
        for content in boxes.all("trak").prefix(Self.maximumTracks) {
            if let track = try Track(content, movieScale: movieScale, defaults: defaults) { tracks.append(track) }
        }
        guard !tracks.isEmpty else { throw .malformed("a movie without tracks") }
        self.tracks = tracks
        isFragmented = boxes.first("mvex") != nil
    }

    /// The bytes of all samples that are decoded before `end`.
    func samples(until end: MediaTime, _ limits: MediaLimits, chunks: inout Int) throws(MediaReadFailure) -> Samples {
        var result = Samples(ranges: ByteRangeSet(), reachesEnd: true)
        for track in tracks where track.isPlayed {
            let samples = try track.samples(until: end, limits, chunks: &chunks)
            result.ranges.formUnion(samples.ranges)
            result.reachesEnd = result.reachesEnd && samples.reachesEnd
        }
        return result
    }

    /// The ticks a second of an `mvhd` or `mdhd` box, at least 1.
    static func timeScale(_ content: ArraySlice<UInt8>?) throws(MediaReadFailure) -> UInt64 {
        guard let content else { return 1000 }
        var header = BigEndian(content)
        let version = try header.byte()
        try header.skip(3 + (version == 1 ? 16 : 8))
        return max(1, try header.number(4))
    }
}

/// One track of a movie.
struct Track {
    let id: Int
    /// The kind of media: `vide`, `soun`, `text`, …
    let handler: FourCharacterCode?
    /// Ticks a second of the track's clock.
    let timeScale: UInt64
    /// The ticks that an edit list skips at the track's beginning.
    let skippedTicks: UInt64
    /// Duration and size of a fragment's sample when neither it nor the fragment states them.
    let defaults: FragmentRun.Standard
    let table: SampleTable

    /// The latest time that is looked up. Sums with it fit.
    private static let maximumTicks: UInt64 = 1 << 61

    /// Whether players read the track. Only servers read a hint track.
    var isPlayed: Bool { handler != "hint" }

    /// Reads a `trak` box.
    /// - Returns: nil for a track without media.
    init?(_ content: ArraySlice<UInt8>, movieScale: UInt64, defaults: [Int: FragmentRun.Standard]) throws(MediaReadFailure) {
        let boxes = try Boxes(content)
        guard let header = boxes.first("tkhd"), let media = boxes.first("mdia") else { return nil }
        var tkhd = BigEndian(header)
        let version = try tkhd.byte()
        try tkhd.skip(3 + (version == 1 ? 16 : 8))
        id = try tkhd.int(4)
        let mediaBoxes = try Boxes(media)
        timeScale = try Movie.timeScale(mediaBoxes.first("mdhd"))
        handler = mediaBoxes.first("hdlr")?.code(at: 8)
        self.defaults = defaults[id] ?? FragmentRun.Standard(duration: 0, size: 0)
        skippedTicks = try Self.skipped(boxes.first("edts"))
        guard let information = mediaBoxes.first("minf"), let tables = try Boxes(information).first("stbl") else { return nil }
        table = try SampleTable(try Boxes(tables))
    }

    func samples(until end: MediaTime, _ limits: MediaLimits, chunks: inout Int) throws(MediaReadFailure) -> Samples {
        let (sum, overflow) = end.ticks(scale: timeScale).addingReportingOverflow(skippedTicks)
        return try table.samples(decodedBefore: overflow ? Self.maximumTicks : min(sum, Self.maximumTicks), limits, chunks: &chunks)
    }

    /// The media time at which the first edit with media begins. An empty edit only delays the
    /// track, so ignoring it errs on the side of more bytes.
    private static func skipped(_ content: ArraySlice<UInt8>?) throws(MediaReadFailure) -> UInt64 {
        guard let content, let list = try Boxes(content).first("elst") else { return 0 }
        var edits = BigEndian(list)
        let size = try edits.byte() == 1 ? 8 : 4
        try edits.skip(3)
        let count = min(try edits.int(4), 64)
        for _ in 0..<count where edits.count >= 2 * size + 4 {
            try edits.skip(size)
            let time = try edits.number(size)
            try edits.skip(4)
            let isEmpty = time == (size == 8 ? .max : UInt64(UInt32.max))
            if !isEmpty { return time }
        }
        return 0
    }
}
