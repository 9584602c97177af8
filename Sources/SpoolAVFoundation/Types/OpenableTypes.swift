#if !os(watchOS)
import AVFoundation
#if canImport(UniformTypeIdentifiers)
import UniformTypeIdentifiers
#endif

/// The types of files that AVFoundation opens on this system, as type identifiers.
enum OpenableTypes {
    private static let identifiers = Set(AVURLAsset.audiovisualTypes().map(\.rawValue))

    static func contains(_ identifier: String) -> Bool { identifiers.contains(identifier) }

    /// Returns an identifier for the content information of a request: the one given, or an allowed
    /// one for the same kind of files. Any other would raise an exception. No type at all is valid.
    static func allowed(_ identifier: String?, among allowed: [String]?) -> String? {
        guard let identifier, let allowed, !allowed.contains(identifier) else { return identifier }
        #if canImport(UniformTypeIdentifiers)
        guard let type = UTType(identifier) else { return nil }
        return allowed.first { UTType($0).map { type.conforms(to: $0) || $0.conforms(to: type) } == true }
        #else
        return nil
        #endif
    }
}
#endif
