#if !os(watchOS)
import AVFoundation
import Spool
import SpoolCore
import SpoolSystem

/// Sets the urgency of the items in a player's list, parks those that left, and moves the preload
/// window along.
@MainActor final class QueueUrgency {
    /// The grace period between the removal of an item and the end of its loading. A player that
    /// moves items takes them out and puts them back, and stopping in the moment of a change is
    /// known to do harm.
    private static let grace: Nanoseconds = .seconds(1)

    private let main: any Mailbox
    private var kept = KeptLoaders()
    private var window: QueueWindow?

    /// - Parameter main: The mailbox of the main queue.
    init(main: any Mailbox) { self.main = main }

    /// Sets the window that follows the list, or nil.
    func preload(_ window: PreloadWindow?) { self.window = window.map(QueueWindow.init) }

    /// Looks at the list of a player.
    func follow(_ player: AVPlayer) {
        let current = player.currentItem
        let items = (player as? AVQueuePlayer)?.items() ?? current.map { [$0] } ?? []
        window?.follow(items)
        for loader in kept.follow(items, current: current) {
            // The item may be back in the list at the end of the grace period.
            _ = loader.time.after(Self.grace, on: main) { [weak self, weak loader] in
                MainActor.assumeIsolated { self?.parkIfGone(loader) }
            }
        }
        if let current, current.status == .readyToPlay { AssetLoader.of(current)?.durationLearnt(seconds: current.duration.seconds) }
    }

    /// Parks the loader of an item that left. Cancelling the loading of its asset would make an
    /// item fail that the app keeps and inserts again.
    private func parkIfGone(_ loader: AssetLoader?) {
        guard let loader, kept.takeDeparted(loader) else { return }
        loader.prioritized(.parked)
    }
}
#endif
