#if !os(watchOS)
public import AVFoundation
public import SpoolCore

/// What a player is doing, in one word; what a list of its properties, notifications and errors comes to.
public enum PlaybackState: Equatable, Sendable {
    /// There is nothing to play.
    case idle
    /// The item is being opened.
    case loading
    case playing
    /// It could play, and nobody asked it to.
    case paused
    /// It shall play and waits, for this reason.
    case waiting(AVPlayer.WaitingReason?)
    /// It ran out of bytes while it played. `PlaybackObserver` lets it go on when there are some.
    case stalled
    /// It can't go on.
    case failed(PlaybackFailure)
    /// It played to the end.
    case ended
}

/// Why a player can't go on.
public struct PlaybackFailure: Error, Equatable, Sendable {
    /// What AVFoundation says, which is often no more than that something failed.
    public let error: NSError
    /// What the cache knows of it: the origin's status, the network, a page instead of media. Nil when it knows nothing.
    public let cause: CacheError?

    /// Two are equal when they say the same.
    public static func == (a: Self, b: Self) -> Bool {
        a.error.domain == b.error.domain && a.error.code == b.error.code && a.cause?.code == b.cause?.code
            && a.cause?.message == b.cause?.message
    }
}
#endif
