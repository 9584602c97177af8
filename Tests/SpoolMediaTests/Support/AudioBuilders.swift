/// Frames of MPEG audio, layer III, 44 100 Hz.
enum MP3Model {
    /// The samples of a frame.
    static let samples = 1152

    /// A frame of one of the bit rates 128 (index 9) and 320 (index 14) kbit/s.
    static func frame(rate: Int = 9) -> [UInt8] {
        let kilobits = [9: 128, 14: 320][rate] ?? 128
        let bytes = 144 * kilobits * 1000 / 44_100
        return [0xFF, 0xFB, UInt8(rate << 4), 0x64] + [UInt8](repeating: 0x55, count: bytes - 4)
    }

    /// A frame without sound that has a table of the whole.
    static func table(_ mark: String, at offset: Int) -> [UInt8] {
        var frame = frame()
        frame.replaceSubrange(offset..<offset + mark.utf8.count, with: Array(mark.utf8))
        return frame
    }

    static func tag(bytes: Int) -> [UInt8] {
        Array("ID3".utf8) + [4, 0, 0, UInt8(bytes >> 21 & 0x7F), UInt8(bytes >> 14 & 0x7F), UInt8(bytes >> 7 & 0x7F), UInt8(bytes & 0x7F)]
            + zeros(bytes)
    }
}

/// Frames of AAC at 44 100 Hz.
enum ADTSModel {
    static let samples = 1024

    static func frame(bytes: Int) -> [UInt8] {
        [0xFF, 0xF1, 0x50, UInt8(0x80 | bytes >> 11), UInt8(bytes >> 3 & 0xFF), UInt8((bytes & 7) << 5 | 0x1F), 0xFC]
            + [UInt8](repeating: 0x2A, count: bytes - 7)
    }
}

/// A FLAC stream of 44 100 Hz with blocks of 4096 samples.
enum FLACModel {
    static let samples = 4096

    static func stream(frames: [[UInt8]], seekPoints: Int = 0) -> [UInt8] {
        let information = big(samples, 2) + big(samples, 2) + zeros(6) + big(44_100 << 4 | 0b0010, 3) + zeros(21)
        let table = zeros(18 * seekPoints)
        let blocks =
            seekPoints == 0
            ? [0x80] + big(34, 3) + information : [0] + big(34, 3) + information + [0x83] + big(table.count, 3) + table
        return Array("fLaC".utf8) + blocks + frames.flatMap { $0 }
    }

    static func frame(_ number: Int, bytes: Int = 500, content: [UInt8] = []) -> [UInt8] {
        let head = header(number)
        return head + content + [UInt8](repeating: 0x77, count: bytes - head.count - content.count)
    }

    static func header(_ number: Int) -> [UInt8] {
        let coded: [UInt8] =
            number < 0x80
            ? [UInt8(number)]
            : number < 0x800
                ? [UInt8(0xC0 | number >> 6), UInt8(0x80 | number & 0x3F)]
                : [UInt8(0xE0 | number >> 12), UInt8(0x80 | number >> 6 & 0x3F), UInt8(0x80 | number & 0x3F)]
        let head = [0xFF, 0xF8, 0xC9, 0x18] + coded
        return head + [check(head)]
    }

    private static func check(_ bytes: [UInt8]) -> UInt8 {
        bytes.reduce(0) { sum, byte in
            (0..<8).reduce(sum ^ byte) { remainder, _ in remainder & 0x80 != 0 ? remainder << 1 ^ 7 : remainder << 1 }
        }
    }
}

/// A WAV file of 44 100 Hz, two channels and 16 bits.
enum WaveModel {
    static let bytesPerSecond = 176_400

    static func file(seconds: Int, form: String = "RIFF", statedBytes: Int? = nil, before: [UInt8] = []) -> [UInt8] {
        let samples = zeros(seconds * bytesPerSecond)
        let format = little(1, 2) + little(2, 2) + little(44_100, 4) + little(bytesPerSecond, 4) + little(4, 2) + little(16, 2)
        return Array(form.utf8) + little(0, 4) + Array("WAVE".utf8) + chunk("fmt ", format) + before
            + Array("data".utf8) + little(statedBytes ?? samples.count, 4) + samples
    }

    static func chunk(_ code: String, _ content: [UInt8]) -> [UInt8] {
        Array(code.utf8) + little(content.count, 4) + content + zeros(content.count & 1)
    }
}

/// Pages of Ogg.
enum OggModel {
    static let opusHead = Array("OpusHead".utf8) + [1, 2] + little(312, 2) + little(48_000, 4) + [0, 0, 0]
    static let vorbisHead = [1] + Array("vorbis".utf8) + zeros(4) + [2] + little(44_100, 4) + zeros(13)

    static func page(_ content: [UInt8], granule: Int, serial: Int = 1, flags: UInt8 = 0) -> [UInt8] {
        let segments = content.count / 255 + 1
        let lacing = [UInt8](repeating: 255, count: segments - 1) + [UInt8(content.count % 255)]
        return Array("OggS".utf8) + [0, flags] + little(granule, 8) + little(serial, 4) + zeros(8) + [UInt8(segments)] + lacing + content
    }

    /// A file with one page a second.
    static func file(head: [UInt8], rate: Int, skipped: Int = 0, seconds: Int, pageBytes: Int = 4000) -> [UInt8] {
        page(head, granule: 0, flags: 2)
            + (1...seconds).flatMap { page(zeros(pageBytes), granule: skipped + $0 * rate, flags: $0 == seconds ? 4 : 0) }
    }
}
