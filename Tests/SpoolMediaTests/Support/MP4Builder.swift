/// A box of ISO/IEC 14496-12.
func box(_ type: String, _ content: [UInt8]...) -> [UInt8] {
    let content = content.flatMap { $0 }
    return big(content.count + 8, 4) + Array(type.utf8) + content
}

/// A box with a version and flags.
func fullBox(_ type: String, version: Int = 0, flags: Int = 0, _ content: [UInt8]...) -> [UInt8] {
    box(type, [UInt8(version)] + big(flags, 3), content.flatMap { $0 })
}

/// A track of samples of one size and duration, one chunk a second.
struct TrackModel {
    var id = 1
    var handler = "vide"
    var scale = 1000
    var sampleTicks = 40
    var sampleBytes = 100
    /// The seconds of media.
    var seconds = 30
    /// Whether each sample states its size.
    var hasSizes = true
    /// Whether the sizes have four bits each.
    var hasShortSizes = false
    /// Whether chunk offsets have eight bytes.
    var hasLongOffsets = false
    /// The time that an edit list skips, in ticks, or nil for a track without a list.
    var skipped: Int?

    var samplesOfChunk: Int { scale / sampleTicks }
    var chunkBytes: Int { samplesOfChunk * sampleBytes }

    func table(chunks: [Int]) -> [UInt8] {
        let count = samplesOfChunk * chunks.count
        let sizes =
            hasShortSizes
            ? fullBox("stz2", zeros(3), [4], big(count, 4), [UInt8](repeating: UInt8(sampleBytes * 17), count: (count + 1) / 2))
            : hasSizes
                ? fullBox("stsz", big(0, 4), big(count, 4), (0..<count).flatMap { _ in big(sampleBytes, 4) })
                : fullBox("stsz", big(sampleBytes, 4), big(count, 4))
        let offsets = fullBox(
            hasLongOffsets ? "co64" : "stco", big(chunks.count, 4), chunks.flatMap { big($0, hasLongOffsets ? 8 : 4) })
        return box(
            "stbl", fullBox("stts", big(1, 4), big(count, 4), big(sampleTicks, 4)),
            fullBox("stsc", big(1, 4), big(1, 4), big(samplesOfChunk, 4), big(1, 4)), sizes, offsets)
    }

    /// The `trak` box, with chunks at these offsets.
    func trak(chunks: [Int]) -> [UInt8] {
        let edits = skipped.map { box("edts", fullBox("elst", big(1, 4), big(1000, 4), big($0, 4), big(1 << 16, 4))) } ?? []
        return box(
            "trak", fullBox("tkhd", zeros(8), big(id, 4), zeros(60)), edits,
            box(
                "mdia", fullBox("mdhd", zeros(8), big(scale, 4), zeros(8)), fullBox("hdlr", zeros(4), Array(handler.utf8), zeros(13)),
                box("minf", table(chunks: chunks))))
    }
}

/// An MP4 file with interleaved tracks, one chunk of each a second.
struct MovieModel {
    var tracks = [TrackModel()]

    static let fileType = box("ftyp", Array("isom".utf8), zeros(4))

    /// The file with `moov` before the media.
    func headFirst(before: [UInt8] = [], after: [UInt8] = []) -> [UInt8] {
        let moovBytes = movie(mediaAt: 0).count
        let start = Self.fileType.count + moovBytes + before.count + 8
        return Self.fileType + movie(mediaAt: start) + before + media + after
    }

    /// The file with `moov` behind the media.
    func headLast(after: [UInt8] = []) -> [UInt8] {
        Self.fileType + media + movie(mediaAt: Self.fileType.count + 8) + after
    }

    private var seconds: Int { tracks.map(\.seconds).max() ?? 0 }

    /// The bytes of one second of all tracks.
    var secondBytes: Int { tracks.reduce(0) { $0 + $1.chunkBytes } }

    private var media: [UInt8] { box("mdat", zeros(seconds * secondBytes)) }

    func movie(mediaAt start: Int) -> [UInt8] {
        var before = 0
        var traks: [UInt8] = []
        for track in tracks {
            traks += track.trak(chunks: (0..<track.seconds).map { start + $0 * secondBytes + before })
            before += track.chunkBytes
        }
        return box("moov", fullBox("mvhd", zeros(8), big(1000, 4), zeros(80)), traks)
    }
}

/// A fragmented MP4 file with one track, one fragment of 25 samples a second.
struct FragmentModel {
    var seconds = 30
    /// The bytes of media in one fragment.
    var mediaBytes = 2000
    /// The time at which the recording begins, in seconds.
    var startsAt = 0
    /// Whether samples state their duration.
    var hasDurations = false
    /// Whether samples state their size.
    var hasSizes = false
    /// The seconds before the first fragment, whose samples are in the index.
    var indexedSeconds = 0

    static let scale = 1000, samples = 25, ticks = 40

    /// The file up to its first fragment.
    var head: [UInt8] {
        let track = TrackModel(scale: Self.scale)
        let start = MovieModel.fileType.count + moov([]).count + indexedSeconds * 4 + 8
        let media = indexedSeconds == 0 ? [] : box("mdat", zeros(indexedSeconds * track.chunkBytes))
        return MovieModel.fileType + moov((0..<indexedSeconds).map { start + $0 * track.chunkBytes }) + media
    }

    private func moov(_ chunks: [Int]) -> [UInt8] {
        let track = TrackModel(scale: Self.scale, hasSizes: false)
        return box(
            "moov", fullBox("mvhd", zeros(8), big(1000, 4), zeros(80)), track.trak(chunks: chunks),
            box("mvex", fullBox("trex", big(1, 4), big(1, 4), big(hasDurations ? 0 : Self.ticks, 4), zeros(8))))
    }

    func fragment(_ second: Int) -> [UInt8] {
        moof(second, distance: moof(second, distance: 0).count + 8) + box("mdat", zeros(mediaBytes - 8))
    }

    /// The fragment without its media, which begins at `distance` from here.
    func moof(_ second: Int, distance: Int = 0) -> [UInt8] {
        let flags = (hasDurations ? 0x100 : 0) | (hasSizes ? 0x201 : 0)
        let sample = (hasDurations ? big(Self.ticks, 4) : []) + (hasSizes ? big(sampleBytes, 4) : [])
        let run = fullBox(
            "trun", flags: flags, big(Self.samples, 4), hasSizes ? big(distance, 4) : [], (0..<Self.samples).flatMap { _ in sample })
        let decodeTime = fullBox("tfdt", version: 1, big((startsAt + indexedSeconds + second) * Self.scale, 8))
        return box("moof", fullBox("mfhd", big(second + 1, 4)), box("traf", fullBox("tfhd", flags: 0x20000, big(1, 4)), decodeTime, run))
    }

    /// The size of a sample.
    var sampleBytes: Int { (mediaBytes - 8) / Self.samples }

    /// The bytes of a fragment and its media.
    var fragmentBytes: Int { fragment(0).count }

    /// A segment index of the next fragments.
    func index(seconds: Int) -> [UInt8] {
        fullBox(
            "sidx", big(1, 4), big(Self.scale, 4), zeros(8), zeros(2), big(seconds, 2),
            (0..<seconds).flatMap { _ in big(fragmentBytes, 4) + big(Self.scale, 4) + zeros(4) })
    }

    var file: [UInt8] { head + (0..<seconds).flatMap(fragment) }
}
