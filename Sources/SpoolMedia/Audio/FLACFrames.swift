/// The stream information of a FLAC file (RFC 9639 §8.2).
struct FLACInformation: Hashable {
    /// The samples of one channel in a frame, where all frames have the same number.
    let blockSamples: UInt64
    /// Samples a second; at least 1.
    let sampleRate: UInt64

    init(_ content: ArraySlice<UInt8>) throws(MediaReadFailure) {
        var information = BigEndian(content)
        try information.skip(2)
        blockSamples = try information.number(2)
        try information.skip(6)
        sampleRate = try information.number(3) >> 4
        guard sampleRate > 0 else { throw .malformed("a FLAC stream without a sample rate") }
    }
}

/// The header of a FLAC frame (RFC 9639 §9.1).
struct FLACFrameHeader: Hashable {
    /// The number of the frame's first sample, or of the frame itself.
    private let number: UInt64
    private let countsSamples: Bool
    /// The samples of one channel in the frame.
    let samples: UInt64
    /// The codes of sample rate and sample size, which are the same in all frames of a stream.
    let codes: [UInt8]

    /// Reads a header.
    /// - Returns: nil if the bytes are none.
    init?(_ slice: ArraySlice<UInt8>) {
        let bytes = Array(slice)
        guard bytes.count >= 6, bytes[0] == 0xFF, bytes[1] & 0xFE == 0xF8, bytes[3] & 1 == 0 else { return nil }
        let sizeCode = bytes[2] >> 4, rateCode = bytes[2] & 15
        guard sizeCode > 0, rateCode < 15, let (number, numberBytes) = Self.codedNumber(bytes[4...]) else { return nil }
        let sizeStart = 4 + numberBytes
        let sizeBytes = sizeCode == 6 ? 1 : sizeCode == 7 ? 2 : 0
        let rateBytes = rateCode == 12 ? 1 : rateCode > 12 ? 2 : 0
        let end = sizeStart + sizeBytes + rateBytes
        guard end < bytes.count, Self.check(bytes[..<end]) == bytes[end] else { return nil }
        self.number = number
        countsSamples = bytes[1] & 1 == 1
        codes = [rateCode, bytes[3] & 0x0E]
        samples = Self.samples(sizeCode, bytes[sizeStart..<sizeStart + sizeBytes])
    }

    /// The number of the frame's first sample. A stream of equal blocks counts frames.
    func position(_ information: FLACInformation) -> UInt64 {
        // The number has at most 36 bits, and a block at most 16.
        countsSamples ? number : number * information.blockSamples
    }

    /// The samples of a block by its code (RFC 9639 §9.1.1).
    private static func samples(_ code: UInt8, _ coded: ArraySlice<UInt8>) -> UInt64 {
        switch code {
        case 1: 192
        case 2...5: 576 << UInt64(code - 2)
        case 6, 7: coded.reduce(0) { $0 << 8 | UInt64($1) } + 1
        default: 256 << UInt64(code - 8)
        }
    }

    /// A number in the coding of RFC 9639 §9.1.5, which extends that of UTF-8 to 36 bits.
    private static func codedNumber(_ bytes: ArraySlice<UInt8>) -> (value: UInt64, bytes: Int)? {
        guard let first = bytes.first else { return nil }
        guard first >= 0x80 else { return (UInt64(first), 1) }
        let count = (~first).leadingZeroBitCount
        guard (2...7).contains(count), bytes.count >= count else { return nil }
        var value = UInt64(first) & (count == 7 ? 0 : 0x7F >> UInt64(count))
        for byte in bytes.dropFirst().prefix(count - 1) {
            guard byte & 0xC0 == 0x80 else { return nil }
            value = value << 6 | UInt64(byte & 0x3F)
        }
        return (value, count)
    }

    /// The CRC-8 of the polynomial x^8 + x^2 + x + 1.
    private static func check(_ bytes: ArraySlice<UInt8>) -> UInt8 {
        var remainder: UInt8 = 0
        for byte in bytes {
            remainder ^= byte
            for _ in 0..<8 { remainder = remainder & 0x80 != 0 ? remainder << 1 ^ 0x07 : remainder << 1 }
        }
        return remainder
    }
}

/// The run of frames of a stream, which tells a frame from bytes that look like one.
///
/// Audio contains a header with a right check by chance about once a minute. Such a header does not
/// continue the run: its position is not near the end of the frame before.
struct FLACFrames {
    private let codes: [UInt8]
    private let tolerance: UInt64
    /// The position of the first frame. A stream that was cut out of another one begins later than 0.
    private let first: UInt64
    /// The position at which the next frame begins.
    private var next: UInt64

    /// Begins a run with its first frame.
    init(first header: FLACFrameHeader, at position: UInt64, _ information: FLACInformation) {
        codes = header.codes
        // A second of frames may be lost to damage.
        tolerance = information.sampleRate
        first = position
        next = position + header.samples
    }

    /// Adds a frame.
    ///
    /// - Returns: The samples before it, or nil if it does not continue the run.
    mutating func add(_ header: FLACFrameHeader, at position: UInt64) -> UInt64? {
        guard header.codes == codes, position >= next, position - next <= tolerance else { return nil }
        next = position + header.samples
        return position - first
    }
}
