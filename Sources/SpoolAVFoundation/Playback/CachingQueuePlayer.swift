#if !os(watchOS)
public import AVFoundation
public import Spool
public import SpoolCore
package import SpoolSystem

/// A queue player with its controller, so that a stall, AirPlay and the items of the queue need no
/// further code.
public final class CachingQueuePlayer: AVQueuePlayer {
    /// The controller of the player.
    @MainActor public var playback: PlaybackController { controller }
    @MainActor private lazy var controller = connected(PlaybackController(player: self))
    private nonisolated let queueReport = QueueReport()

    /// Observes the player on a simulated main queue.
    @MainActor package func observe(on main: any Mailbox) { controller = connected(PlaybackController(player: self, main: main)) }

    @MainActor private func connected(_ controller: PlaybackController) -> PlaybackController {
        queueReport.connect(to: controller.queueChange)
        return controller
    }

    // The list of a queue player cannot be observed, so its changes are reported. AVFoundation
    // declares these methods nonisolated, so they may be called on any thread.

    /// Inserts an item, whose loading then yields to the item that plays.
    public override func insert(_ item: AVPlayerItem, after afterItem: AVPlayerItem?) {
        super.insert(item, after: afterItem)
        queueReport.changed()
    }

    /// Removes an item, which then stops loading.
    public override func remove(_ item: AVPlayerItem) {
        super.remove(item)
        queueReport.changed()
    }

    /// Removes all items, which then stop loading.
    public override func removeAllItems() {
        super.removeAllItems()
        queueReport.changed()
    }
}

/// Reports changes of a player's list to the controller's mailbox, from any thread.
///
/// The controller looks at the whole list, so one look may follow several changes.
final class QueueReport: Sendable {
    private let report = Locked<(@Sendable () -> Void)?>(nil)

    func connect(to report: @escaping @Sendable () -> Void) { self.report.withLock { $0 = report } }

    func changed() { report.withLock { $0 }?() }
}

extension MediaCache {
    /// Returns a player of one resource, with a controller.
    ///
    /// ```swift
    /// let player = cache.player(for: url)
    /// player.play()
    /// ```
    ///
    /// The player is a plain `AVPlayer`: at the end of the item it pauses on the last frame. It
    /// keeps its controller (`playbackController`). The audio session, interruptions and remote
    /// commands stay with the app. The parameters are those of `asset(for:)`.
    @MainActor public func player(
        for url: URL, key: ResourceKey? = nil, headers: [String: String] = [:], options: [String: any Sendable]? = nil
    ) -> AVPlayer {
        let player = AVPlayer(playerItem: playerItem(for: url, key: key, headers: headers, options: options))
        Attachment.keep(PlaybackController(player: player), by: player)
        return player
    }

    /// Returns a queue player with a controller. Later items yield to the one that plays, and items
    /// that left the queue stop loading.
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

extension AVPlayer {
    /// The controller of a player that a cache made (`MediaCache.player(for:)`,
    /// `MediaCache.queuePlayer(items:)`), or nil for another player.
    @MainActor public var playbackController: PlaybackController? {
        if let queue = self as? CachingQueuePlayer { return queue.playback }
        return Attachment.of(self) as? PlaybackController
    }
}
#endif
