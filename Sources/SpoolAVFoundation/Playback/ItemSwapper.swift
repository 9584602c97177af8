#if !os(watchOS)
import AVFoundation
import SpoolSystem

/// Replaces items of a player by others of the same media: for an AirPlay receiver and back, and
/// for an item that failed.
@MainActor final class ItemSwapper {
    private let main: any Mailbox
    private let replaced: @MainActor (_ old: AVPlayerItem, _ new: AVPlayerItem) -> Void
    /// The item that a receiver plays, the asset that it stands for, and whether the route of the
    /// sound alone names the receiver.
    private var handedOver: (item: AVPlayerItem, asset: CachingAVURLAsset, isByRoute: Bool)?

    /// - Parameters:
    ///   - main: The mailbox of the main queue.
    ///   - replaced: Called after each replacement.
    init(main: any Mailbox, replaced: @escaping @MainActor (_ old: AVPlayerItem, _ new: AVPlayerItem) -> Void) {
        (self.main, self.replaced) = (main, replaced)
    }

    /// Pauses an item that a receiver got just now. It waits, and would start by itself.
    func audioLost(_ player: AVPlayer) {
        guard let handedOver, handedOver.item === player.currentItem else { return }
        if player.timeControlStatus == .waitingToPlayAtSpecifiedRate { player.pause() }
    }

    /// Replaces the item by one with a URL that a receiver can fetch, because a receiver reaches
    /// neither the loader nor this device's loopback. Puts an item of the cache back when the
    /// receiver is gone.
    ///
    /// A receiver may fail an item of the cache before the player reports external playback. Then
    /// the route of the sound tells.
    ///
    /// - Parameter rate: The rate at which the user wanted to play an item that failed.
    func followReceiver(
        _ player: AVPlayer, _ item: AVPlayerItem, _ externalPlayback: ExternalPlaybackRoute?, hasAirPlayRoute: @MainActor () -> Bool,
        rate: Float
    ) {
        let route = (item.asset as? CachingAVURLAsset)?.route
        let isOnReceiver = Self.isOnReceiver(player)
        let isHandedOver = handedOver?.item === item && handedOver?.isByRoute == true
        let isByRoute = !isOnReceiver && (item.status == .failed || isHandedOver) && hasAirPlayRoute()
        if isOnReceiver || isByRoute {
            guard let externalPlayback, route == .cache || (route == .loopback && handedOver?.item !== item),
                let asset = item.cachedAsset, let sources = asset.sources, isOnReceiver || sources.original.asPlainAsset
            else { return }
            let new = AVPlayerItem(asset: sources.external(externalPlayback))
            handedOver = (new, asset, isByRoute)
            replace(item, with: new, in: player, rate: isByRoute ? rate : nil)
        } else if let (handed, asset, _) = handedOver {
            handedOver = nil
            guard handed === item, let cached = asset.sources?.again() else { return }
            replace(item, with: AVPlayerItem(asset: cached), in: player)
        }
    }

    /// Whether an AirPlay receiver plays the player's video. visionOS sends video to none.
    private static func isOnReceiver(_ player: AVPlayer) -> Bool {
        #if os(visionOS)
        false
        #else
        player.isExternalPlaybackActive
        #endif
    }

    /// Replaces an item that failed. An item never leaves that state.
    ///
    /// - Parameter rate: The rate, or nil for that of the player.
    func createAgain(_ player: AVPlayer, rate: Float? = nil) {
        guard let item = player.currentItem, let cached = item.cachedAsset?.sources?.again() else { return }
        replace(item, with: AVPlayerItem(asset: cached), in: player, rate: rate)
    }

    /// Puts an item in the place of another one, with its position, its settings and its tracks.
    ///
    /// - Parameter wanted: The rate, or nil for that of the player.
    func replace(_ item: AVPlayerItem, with new: AVPlayerItem, in player: AVPlayer, rate wanted: Float? = nil) {
        let (time, rate) = (item.currentTime(), wanted ?? player.rate)
        item.copySettings(to: new)
        item.copySelection(to: new, on: main)
        // Without tolerances the item would begin at a sync sample, which may be seconds away.
        if time.seconds.isFinite, time.seconds > 0 {
            new.seek(to: time, toleranceBefore: .zero, toleranceAfter: .zero, completionHandler: nil)
        }
        if let queue = player as? AVQueuePlayer {
            guard queue.canInsert(new, after: item) else { return }
            queue.insert(new, after: item)
            queue.remove(item)
        } else {
            player.replaceCurrentItem(with: new)
        }
        if rate != 0, player.rate != rate { player.rate = rate }
        replaced(item, new)
    }
}
#endif
