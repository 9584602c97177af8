import SpoolCore

/// Reads Ogg files page by page (RFC 3533): Vorbis, Opus, FLAC and Speex.
///
/// A page states the time at its end as a number of samples. Streams of other codecs, such as
/// pictures, do not count for the time.
struct OggReader: ContainerReader {
    /// The bytes at the end of the file in which players look for the last page, and so for the
    /// duration. A page has fewer.
    private static let tailBytes: Int64 = 64 << 10
    /// The most streams.
    private static let maximumStreams = 64

    private let limits: MediaLimits
    private var offset: Int64 = 0
    private var pages = 0
    private var streams: [UInt64: Stream] = [:]
    /// The time of the streams that ended before those in `streams` began (RFC 3533 §4, chaining).
    private var passed = MediaTime(nanoseconds: 0)

    /// One logical stream, of a codec whose clock is known.
    private struct Stream {
        var sampleRate: UInt64
        /// The samples before the beginning of the media.
        var skipped: UInt64
        var reached: UInt64 = 0
        var hasEnded = false

        var time: MediaTime { MediaTime(ticks: reached - min(skipped, reached), scale: sampleRate) }
    }

    init(limits: MediaLimits) { self.limits = limits }

    mutating func plan(_ wanted: MediaTime, _ bytes: inout KnownBytes) throws(MediaReadFailure) -> MediaPlan {
        bytes.readsInOrder = true
        let end = wanted + .margin
        while !bytes.isEnd(offset), !reaches(end), try hasPage(bytes) { try readPage(&bytes) }
        guard !streams.isEmpty else { throw .malformed("an Ogg file without a stream whose clock Spool reads") }
        var ranges = ByteRangeSet([ByteRange(lower: 0, upper: max(offset, 1))])
        if let length = bytes.length, let tail = ByteRange(max(0, length - Self.tailBytes), length) { ranges.insert(tail) }
        return MediaPlan(container: .ogg, ranges: ranges, reachesEnd: bytes.isEnd(offset))
    }

    private var haveEnded: Bool { streams.values.allSatisfy(\.hasEnded) }

    /// Whether all streams reach `end`, but those that ended before others.
    private func reaches(_ end: MediaTime) -> Bool {
        !streams.isEmpty
            && (haveEnded
                ? streams.values.contains { passed + $0.time >= end }
                : streams.values.allSatisfy { $0.hasEnded || passed + $0.time >= end })
    }

    /// Whether a page is at `offset`. Other bytes, such as tags, may follow the last stream.
    private func hasPage(_ bytes: KnownBytes) throws(MediaReadFailure) -> Bool {
        guard !streams.isEmpty, haveEnded else { return true }
        guard !bytes.isEnd(offset + 26) else { return false }
        return try bytes.read(27, at: offset).starts(withText: "OggS")
    }

    private mutating func readPage(_ bytes: inout KnownBytes) throws(MediaReadFailure) {
        let header = try bytes.read(27, at: offset)
        guard header.starts(withText: "OggS") else { throw .malformed("no Ogg page at byte \(offset)") }
        pages += 1
        guard pages <= limits.elements else { throw .malformed("more than \(limits.elements) pages") }
        let start = header.startIndex
        let flags = header[start + 5]
        let granule = header[(start + 6)..<(start + 14)].littleEndian
        let serial = header[(start + 14)..<(start + 18)].littleEndian
        let segments = Int(header[start + 26])
        let table = try bytes.read(segments, at: offset + 27)
        let content = table.reduce(0) { $0 + Int($1) }
        if flags & 2 != 0, streams.count < Self.maximumStreams {
            let packet = try bytes.read(min(content, 64), at: offset + 27 + Int64(segments))
            if let stream = Self.stream(packet) { begin(stream, serial) }
        } else if granule != .max {
            // A granule position of -1 means that no packet ends on the page.
            streams[serial]?.reached = granule
        }
        if flags & 4 != 0 { streams[serial]?.hasEnded = true }
        offset += 27 + Int64(segments + content)
        bytes.forget(before: offset)
    }

    /// Adds a stream, which follows the others if all have ended.
    private mutating func begin(_ stream: Stream, _ serial: UInt64) {
        if haveEnded, let longest = streams.values.map(\.time).max() {
            passed = passed + longest
            streams = [:]
        }
        streams[serial] = stream
    }

    /// The clock of the stream that begins with `packet`, or nil for another codec.
    private static func stream(_ packet: ArraySlice<UInt8>) -> Stream? {
        let start = packet.startIndex
        var rate: UInt64 = 0, skipped: UInt64 = 0
        if packet.starts(withText: "OpusHead"), packet.count >= 12 {
            // Opus counts 48 000 samples a second at every rate (RFC 7845 §4).
            rate = 48_000
            skipped = packet[(start + 10)..<(start + 12)].littleEndian
        } else if packet.starts(withText: "\u{1}vorbis"), packet.count >= 16 {
            rate = packet[(start + 12)..<(start + 16)].littleEndian
        } else if packet.starts(withText: "\u{7F}FLAC"), packet.count >= 31 {
            // The stream information begins at byte 17, the rate at its byte 10.
            rate = packet[(start + 27)..<(start + 30)].reduce(0) { $0 << 8 | UInt64($1) } >> 4
        } else if packet.starts(withText: "Speex   "), packet.count >= 40 {
            rate = packet[(start + 36)..<(start + 40)].littleEndian
        }
        return rate > 0 ? Stream(sampleRate: rate, skipped: skipped) : nil
    }
}

extension ArraySlice<UInt8> {
    /// The number whose least significant byte comes first. At most 8 bytes count.
    var littleEndian: UInt64 { prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) } }
}
