#if !os(watchOS)
public import AVFoundation
public import Spool

/// A queue player with its observer.
public final class CachingQueuePlayer: AVQueuePlayer {
    /// The observer of the player.
    @MainActor public private(set) lazy var playback = PlaybackObserver(player: self)
}

extension MediaCache {
    /// Returns a queue player with an observer. Played items stop loading when the queue advances,
    /// and later items yield to the one that plays.
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
