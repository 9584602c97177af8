#if !os(watchOS)
import AVFoundation

/// The types of files that AVFoundation opens on this system, as type identifiers.
enum OpenableTypes {
    private static let identifiers = Set(AVURLAsset.audiovisualTypes().map(\.rawValue))

    static func contains(_ identifier: String) -> Bool { identifiers.contains(identifier) }
}
#endif
