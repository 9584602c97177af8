// The types of an item's settings. The double only keeps them.
public import Foundation

/// The algorithm that keeps the pitch at another rate.
public struct AVAudioTimePitchAlgorithm: RawRepresentable, Hashable, Sendable {
    /// The name of the algorithm.
    public let rawValue: String

    /// Makes an algorithm from its name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// For speech.
    public static let timeDomain = AVAudioTimePitchAlgorithm(rawValue: "TimeDomain")
    /// For music.
    public static let spectral = AVAudioTimePitchAlgorithm(rawValue: "Spectral")
}

/// The visible part of a video's frame.
public struct AVVideoApertureMode: RawRepresentable, Hashable, Sendable {
    /// The name of the mode.
    public let rawValue: String

    /// Makes a mode from its name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The part without the border.
    public static let cleanAperture = AVVideoApertureMode(rawValue: "CleanAperture")
    /// The whole frame.
    public static let encodedPixels = AVVideoApertureMode(rawValue: "EncodedPixels")
}

/// The channel layouts that may be spatialized.
public struct AVAudioSpatializationFormats: OptionSet, Sendable {
    /// The bits of the layouts.
    public let rawValue: UInt

    /// Makes layouts from bits.
    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// One or two channels.
    public static let monoAndStereo = AVAudioSpatializationFormats(rawValue: 3)
    /// More channels.
    public static let multichannel = AVAudioSpatializationFormats(rawValue: 4)
}

/// Preferences for switches between variants.
public struct AVVariantPreferences: OptionSet, Sendable {
    /// The bits of the preferences.
    public let rawValue: UInt

    /// Makes preferences from bits.
    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// Permits variants with lossless audio.
    public static let scalabilityToLosslessAudio = AVVariantPreferences(rawValue: 1)
}

/// The volumes of an item's tracks.
open class AVAudioMix: NSObject, @unchecked Sendable {
    // Safe to share: it has no state.
}

/// The composition of an item's video.
open class AVVideoComposition: NSObject, @unchecked Sendable {
    // Safe to share: it has no state.
}

/// The style of an item's subtitles.
open class AVTextStyleRule: NSObject, @unchecked Sendable {
    // Safe to share: it has no state.
}
