#if !os(watchOS)
public import AVFoundation
public import Spool

/// A queue player with its observer.
public final class CachingQueuePlayer: AVQueuePlayer {
    /// What looks after it, and says what it is doing.
    @MainActor public private(set) lazy var playback = PlaybackObserver(player: self)
}

extension MediaCache {
    /// A queue player that is looked after: what was played stops loading when the queue goes on, and later items step back for the one
    /// that plays.
    ///
    /// ```swift
    /// let player = cache.queuePlayer(items: urls.map { cache.playerItem(for: $0) })
    /// player.play()
    /// ```
    @MainActor public func queuePlayer(items: [AVPlayerItem]) -> CachingQueuePlayer {
        let player = CachingQueuePlayer(items: items)
        _ = player.playback
        return player
    }
}
#endif
