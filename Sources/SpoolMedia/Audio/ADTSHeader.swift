/// The header of a frame of AAC in an ADTS stream (ISO/IEC 13818-7 §6.2).
struct ADTSHeader: FrameHeader {
    static let container = MediaContainer.aac
    static let headerBytes = 7
    static let tailBytes: Int64 = 0

    private static let frequencies: [UInt64] = [
        96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
    ]

    let frameBytes: Int
    let samples: UInt64
    let sampleRate: UInt64

    /// Reads a header. Four bytes suffice to tell that the bytes are one; its sizes then count as
    /// the smallest.
    init?(_ bytes: ArraySlice<UInt8>) {
        guard bytes.count >= 4 else { return nil }
        let start = bytes.startIndex
        guard bytes[start] == 0xFF, bytes[start + 1] & 0xF6 == 0xF0 else { return nil }
        let frequencyIndex = Int((bytes[start + 2] >> 2) & 15)
        guard frequencyIndex < Self.frequencies.count else { return nil }
        sampleRate = Self.frequencies[frequencyIndex]
        guard bytes.count >= Self.headerBytes else {
            (frameBytes, samples) = (Self.headerBytes + 1, 1024)
            return
        }
        frameBytes = Int(bytes[start + 3] & 3) << 11 | Int(bytes[start + 4]) << 3 | Int(bytes[start + 5] >> 5)
        samples = 1024 * (UInt64(bytes[start + 6] & 3) + 1)
        guard frameBytes > Self.headerBytes else { return nil }
    }
}
