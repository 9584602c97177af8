/// The head of a WAV file in the RIFF format: 16-bit stereo PCM with 44 100 frames a second.
struct WaveHeader {
    static let byteCount = 44
    static let framesPerSecond = 44_100
    static let bytesPerFrame = 4

    let bytes: [UInt8]

    /// Creates the head.
    ///
    /// - Parameter dataBytes: The number of bytes of samples that follow. Less than 4 GiB.
    init(dataBytes: Int64) {
        let size = UInt32(dataBytes)
        var bytes = Array("RIFF".utf8) + Self.little(size + 36) + Array("WAVEfmt ".utf8)
        bytes += Self.little(UInt32(16))  // the format chunk's size
        bytes += Self.little(UInt16(1)) + Self.little(UInt16(2))  // PCM, two channels
        bytes += Self.little(UInt32(Self.framesPerSecond))
        bytes += Self.little(UInt32(Self.framesPerSecond * Self.bytesPerFrame))
        bytes += Self.little(UInt16(Self.bytesPerFrame)) + Self.little(UInt16(16))  // bytes a frame, bits a sample
        bytes += Array("data".utf8) + Self.little(size)
        self.bytes = bytes
    }

    private static func little<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
        withUnsafeBytes(of: number.littleEndian) { Array($0) }
    }
}
