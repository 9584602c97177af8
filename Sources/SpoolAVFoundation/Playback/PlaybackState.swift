#if !os(watchOS)
public import AVFoundation
public import SpoolCore

/// The state of a player, derived from its properties, notifications and errors.
public enum PlaybackState: Equatable, Sendable {
    /// The player has no item.
    case idle
    /// The player is opening the item.
    case loading
    case playing
    /// The player could play, but is paused.
    case paused
    /// The player should play, but waits for this reason.
    case waiting(AVPlayer.WaitingReason?)
    /// The player ran out of bytes while it played. `PlaybackController` resumes it when there are
    /// more.
    case stalled
    /// The player cannot go on.
    case failed(PlaybackFailure)
    /// The player reached the end of the item.
    case ended
}

/// The reason why a player cannot go on.
public struct PlaybackFailure: Error, Equatable, Sendable {
    /// AVFoundation's error, which is often unspecific.
    public let error: NSError
    /// The cache's error, such as the origin's status, a network error, or a page instead of media.
    /// Nil when the cache has none.
    public let cause: CacheError?

    /// Creates a failure with an item's last error of the cache. AVFoundation may have no error.
    @MainActor init(_ error: (any Error)?, of item: AVPlayerItem?) {
        self.error = error.map { $0 as NSError } ?? NSError(domain: AVFoundationErrorDomain, code: AVError.Code.unknown.rawValue)
        cause = AssetLoader.of(item)?.report.lastError ?? item?.cachedAsset?.lastError
    }

    /// Two failures are equal when their codes, domains and messages are equal.
    public static func == (a: Self, b: Self) -> Bool {
        a.error.domain == b.error.domain && a.error.code == b.error.code && a.cause?.code == b.cause?.code
            && a.cause?.message == b.cause?.message
    }
}
#endif
