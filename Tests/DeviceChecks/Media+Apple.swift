#if !os(Linux)
import AVFoundation
import Foundation
import SpoolCore
import SpoolSystem
import UniformTypeIdentifiers

/// The number of a frame in its picture: sixteen white or black blocks, the highest bit first.
private enum FrameNumber {
    static let width = 640, height = 360, bits = 16
    private static let block = width / bits
    /// A byte above this is white.
    private static let middle: UInt8 = 128

    static func draw(_ number: Int, _ pixels: CVPixelBuffer) {
        access(pixels, options: []) { bytes, rowBytes in
            for row in 0..<height {
                for column in 0..<width {
                    let isWhite = number >> (bits - 1 - column / block) & 1 == 1
                    let offset = row * rowBytes + column * 4
                    for channel in 0..<4 { bytes.storeBytes(of: isWhite ? 235 : 20, toByteOffset: offset + channel, as: UInt8.self) }
                }
            }
        }
    }

    static func read(_ pixels: CVPixelBuffer) -> Int {
        var number = 0
        access(pixels, options: .readOnly) { bytes, rowBytes in
            for bit in 0..<bits {
                let offset = CVPixelBufferGetHeight(pixels) / 2 * rowBytes + (bit * 2 + 1) * CVPixelBufferGetWidth(pixels) / bits / 2 * 4
                number = number << 1 | (bytes.load(fromByteOffset: offset, as: UInt8.self) > middle ? 1 : 0)
            }
        }
        return number
    }

    private static func access(
        _ pixels: CVPixelBuffer, options: CVPixelBufferLockFlags, _ body: (UnsafeMutableRawPointer, Int) -> Void
    ) {
        CVPixelBufferLockBaseAddress(pixels, options)
        defer { CVPixelBufferUnlockBaseAddress(pixels, options) }
        if let base = CVPixelBufferGetBaseAddress(pixels) { body(base, CVPixelBufferGetBytesPerRow(pixels)) }
    }
}

/// Writes the media of the cases by the encoders of the system.
enum MediaWriter {
    private static let frames = Int(Samples.seconds) * Samples.framesPerSecond
    private static var video: [String: Any] {
        [
            AVVideoCodecKey: AVVideoCodecType.h264, AVVideoWidthKey: FrameNumber.width, AVVideoHeightKey: FrameNumber.height,
        ]
    }

    static func write() async throws -> (files: [Sample.Kind: [UInt8]], segments: [[UInt8]]) {
        var files: [Sample.Kind: [UInt8]] = [:]
        for kind in [Sample.Kind.film, .lateIndex, .fragments] {
            let url = temporaryFile(kind.rawValue)
            let writer = try AVAssetWriter(outputURL: url, fileType: .mp4)
            writer.shouldOptimizeForNetworkUse = kind == .film
            if kind == .fragments { writer.movieFragmentInterval = CMTime(value: 1, timescale: 1) }
            try await film(writer)
            files[kind] = try bytes(of: url)
        }
        files[.song] = try tone(.song, kAudioFormatMPEG4AAC)
        files[.flac] = try tone(.flac, kAudioFormatFLAC)
        return (files, try await segments())
    }

    /// Writes the segments of a stream: the header, and one of two seconds after the other.
    private static func segments() async throws -> [[UInt8]] {
        let writer = AVAssetWriter(contentType: .mpeg4Movie)
        let segments = SegmentList()
        writer.outputFileTypeProfile = .mpeg4AppleHLS
        writer.preferredOutputSegmentInterval = CMTime(value: 2, timescale: 1)
        writer.initialSegmentStartTime = .zero
        writer.delegate = segments
        try await film(writer)
        return segments.parts.withLock { $0 }
    }

    private static func film(_ writer: AVAssetWriter) async throws {
        let input = AVAssetWriterInput(mediaType: .video, outputSettings: video)
        let pixels = AVAssetWriterInputPixelBufferAdaptor(assetWriterInput: input, sourcePixelBufferAttributes: nil)
        writer.add(input)
        guard writer.startWriting() else { throw CaseEnd.skipped("no encoder: \(writer.error.map { "\($0)" } ?? "")") }
        writer.startSession(atSourceTime: .zero)
        for number in 0..<frames {
            while !input.isReadyForMoreMediaData { try await Task.sleep(nanoseconds: 1_000_000) }
            var buffer: CVPixelBuffer?
            CVPixelBufferCreate(nil, FrameNumber.width, FrameNumber.height, kCVPixelFormatType_32BGRA, nil, &buffer)
            guard let buffer else { throw CaseEnd.skipped("no memory for a frame") }
            FrameNumber.draw(number, buffer)
            _ = pixels.append(buffer, withPresentationTime: CMTime(value: Int64(number), timescale: Int32(Samples.framesPerSecond)))
        }
        input.markAsFinished()
        await writer.finishWriting()
        if let error = writer.error { throw error }
    }

    /// Writes a tone of one kilohertz.
    private static func tone(_ kind: Sample.Kind, _ format: AudioFormatID) throws -> [UInt8] {
        let url = temporaryFile(kind.rawValue)
        let rate = 44_100.0
        let settings: [String: Any] = [AVFormatIDKey: format, AVSampleRateKey: rate, AVNumberOfChannelsKey: 1]
        // The file is complete when its object is gone.
        try {
            let file = try AVAudioFile(forWriting: url, settings: settings)
            let count = AVAudioFrameCount(rate * Samples.seconds)
            guard let buffer = AVAudioPCMBuffer(pcmFormat: file.processingFormat, frameCapacity: count),
                let samples = buffer.floatChannelData?[0]
            else { throw CaseEnd.skipped("no memory for a tone") }
            buffer.frameLength = count
            for index in 0..<Int(count) { samples[index] = index / 22 % 2 == 0 ? 0.1 : -0.1 }
            try file.write(from: buffer)
        }()
        return try bytes(of: url)
    }

    static func temporaryFile(_ name: String) -> URL {
        FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString + "-" + name)
    }

    static func bytes(of url: URL) throws -> [UInt8] {
        defer { try? FileManager.default.removeItem(at: url) }
        return [UInt8](try Data(contentsOf: url))
    }
}

/// The segments that a writer gives, in order.
private final class SegmentList: NSObject, AVAssetWriterDelegate, Sendable {
    let parts = Locked<[[UInt8]]>([])

    func assetWriter(_ writer: AVAssetWriter, didOutputSegmentData segmentData: Data, segmentType: AVAssetSegmentType) {
        parts.withLock { $0.append([UInt8](segmentData)) }
    }
}

/// Readers of an asset without a player.
@MainActor enum MediaReader {
    /// The image at a time has to have the number of its frame.
    static func expectPicture(of asset: AVURLAsset, at seconds: Double, _ bench: Bench) async throws {
        // An item with an output decodes to pixels that can be read. An image generator gives an
        // image of Core Graphics, which has the size alone in common with them.
        let generator = AVAssetImageGenerator(asset: asset)
        generator.requestedTimeToleranceBefore = .zero
        generator.requestedTimeToleranceAfter = .zero
        let (image, time) = try await generator.image(at: CMTime(seconds: seconds, preferredTimescale: 600))
        try bench.expect(image.width == FrameNumber.width, "the image is \(image.width) points wide")
        try bench.expect(abs(time.seconds - seconds) < 0.1, "the image at \(seconds) s is that of \(time.seconds) s")
    }

    static func export(_ asset: AVAsset, _ bench: Bench) async throws {
        guard let session = AVAssetExportSession(asset: asset, presetName: AVAssetExportPresetPassthrough) else {
            throw CaseEnd.failed("no export of the asset")
        }
        let url = MediaWriter.temporaryFile("export.mp4")
        session.outputURL = url
        session.outputFileType = .mp4
        await session.export()
        if let error = session.error { throw CaseEnd.failed("the export failed: \(error)") }
        try bench.expect(!MediaWriter.bytes(of: url).isEmpty, "the export is empty")
    }

    static func composition(_ assets: [AVAsset]) async throws -> AVPlayerItem {
        let composition = AVMutableComposition()
        for asset in assets {
            let range = CMTimeRange(start: .zero, duration: try await asset.load(.duration))
            try await composition.insertTimeRange(range, of: asset, at: composition.duration)
        }
        return AVPlayerItem(asset: composition)
    }
}

/// An output, as a value that a play keeps.
private struct VideoOutput: @unchecked Sendable {
    // Safe to share: only the main actor uses it.
    let output: AVPlayerItemVideoOutput
}

/// The pictures of a player's item.
enum PlayerSource {
    @MainActor static func attach(_ player: AVPlayer, _ bench: Bench) -> (any Sendable)? {
        guard let item = player.currentItem else { return nil }
        let output = AVPlayerItemVideoOutput(pixelBufferAttributes: [kCVPixelBufferPixelFormatTypeKey as String: kCVPixelFormatType_32BGRA])
        item.add(output)
        return VideoOutput(output: output)
    }

    /// The number of the frame that the player shows, or nil without a picture.
    static func frameNumber(_ source: (any Sendable)?, _ player: AVPlayer) -> Int? {
        guard let output = (source as? VideoOutput)?.output else { return nil }
        return output.copyPixelBuffer(forItemTime: player.currentTime(), itemTimeForDisplay: nil).map(FrameNumber.read)
    }
}
#endif
