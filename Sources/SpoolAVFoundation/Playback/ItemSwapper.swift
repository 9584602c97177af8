#if !os(watchOS)
import AVFoundation
import SpoolSystem

/// Replaces items of a player by others of the same media: for an AirPlay receiver and back, and
/// for an item that failed.
@MainActor final class ItemSwapper {
    private let main: any Mailbox
    private let replaced: @MainActor (_ old: AVPlayerItem, _ new: AVPlayerItem) -> Void
    /// The item that a receiver plays, and the asset that it stands for.
    private var handedOver: (item: AVPlayerItem, asset: CachingAVURLAsset)?

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
    func followReceiver(_ player: AVPlayer, _ item: AVPlayerItem, _ externalPlayback: ExternalPlaybackRoute?) {
        let route = (item.asset as? CachingAVURLAsset)?.route
        if Self.isOnReceiver(player) {
            guard let externalPlayback, route == .cache || (route == .loopback && handedOver?.item !== item),
                let asset = item.cachedAsset, let plain = asset.sources?.external(externalPlayback)
            else { return }
            let new = AVPlayerItem(asset: plain)
            handedOver = (new, asset)
            replace(item, with: new, in: player)
        } else if let (handed, asset) = handedOver {
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
    func createAgain(_ player: AVPlayer) {
        guard let item = player.currentItem, let cached = item.cachedAsset?.sources?.again() else { return }
        replace(item, with: AVPlayerItem(asset: cached), in: player)
    }

    /// Puts an item in the place of another one, with its position, its settings and its tracks.
    ///
    /// - Parameter wanted: The rate, or nil for that of the player.
    func replace(_ item: AVPlayerItem, with new: AVPlayerItem, in player: AVPlayer, rate wanted: Float? = nil) {
        let (time, rate) = (item.currentTime(), wanted ?? player.rate)
        item.copySettings(to: new)
        item.copySelection(to: new, on: main)
        if time.seconds.isFinite, time.seconds > 0 { new.seek(to: time, completionHandler: nil) }
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
