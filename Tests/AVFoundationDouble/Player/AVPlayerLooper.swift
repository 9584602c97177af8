public import Foundation

/// Plays one item repeatedly, by copies of it in a queue that share the asset.
@MainActor open class AVPlayerLooper: NSObject {
    /// The number of copies that wait in the queue.
    package static let copyCount = 3

    private let player: AVQueuePlayer
    private let template: AVPlayerItem
    private var copies: [AVPlayerItem] = []
    private var observation: NSKeyValueObservation?

    /// Makes a looper and fills the queue of `player`.
    public init(player: AVQueuePlayer, templateItem itemToLoop: AVPlayerItem) {
        self.player = player
        template = itemToLoop
        super.init()
        refill()
        observation = player.observe(\.currentItem) { [weak self] _, _ in
            // Observers are called on the main queue.
            MainActor.assumeIsolated { self?.refill() }
        }
    }

    open private(set) var loopCount = 0

    open var loopingPlayerItems: [AVPlayerItem] { copies }

    /// Plays the current copy to its end, and no other.
    open func disableLooping() {
        observation?.invalidate()
        observation = nil
        for item in player.items().dropFirst() where copies.contains(item) { player.remove(item) }
        copies = []
    }

    private func refill() {
        let waiting = Set(player.items())
        let gone = copies.filter { !waiting.contains($0) }
        loopCount += gone.count
        copies.removeAll { gone.contains($0) }
        while copies.count < Self.copyCount {
            let item = AVPlayerItem(asset: template.mediaAsset.copy() as? AVAsset ?? template.mediaAsset)
            copies.append(item)
            player.insert(item, after: nil)
        }
    }
}
