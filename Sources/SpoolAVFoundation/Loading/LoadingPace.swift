/// The speed at which an asset delivers bytes that it has.
///
/// AVFoundation accepts every byte at once and keeps it in the app's memory until it is used. So
/// delivery runs ahead of the reader by a bounded number of bytes only.
public enum LoadingPace: Hashable, Sendable {
    /// The speed of a player: at least twice the rate of the media.
    case playback
    /// The speed of a reader that works as fast as it gets bytes: an export, an image generator.
    case full

    func apply(to limits: inout LoadingLimits) {
        if self == .full { limits.floorBytesPerSecond = LoadingLimits.fullBytesPerSecond }
    }
}
