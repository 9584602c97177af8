import Foundation
import SpoolCore
import SpoolTesting

/// A media file that the origin serves.
struct Sample: Sendable {
    /// The kinds of files, with the extensions of their names.
    enum Kind: String, CaseIterable, Sendable {
        case film = "film.mp4"
        case lateIndex = "late-index.mp4"
        case fragments = "fragments.mp4"
        case song = "song.m4a"
        case flac = "song.flac"
        case wav = "tone.wav"
        case caf = "tone.caf"
        case aiff = "tone.aiff"
        case huge = "huge.caf"
        case mp3 = "sample.mp3"
        case adts = "sample.aac"
        case ogg = "sample.ogg"
        case webm = "sample.webm"
        case avi = "sample.avi"

        /// The type that the origin names.
        var contentType: String {
            switch self {
            case .film, .lateIndex, .fragments: "video/mp4"
            case .song: "audio/mp4"
            case .flac: "audio/flac"
            case .wav: "audio/wav"
            case .caf, .huge: "audio/x-caf"
            case .aiff: "audio/aiff"
            case .mp3: "audio/mpeg"
            case .adts: "audio/aac"
            case .ogg: "audio/ogg"
            case .webm: "video/webm"
            case .avi: "video/x-msvideo"
            }
        }
    }

    var kind: Kind
    var content: OriginContent
    var length: Int64
    var seconds: Double
}

/// The media of the cases. They are made once, at the start.
public final class Samples: Sendable {
    /// The length of a film or a song in seconds. The double has made-up bytes and needs few.
    static let seconds = Bench.isReal ? 6.0 : 1.5
    /// The frames of a film in a second. Each carries its number.
    static let framesPerSecond = 30
    /// The bytes of PCM in a second: two channels of 16 bits at 44.1 kHz.
    private static let bytesPerSecond = 176_400.0
    /// The bytes of PCM in the file beyond 4 GiB.
    private static let hugeBytes: Int64 = 5 << 30

    private let samples: [Sample.Kind: Sample]
    /// The segments of a stream by their names, the first of them with the header.
    let segments: [Segment]

    typealias Segment = (name: String, content: OriginContent, length: Int64)

    /// The seconds of a segment.
    private static let segmentSeconds = 2

    /// Makes the media.
    ///
    /// - Parameter directory: A directory with files that no encoder of the system writes, such as
    ///   `sample.mp3` and `sample.ogg`. Cases that need a missing one are skipped.
    public init(extra directory: String? = nil) async throws {
        var samples: [Sample.Kind: Sample] = [:]
        for (kind, head) in [(Sample.Kind.wav, PCMHead.wav), (.caf, PCMHead.caf), (.aiff, PCMHead.aiff), (.huge, PCMHead.caf)] {
            let bytes = kind == .huge ? Self.hugeBytes : Int64(Self.seconds * Self.bytesPerSecond)
            let front = head(bytes)
            samples[kind] = Sample(
                kind: kind, content: OriginContent(front: front, seed: Self.seed(of: kind)), length: Int64(front.count) + bytes,
                // The double plays a file of gigabytes in a minute.
                seconds: kind == .huge && !Bench.isReal ? 60 : Double(bytes) / Self.bytesPerSecond)
        }
        #if os(Linux)
        for kind in Sample.Kind.allCases where samples[kind] == nil {
            samples[kind] = Sample(kind: kind, content: OriginContent(seed: Self.seed(of: kind)), length: 600_000, seconds: Self.seconds)
        }
        segments = (0..<3).map { ("\($0).m4s", OriginContent(seed: 100 + UInt64($0)), 40_000) }
        #else
        let made = try await MediaWriter.write()
        for (kind, bytes) in made.files { samples[kind] = Self.sample(kind, bytes) }
        segments = made.segments.enumerated().map { number, bytes in
            ("\(number).m4s", OriginContent(front: bytes, seed: 100 + UInt64(number)), Int64(bytes.count))
        }
        for kind in Sample.Kind.allCases where samples[kind] == nil {
            // A missing file leaves out its cases, which name it.
            guard let directory, let bytes = try? Data(contentsOf: URL(fileURLWithPath: directory + "/" + kind.rawValue)) else { continue }
            samples[kind] = Self.sample(kind, [UInt8](bytes))
        }
        #endif
        self.samples = samples
    }

    /// Returns a file, or ends the case when there is none.
    func sample(_ kind: Sample.Kind) throws -> Sample {
        guard let sample = samples[kind] else { throw CaseEnd.skipped("no \(kind.rawValue): name a directory with it by --samples") }
        return sample
    }

    /// Returns a segment of a bit rate: a box `free` makes it longer. The header stays as it is.
    func segment(_ segment: Segment, bitRate: Int) -> Segment {
        let added = Int64(bitRate / 8 * Self.segmentSeconds) - segment.length
        guard added >= 8, !(Bench.isReal && segment.name == segments.first?.name) else { return segment }
        let front = (0..<segment.length).map(segment.content.byte) + PCMHead.big(added, 4) + Array("free".utf8)
        return (segment.name, OriginContent(front: front, seed: segment.content.seed + UInt64(bitRate)), segment.length + added)
    }

    /// A playlist of the segments.
    func playlist(prefix: String = "", isLive: Bool = false) -> String {
        let names = segments.map { prefix + $0.name }
        let header = Bench.isReal ? ["#EXT-X-MAP:URI=\"\(names[0])\""] : []
        let body = names.dropFirst(header.count).flatMap { ["#EXTINF:\(Self.segmentSeconds),", $0] }
        let end = isLive ? [] : ["#EXT-X-ENDLIST"]
        return (["#EXTM3U", "#EXT-X-VERSION:7", "#EXT-X-TARGETDURATION:3"] + header + body + end).joined(separator: "\n") + "\n"
    }

    private static func seed(of kind: Sample.Kind) -> UInt64 { UInt64(Sample.Kind.allCases.firstIndex(of: kind) ?? 0) + 1 }

    private static func sample(_ kind: Sample.Kind, _ bytes: [UInt8]) -> Sample {
        Sample(kind: kind, content: OriginContent(front: bytes, seed: seed(of: kind)), length: Int64(bytes.count), seconds: seconds)
    }
}

/// The heads of files with PCM: two channels of 16 bits at 44.1 kHz.
private enum PCMHead {
    /// Microsoft's RIFF with the chunks `fmt ` and `data`.
    static func wav(_ count: Int64) -> [UInt8] {
        text("RIFF") + little(count + 36, 4) + text("WAVEfmt ") + little(16, 4) + little(1, 2) + little(2, 2) + little(44_100, 4)
            + little(176_400, 4) + little(4, 2) + little(16, 2) + text("data") + little(count, 4)
    }

    /// Core Audio Format with the chunks `desc` and `data`, whose length has 64 bits.
    static func caf(_ count: Int64) -> [UInt8] {
        let rate = (44_100.0).bitPattern
        return text("caff") + big(1, 2) + big(0, 2) + text("desc") + big(32, 8) + big(Int64(bitPattern: rate), 8) + text("lpcm")
            + big(2, 4) + big(4, 4) + big(1, 4) + big(2, 4) + big(16, 4) + text("data") + big(count + 4, 8) + big(0, 4)
    }

    /// AIFF with the chunks `COMM` and `SSND`. The rate is an extended float.
    static func aiff(_ count: Int64) -> [UInt8] {
        text("FORM") + big(count + 46, 4) + text("AIFFCOMM") + big(18, 4) + big(2, 2) + big(count / 4, 4) + big(16, 2)
            + [0x40, 0x0E, 0xAC, 0x44, 0, 0, 0, 0, 0, 0] + text("SSND") + big(count + 8, 4) + big(0, 8)
    }

    private static func text(_ text: String) -> [UInt8] { Array(text.utf8) }
    private static func little(_ value: Int64, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> Int64(8 * $0)) }
    }
    static func big(_ value: Int64, _ count: Int) -> [UInt8] { little(value, count).reversed() }
}
