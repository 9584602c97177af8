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

/// A characteristic of media, such as that they are heard or read.
public struct AVMediaCharacteristic: RawRepresentable, Hashable, Sendable {
    /// The name of the characteristic.
    public let rawValue: String

    /// Makes a characteristic from its name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Audio.
    public static let audible = AVMediaCharacteristic(rawValue: "public.audible")
    /// Text, such as subtitles.
    public static let legible = AVMediaCharacteristic(rawValue: "public.legible")
}

/// One of the options of a group, such as the subtitles of one language. Options of two assets
/// differ, also when the media are the same.
open class AVMediaSelectionOption: NSObject {
    private let name: String

    /// Makes an option with a name, which its property list has.
    package init(name: String) { self.name = name }

    /// Returns a property list by which a group of the same media finds this option.
    open func propertyList() -> Any { ["name": name] }
}

/// The options of an asset's media, of which one or none can be selected.
open class AVMediaSelectionGroup: NSObject {
    private let all: [AVMediaSelectionOption]

    /// Makes a group with options of these names.
    package init(names: [String]) { all = names.map { AVMediaSelectionOption(name: $0) } }

    /// The options.
    open var options: [AVMediaSelectionOption] { all }

    /// Returns the option with this property list, or nil.
    open func mediaSelectionOption(withPropertyList plist: Any) -> AVMediaSelectionOption? {
        options.first { ($0.propertyList() as? [String: String]) == (plist as? [String: String]) }
    }
}

/// The selected options of an item at one moment.
open class AVMediaSelection: NSObject {
    private let selected: [ObjectIdentifier: AVMediaSelectionOption]

    init(_ selected: [ObjectIdentifier: AVMediaSelectionOption]) { self.selected = selected }

    /// Returns the selected option of a group, or nil.
    open func selectedMediaOption(in mediaSelectionGroup: AVMediaSelectionGroup) -> AVMediaSelectionOption? {
        selected[ObjectIdentifier(mediaSelectionGroup)]
    }
}
