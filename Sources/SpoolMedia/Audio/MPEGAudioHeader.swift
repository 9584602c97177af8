/// The header of a frame of MPEG audio, layers I to III (ISO/IEC 11172-3 §2.4.1.3, 13818-3).
struct MPEGAudioHeader: FrameHeader {
    static let container = MediaContainer.mp3
    static let headerBytes = 4
    /// An ID3v1 tag of 128 bytes, and before it the footer of an APE tag of 32 bytes.
    static let tailBytes: Int64 = 160

    let frameBytes: Int
    let samples: UInt64
    let sampleRate: UInt64

    init?(_ bytes: ArraySlice<UInt8>) {
        guard bytes.count >= 4 else { return nil }
        let start = bytes.startIndex
        let (second, third) = (bytes[start + 1], bytes[start + 2])
        guard bytes[start] == 0xFF, second & 0xE0 == 0xE0 else { return nil }
        let version = (second >> 3) & 3, layer = (second >> 1) & 3
        let rateIndex = Int(third >> 4), frequencyIndex = Int((third >> 2) & 3)
        guard version != 1, layer != 0, rateIndex != 0, rateIndex != 15, frequencyIndex != 3 else { return nil }
        let isFirstVersion = version == 3
        let frequency = [44_100, 48_000, 32_000][frequencyIndex] >> (isFirstVersion ? 0 : version == 2 ? 1 : 2)
        let bitRate = Self.kilobits(isFirstVersion, layer)[rateIndex] * 1000
        let padding = Int((third >> 1) & 1)
        switch layer {
        case 3:
            samples = 384
            frameBytes = (12 * bitRate / frequency + padding) * 4
        case 2:
            samples = 1152
            frameBytes = 144 * bitRate / frequency + padding
        default:
            samples = isFirstVersion ? 1152 : 576
            frameBytes = (isFirstVersion ? 144 : 72) * bitRate / frequency + padding
        }
        sampleRate = UInt64(frequency)
        guard frameBytes > Self.headerBytes else { return nil }
    }

    /// The bit rates of a layer, in kilobits a second; the index comes from the header.
    private static func kilobits(_ isFirstVersion: Bool, _ layer: UInt8) -> [Int] {
        switch (isFirstVersion, layer) {
        case (true, 3): [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448]
        case (true, 2): [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384]
        case (true, _): [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320]
        case (false, 3): [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256]
        case (false, _): [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160]
        }
    }
}
