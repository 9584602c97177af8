/// A piece of music as a WAV file whose bytes are a pure function of their offset. No byte is
/// stored, and any range can be generated at once.
struct DemoFile: Sendable {
    let title: String
    /// The name in the URL.
    let name: String
    let length: Int64
    private let composition: Composition
    private let header: [UInt8]

    init(title: String, name: String, seconds: Int, composition: Composition) {
        let dataBytes = Int64(seconds) * Int64(WaveHeader.framesPerSecond * WaveHeader.bytesPerFrame)
        self.title = title
        self.name = name
        self.composition = composition
        header = WaveHeader(dataBytes: dataBytes).bytes
        length = Int64(WaveHeader.byteCount) + dataBytes
    }

    /// The entity tag, which changes with the bytes. It contains the file's name, its length, and
    /// the version of the synthesis.
    var entityTag: String { "\"\(name)-\(length)-1\"" }

    /// Fills `buffer` with the bytes from `offset` on, which must lie in the file.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) {
        var filled = 0
        if offset < WaveHeader.byteCount {
            let part = header[Int(offset)...].prefix(buffer.count)
            buffer.copyBytes(from: part)
            filled = part.count
        }
        let frames = (length - Int64(WaveHeader.byteCount)) / Int64(WaveHeader.bytesPerFrame)
        var position = offset + Int64(filled) - Int64(WaveHeader.byteCount)
        while filled < buffer.count {
            let (frame, skip) = position.quotientAndRemainder(dividingBy: Int64(WaveHeader.bytesPerFrame))
            let sample = composition.frame(frame, of: frames)
            let bytes = UInt32(UInt16(bitPattern: sample.left)) | UInt32(UInt16(bitPattern: sample.right)) << 16
            for index in Int(skip)..<min(WaveHeader.bytesPerFrame, Int(skip) + buffer.count - filled) {
                buffer[filled] = UInt8(truncatingIfNeeded: bytes >> UInt32(8 * index))
                filled += 1
                position += 1
            }
        }
    }

    /// Returns the files of the demo. Each has its own length unless `seconds` sets one.
    static func all(seconds: Int? = nil) -> [DemoFile] {
        [
            DemoFile(title: "Morning Loop", name: "morning-loop.wav", seconds: seconds ?? 140, composition: .morning),
            DemoFile(title: "Harbour Lights", name: "harbour-lights.wav", seconds: seconds ?? 184, composition: .harbour),
            DemoFile(title: "Slow Orbit", name: "slow-orbit.wav", seconds: seconds ?? 228, composition: .orbit),
        ]
    }
}
