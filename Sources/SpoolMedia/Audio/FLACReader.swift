import SpoolCore

/// Reads FLAC files (RFC 9639) frame by frame.
///
/// A frame states no size. The reader searches the next sync code, and accepts a header with a right
/// check that continues the frames before it. So bytes of audio that look like a header do not
/// count. The table of seek points is not needed, because the frames themselves are part of the
/// plan.
struct FLACReader: ContainerReader {
    /// The most bytes of a frame's header (RFC 9639 §9.1).
    private static let maximumHeaderBytes = 16
    /// The most bytes without a frame: two of the largest frame, which has 65 535 samples of eight
    /// channels and 32 bits.
    private static let maximumFrameBytes: Int64 = 4 << 20
    /// The number of bytes that one search for a sync code looks at.
    private static let searchBytes: Int64 = 4096

    private let limits: MediaLimits
    private let start: Int64
    /// The offset from which on the next frame is searched.
    private var offset: Int64
    /// The offset of the last frame.
    private var frameOffset: Int64 = 0
    private var information: FLACInformation?
    private var isInFrames = false
    private var frames: FLACFrames?
    private var elements = 0

    /// Creates a reader of the stream whose marker is at `start`.
    init(start: Int64, limits: MediaLimits) {
        self.start = start
        offset = start + 4
        self.limits = limits
    }

    mutating func plan(_ wanted: MediaTime, _ bytes: inout KnownBytes) throws(MediaReadFailure) -> MediaPlan {
        bytes.readsInOrder = true
        while !isInFrames { try readMetadata(bytes) }
        guard let information else { throw .malformed("a FLAC stream without stream information") }
        let end = (wanted + .margin).ticks(scale: information.sampleRate)
        while !bytes.isEnd(offset) {
            if let reached = try readFrame(information, bytes), reached >= end {
                return plan(upTo: offset, reachesEnd: false)
            }
            try moveToNextSync(&bytes)
        }
        return plan(upTo: offset, reachesEnd: true)
    }

    private func plan(upTo upper: Int64, reachesEnd: Bool) -> MediaPlan {
        MediaPlan(container: .flac, ranges: ByteRangeSet([ByteRange(lower: 0, upper: max(upper, 1))]), reachesEnd: reachesEnd)
    }

    /// Reads one block of metadata (RFC 9639 §8).
    private mutating func readMetadata(_ bytes: KnownBytes) throws(MediaReadFailure) {
        var header = BigEndian(try bytes.read(4, at: offset))
        let kind = try header.byte()
        let size = Int64(try header.number(3))
        if kind & 0x7F == 0 { information = try FLACInformation(try bytes.read(18, at: offset + 4)) }
        offset += 4 + size
        isInFrames = kind & 0x80 != 0
        frameOffset = offset
        guard offset - start <= limits.indexBytes else { throw .malformed("FLAC metadata of more than \(limits.indexBytes) bytes") }
    }

    /// Reads the header at `offset`.
    ///
    /// - Returns: The samples before its frame, or nil if no frame begins there.
    private mutating func readFrame(_ information: FLACInformation, _ bytes: KnownBytes) throws(MediaReadFailure) -> UInt64? {
        let count = min(Self.maximumHeaderBytes, bytes.length.map { Int(clamping: $0 - offset) } ?? .max)
        guard let header = FLACFrameHeader(try bytes.read(count, at: offset)) else { return nil }
        let position = header.position(information)
        guard frames != nil else {
            frames = FLACFrames(first: header, at: position, information)
            return 0
        }
        guard let reached = frames?.add(header, at: position) else { return nil }
        frameOffset = offset
        return reached
    }

    /// Moves `offset` to the next two bytes that may begin a frame, or to the end of the file.
    private mutating func moveToNextSync(_ bytes: inout KnownBytes) throws(MediaReadFailure) {
        elements += 1
        guard elements <= limits.elements else { throw .malformed("more than \(limits.elements) sync codes") }
        while !bytes.isEnd(offset + 2) {
            guard offset - frameOffset <= Self.maximumFrameBytes else { throw .malformed("no FLAC frame behind byte \(frameOffset)") }
            let position = offset + 1
            let window = try bytes.read(Int(min(Self.searchBytes, bytes.length.map { $0 - position } ?? .max)), at: position)
            let found = window.indices.dropLast().first { window[$0] == 0xFF && window[$0 + 1] & 0xFE == 0xF8 }
            // The last byte of the window may be the first of a sync code.
            offset = position + Int64((found ?? window.endIndex - 1) - window.startIndex)
            if found == nil { offset -= 1 }
            bytes.forget(before: offset)
            if found != nil { return }
        }
        offset = bytes.length ?? offset
    }
}
