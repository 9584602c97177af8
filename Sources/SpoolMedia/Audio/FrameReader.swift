import SpoolCore

/// The header of a frame in a stream of frames that stand one after the other.
protocol FrameHeader: Sendable {
    /// The kind of the stream's file.
    static var container: MediaContainer { get }
    /// The bytes of a header.
    static var headerBytes: Int { get }
    /// The bytes at the end of the file in which players look for tags; 0 for none.
    static var tailBytes: Int64 { get }

    /// Reads a header.
    /// - Returns: nil if the bytes are not a header.
    init?(_ bytes: ArraySlice<UInt8>)

    /// The bytes of the frame, header included; more than `headerBytes`.
    var frameBytes: Int { get }
    /// The samples of one channel in the frame.
    var samples: UInt64 { get }
    /// Samples a second; at least 1.
    var sampleRate: UInt64 { get }
}

/// Reads MP3 and ADTS files frame by frame, so constant and variable rates are exact.
///
/// A file of a variable rate may begin with a table of the whole (`Xing`, `VBRI`). The table is a
/// frame without sound, so it needs no case of its own: its time is shorter than the margin.
struct FrameReader<Header: FrameHeader>: ContainerReader {
    private let limits: MediaLimits
    private var offset: Int64
    private var samples: UInt64 = 0
    private var sampleRate: UInt64 = 0
    private var frames = 0
    /// The bytes since the last frame that belong to none.
    private var junk: Int64 = 0

    /// Creates a reader of the stream that begins at `start`.
    init(start: Int64, limits: MediaLimits) {
        offset = start
        self.limits = limits
    }

    mutating func plan(_ wanted: MediaTime, _ bytes: inout KnownBytes) throws(MediaReadFailure) -> MediaPlan {
        bytes.readsInOrder = true
        let end = wanted + .margin
        while !isAtEnd(bytes) {
            if sampleRate > 0, MediaTime(ticks: samples, scale: sampleRate) >= end { break }
            try readFrame(&bytes)
        }
        guard sampleRate > 0 else { throw .malformed("no frame of a \(Header.container.rawValue) stream") }
        var ranges = ByteRangeSet([ByteRange(lower: 0, upper: max(offset, 1))])
        if let length = bytes.length, let tail = ByteRange(max(0, length - Header.tailBytes), length) { ranges.insert(tail) }
        return MediaPlan(container: Header.container, ranges: ranges, reachesEnd: isAtEnd(bytes))
    }

    /// Whether no header fits between `offset` and the end.
    private func isAtEnd(_ bytes: KnownBytes) -> Bool { bytes.isEnd(offset + Int64(Header.headerBytes) - 1) }

    private mutating func readFrame(_ bytes: inout KnownBytes) throws(MediaReadFailure) {
        if let header = Header(try bytes.read(Header.headerBytes, at: offset)), try isConfirmed(header, bytes) {
            frames += 1
            guard frames <= limits.elements else { throw .malformed("more than \(limits.elements) frames") }
            // Players take the rate of the first frame.
            if sampleRate == 0 { sampleRate = header.sampleRate }
            samples += header.samples
            offset += Int64(header.frameBytes)
            junk = 0
        } else {
            junk += 1
            guard junk <= limits.junkBytes else { throw .malformed("no frame in \(junk) bytes before byte \(offset)") }
            offset += 1
        }
        bytes.forget(before: offset)
    }

    /// Whether a header is one. The first header, and one behind other bytes, may be such bytes by
    /// chance: it counts only if another header follows its frame, or the file's end.
    private func isConfirmed(_ header: Header, _ bytes: KnownBytes) throws(MediaReadFailure) -> Bool {
        if frames > 0, junk == 0 { return true }
        let next = offset + Int64(header.frameBytes)
        if bytes.isEnd(next + Int64(Header.headerBytes) - 1) { return true }
        return Header(try bytes.read(Header.headerBytes, at: next)) != nil
    }
}
