#if !os(Linux)
// Declarations for the type check of Tests/DeviceChecks on Apple's targets: writing media, pixels,
// and readers of an asset. The double does nothing of it. The names come from Apple's pages. No
// public copy of a header was read, so the table of declarations has no rows for them.
public import Foundation
public import UniformTypeIdentifiers

public let AVVideoCodecKey = "", AVVideoWidthKey = "", AVVideoHeightKey = ""
public let AVFormatIDKey = "", AVSampleRateKey = "", AVNumberOfChannelsKey = ""
public let AVAssetExportPresetPassthrough = ""
public typealias AudioFormatID = UInt32
public let kAudioFormatMPEG4AAC: AudioFormatID = 0, kAudioFormatFLAC: AudioFormatID = 0
public typealias AVAudioFrameCount = UInt32

public struct AVVideoCodecType: Hashable, Sendable { public static let h264 = AVVideoCodecType() }
public struct AVMediaType: Hashable, Sendable { public static let video = AVMediaType() }
public struct AVFileTypeProfile: Hashable, Sendable { public static let mpeg4AppleHLS = AVFileTypeProfile() }
public enum AVAssetSegmentType: Int, Sendable { case initialization = 1, separable = 2 }

public protocol AVAssetWriterDelegate: NSObjectProtocol {
    func assetWriter(_ writer: AVAssetWriter, didOutputSegmentData segmentData: Data, segmentType: AVAssetSegmentType)
}

open class AVAssetWriter: NSObject {
    public init(outputURL: URL, fileType outputFileType: AVFileType) throws {}
    public init(contentType outputContentType: UTType) {}
    open var shouldOptimizeForNetworkUse = false
    open var movieFragmentInterval = CMTime.invalid
    open var preferredOutputSegmentInterval = CMTime.invalid
    open var initialSegmentStartTime = CMTime.invalid
    open var outputFileTypeProfile: AVFileTypeProfile?
    open weak var delegate: (any AVAssetWriterDelegate)?
    open var error: (any Error)? { nil }
    open func add(_ input: AVAssetWriterInput) {}
    open func startWriting() -> Bool { false }
    open func startSession(atSourceTime startTime: CMTime) {}
    open func finishWriting() async {}
}

open class AVAssetWriterInput: NSObject {
    public init(mediaType: AVMediaType, outputSettings: [String: Any]?) {}
    open var isReadyForMoreMediaData: Bool { false }
    open func markAsFinished() {}
}

open class AVAssetWriterInputPixelBufferAdaptor: NSObject {
    public init(assetWriterInput input: AVAssetWriterInput, sourcePixelBufferAttributes: [String: Any]?) {}
    open func append(_ pixelBuffer: CVPixelBuffer, withPresentationTime presentationTime: CMTime) -> Bool { false }
}

public final class CVPixelBuffer {}
public struct CVPixelBufferLockFlags: OptionSet, Sendable {
    public let rawValue: UInt64
    public init(rawValue: UInt64) { self.rawValue = rawValue }
    public static let readOnly = CVPixelBufferLockFlags(rawValue: 1)
}
public let kCVPixelFormatType_32BGRA: UInt32 = 0
// A string of Core Foundation in the SDK, which is cast to `String`.
public let kCVPixelBufferPixelFormatTypeKey = ""
@discardableResult public func CVPixelBufferCreate(
    _ allocator: AnyObject?, _ width: Int, _ height: Int, _ pixelFormatType: UInt32, _ attributes: AnyObject?,
    _ pixelBufferOut: UnsafeMutablePointer<CVPixelBuffer?>
) -> Int32 { 0 }
@discardableResult public func CVPixelBufferLockBaseAddress(_ pixelBuffer: CVPixelBuffer, _ flags: CVPixelBufferLockFlags) -> Int32 { 0 }
@discardableResult public func CVPixelBufferUnlockBaseAddress(_ pixelBuffer: CVPixelBuffer, _ flags: CVPixelBufferLockFlags) -> Int32 { 0 }
public func CVPixelBufferGetBaseAddress(_ pixelBuffer: CVPixelBuffer) -> UnsafeMutableRawPointer? { nil }
public func CVPixelBufferGetBytesPerRow(_ pixelBuffer: CVPixelBuffer) -> Int { 0 }
public func CVPixelBufferGetWidth(_ pixelBuffer: CVPixelBuffer) -> Int { 0 }
public func CVPixelBufferGetHeight(_ pixelBuffer: CVPixelBuffer) -> Int { 0 }

open class AVPlayerItemOutput: NSObject {}
open class AVPlayerItemVideoOutput: AVPlayerItemOutput {
    public init(pixelBufferAttributes: [String: Any]?) {}
    open func copyPixelBuffer(forItemTime itemTime: CMTime, itemTimeForDisplay: UnsafeMutablePointer<CMTime>?) -> CVPixelBuffer? { nil }
}
extension AVPlayerItem {
    public nonisolated func add(_ output: AVPlayerItemOutput) {}
}

public final class AVAudioFormat: NSObject {}
public final class AVAudioFile: NSObject {
    public init(forWriting fileURL: URL, settings: [String: Any]) throws {}
    public var processingFormat: AVAudioFormat { fatalError("declaration") }
    public func write(from buffer: AVAudioPCMBuffer) throws {}
}
public final class AVAudioPCMBuffer: NSObject {
    public init?(pcmFormat format: AVAudioFormat, frameCapacity: AVAudioFrameCount) {}
    public var frameLength: AVAudioFrameCount = 0
    public var floatChannelData: UnsafePointer<UnsafeMutablePointer<Float>>? { nil }
}

public final class CGImage: @unchecked Sendable { public var width: Int { 0 } }
open class AVAssetImageGenerator: NSObject {
    public init(asset: AVAsset) {}
    open var requestedTimeToleranceBefore = CMTime.zero
    open var requestedTimeToleranceAfter = CMTime.zero
    open func image(at time: CMTime) async throws -> (image: CGImage, actualTime: CMTime) { fatalError("declaration") }
}
open class AVAssetExportSession: NSObject {
    public init?(asset: AVAsset, presetName: String) {}
    open var outputURL: URL?
    open var outputFileType: AVFileType?
    open var error: (any Error)? { nil }
    open func export() async {}
}
open class AVMutableComposition: AVAsset, @unchecked Sendable {
    public override init() { super.init() }
    open var duration: CMTime { .zero }
    open func insertTimeRange(_ timeRange: CMTimeRange, of asset: AVAsset, at startTime: CMTime) async throws {}
}
#endif
