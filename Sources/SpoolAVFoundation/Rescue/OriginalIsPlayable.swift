#if !os(watchOS)
import Spool
import SpoolCore

/// Whether a player could play the original of an asset by itself at the moment.
struct OriginalIsPlayable: Sendable {
    /// The reasons why it could not.
    var obstacles: Set<OriginalObstacle> = []

    /// Whether a plain asset of the original URL plays.
    var asPlainAsset: Bool { obstacles.isEmpty }
    /// Whether the original plays after a redirect, which has the fields of the asset.
    var afterRedirect: Bool { obstacles.isSubset(of: [.ownFields]) }
    /// Whether the original must not be played, even where the cache cannot serve the resource: it
    /// would be garbage, or needs a request that the app forbids. In other cases the original has a
    /// chance. Players keep away from refused networks by themselves (`AssetOptions.access`).
    var isForbidden: Bool { !obstacles.isDisjoint(with: [.contentTransform, .noNetwork]) }
    /// Whether the original needs a loader, which redirects the player with the fields of the asset,
    /// answers challenges, or refuses.
    var needsLoader: Bool { isForbidden || !obstacles.isDisjoint(with: [.ownFields, .ownChallenges, .ownKeys]) }
}

extension CachingAssetFactory {
    /// Returns whether players could play the original of an asset with these fields.
    func originalIsPlayable(headers: [String: String]) -> OriginalIsPlayable {
        var obstacles = cache.bypass.obstacles
        if onChallenge != nil { obstacles.insert(.ownChallenges) }
        if onOtherRequest != nil { obstacles.insert(.ownKeys) }
        if readOptions.contentTransform != nil { obstacles.insert(.contentTransform) }
        if readOptions.mode == .onlyStored { obstacles.insert(.noNetwork) }
        if readOptions.access != nil { obstacles.insert(.restrictedNetwork) }
        if !headers.isEmpty || !readOptions.requestFields.lines.isEmpty { obstacles.insert(.ownFields) }
        return OriginalIsPlayable(obstacles: obstacles)
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
