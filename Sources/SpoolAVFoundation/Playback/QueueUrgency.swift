#if !os(watchOS)
import AVFoundation
import Spool
import SpoolCore
import SpoolSystem

/// Sets the urgency of the items in a player's list, parks those that left, and moves the preload
/// window along.
///
/// It keeps loaders rather than assets, because the copies that a looper makes share one.
@MainActor final class QueueUrgency {
    /// The grace period between the removal of an item and the end of its loading. A player that
    /// moves items takes them out and puts them back, and stopping in the moment of a change is
    /// known to do harm.
    private static let grace: Nanoseconds = .seconds(1)

    private struct Entry {
        weak var loader: AssetLoader?
        /// The number of its requests when it left the list.
        var requestCount = 0
    }

    private let main: any Mailbox
    /// The loaders of the items in the list.
    private var listed: [ObjectIdentifier: Entry] = [:]
    /// The loaders that left the list and were not parked yet.
    private var departed: [ObjectIdentifier: Entry] = [:]
    private var window: QueueWindow?

    /// - Parameter main: The mailbox of the main queue.
    init(main: any Mailbox) { self.main = main }

    deinit {
        for entry in listed.values { entry.loader?.controllerIsGone(list: ObjectIdentifier(self)) }
    }

    /// Sets the window that follows the list, or nil.
    func preload(_ window: PreloadWindow?) { self.window = window.map(QueueWindow.init) }

    /// Looks at the list of a player.
    func follow(_ player: AVPlayer) {
        let (current, playing) = (player.currentItem, AssetLoader.of(player.currentItem))
        let items = (player as? AVQueuePlayer)?.items() ?? current.map { [$0] } ?? []
        window?.follow(items)
        var now: [ObjectIdentifier: Entry] = [:]
        for loader in items.compactMap({ AssetLoader.of($0) }) {
            now[ObjectIdentifier(loader)] = Entry(loader: loader)
            loader.prioritized(loader === playing ? .playing : .upcoming, in: ObjectIdentifier(self))
        }
        let left = listed.filter { now[$0.key] == nil && $0.value.loader != nil }
        listed = now
        departed = departed.filter { $0.value.loader != nil }.merging(left) { _, new in new }
        for (id, entry) in left {
            guard let loader = entry.loader else { continue }
            departed[id]?.requestCount = loader.prioritized(nil, in: ObjectIdentifier(self))
            // The item may be back in the list at the end of the grace period.
            _ = loader.time.after(Self.grace, on: main) { [weak self, weak loader] in
                MainActor.assumeIsolated { self?.parkIfGone(loader) }
            }
        }
        if let current, current.status == .readyToPlay {
            // A player at twice the rate needs twice the bytes in a second.
            playing?.durationLearnt(seconds: current.duration.seconds / Double(max(1, abs(player.rate))))
        }
    }

    /// Parks the loader of an item that left. Cancelling the loading of its asset would make an
    /// item fail that the app keeps and inserts again.
    private func parkIfGone(_ loader: AssetLoader?) {
        guard let loader, let entry = departed.removeValue(forKey: ObjectIdentifier(loader)), listed[ObjectIdentifier(loader)] == nil
        else { return }
        loader.park(ifRequestCountIs: entry.requestCount)
    }
}

extension AssetLoader {
    /// Returns the loader behind an item, also when its asset is a copy of another class.
    @MainActor static func of(_ item: AVPlayerItem?) -> AssetLoader? {
        (item?.asset as? AVURLAsset)?.resourceLoader.delegate as? AssetLoader
    }
}
#endif
