#if !os(watchOS)
package import Spool
import SpoolCore

/// Whether a player could play the original of an asset by itself. Decided when the asset is made.
package struct OriginalIsPlayable: Hashable, Sendable {
    /// The reason why it could not, or nil.
    package let obstacle: OriginalObstacle?

    /// Creates the value with an obstacle, or without one.
    package init(obstacle: OriginalObstacle? = nil) { self.obstacle = obstacle }

    /// Whether a plain asset of the original URL plays.
    package var asPlainAsset: Bool { obstacle == nil }
    /// Whether the original plays after a redirect, which has the fields of the asset.
    package var afterRedirect: Bool { obstacle == nil || obstacle == .ownFields }
}

extension CachingAssetFactory {
    /// Returns whether players could play the original of an asset with these fields.
    func originalIsPlayable(headers: [String: String]) -> OriginalIsPlayable {
        if let obstacle = cache.bypass.obstacle { return OriginalIsPlayable(obstacle: obstacle) }
        if onChallenge != nil { return OriginalIsPlayable(obstacle: .ownChallenges) }
        if onOtherRequest != nil { return OriginalIsPlayable(obstacle: .ownKeys) }
        if readOptions.contentTransform != nil { return OriginalIsPlayable(obstacle: .contentTransform) }
        if readOptions.mode == .onlyStored || readOptions.access != nil { return OriginalIsPlayable(obstacle: .restrictedNetwork) }
        let hasFields = !headers.isEmpty || !readOptions.requestFields.lines.isEmpty
        return OriginalIsPlayable(obstacle: hasFields ? .ownFields : nil)
    }
}

extension CacheError {
    /// The errors that the original cannot mend, or must not: a network that may not be used, a
    /// device without one, and a server that is not trusted.
    private static let codesKeptFromOriginal: Set<Code> = [
        .networkRefused, .originUnreachable, .tlsFailed, .notStored, .transform, .delegateReplaced,
    ]
    /// The statuses by which an origin states that the resource is not there.
    private static let statusesKeptFromOriginal: Set<Int> = [404, 410]

    /// Whether the original may play although the cache failed with this error.
    package var mayPlayFromOriginal: Bool {
        !Self.codesKeptFromOriginal.contains(code) && !(status.map(Self.statusesKeptFromOriginal.contains) ?? false)
    }
}
#endif
