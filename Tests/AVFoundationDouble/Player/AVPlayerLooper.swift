public import Foundation
import SpoolSystem

/// Plays one item repeatedly, by copies of it in a queue that share the asset.
open class AVPlayerLooper: NSObject {
    /// The readiness of a looper.
    public enum Status: Int, Sendable {
        case unknown = 0
        case ready = 1
        case failed = 2
        case cancelled = 3
    }

    /// The number of copies that wait in the queue.
    package static let copyCount = 3

    private let player: AVQueuePlayer
    private let copies: Copies
    private var observation: NSKeyValueObservation?

    /// Makes a looper, and puts copies of the item in front of the items of `player`.
    ///
    /// The player is paused meanwhile. Its action at the end of an item becomes `.advance`, until
    /// the loop is disabled.
    public init(player: AVQueuePlayer, templateItem itemToLoop: AVPlayerItem) {
        self.player = player
        copies = Copies(player, template: itemToLoop)
        super.init()
        let rate = player.rate
        player.pause()
        copies.refill()
        player.actionAtItemEnd = .advance
        if rate != 0 { player.rate = rate }
        observation = player.observe(\.currentItem) { [copies] _, _ in copies.refill() }
    }

    open var status: Status { observation == nil ? .cancelled : .ready }
    open var error: (any Error)? { nil }
    open var loopCount: Int { copies.state.withLock { $0.loopCount } }

    open var loopingPlayerItems: [AVPlayerItem] { copies.state.withLock { $0.items } }

    /// Plays the current copy to its end, and no other.
    open func disableLooping() {
        observation?.invalidate()
        observation = nil
        copies.removeWaiting()
    }

    /// The copies of the item that loops. Observers of a player may be called on any thread.
    private final class Copies: Sendable {
        struct State {
            var items: [AVPlayerItem] = []
            var loopCount = 0
            var isRefilling = false
        }

        let state = Locked(State())
        private let player: AVQueuePlayer
        private let template: AVPlayerItem
        private let oldAction: AVPlayer.ActionAtItemEnd

        init(_ player: AVQueuePlayer, template: AVPlayerItem) {
            self.player = player
            self.template = template
            oldAction = player.actionAtItemEnd
        }

        /// Replaces the copies that were played.
        func refill() {
            let waiting = player.items()
            let wanted = state.withLock { state -> (after: AVPlayerItem?, count: Int)? in
                // Each insertion notifies the observer of the current item.
                guard !state.isRefilling else { return nil }
                let gone = state.items.filter { !waiting.contains($0) }
                state.loopCount += gone.count
                state.items.removeAll { gone.contains($0) }
                state.isRefilling = true
                return (state.items.last, AVPlayerLooper.copyCount - state.items.count)
            }
            guard var (after, count) = wanted else { return }
            while count > 0, let item = template.copy(with: nil) as? AVPlayerItem {
                after == nil ? player.place(item, after: nil, atStart: true) : player.insert(item, after: after)
                state.withLock { $0.items.append(item) }
                (after, count) = (item, count - 1)
            }
            state.withLock { $0.isRefilling = false }
        }

        func removeWaiting() {
            let items = state.withLock { state in
                defer { state.items = [] }
                return state.items
            }
            for item in player.items().dropFirst() where items.contains(item) { player.remove(item) }
            player.actionAtItemEnd = oldAction
        }
    }
}
