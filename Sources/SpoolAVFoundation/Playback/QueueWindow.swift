#if !os(watchOS)
import AVFoundation
import Spool
import SpoolCore

/// Moves a preload window along the queue of a player.
///
/// A player's list begins with its current item. The items that played before it are remembered
/// here, for the part of the window behind the player.
@MainActor struct QueueWindow {
    /// The most items before the current one that are remembered.
    private static let maxPlayed = 16

    private let window: PreloadWindow
    private var played: [PreloadWindow.Item] = []
    private var queue: [PreloadWindow.Item] = []
    /// The items of the last look. A key and the fields of each are made once.
    private var looked: [Weak] = []

    private struct Weak {
        weak var item: AVPlayerItem?
    }

    init(_ window: PreloadWindow) { self.window = window }

    /// Moves the window to the beginning of the list, if the list has changed.
    mutating func follow(_ items: [AVPlayerItem]) {
        guard !looked.elementsEqual(items, by: { $0.item === $1 }) else { return }
        looked = items.map(Weak.init)
        let queue = items.compactMap { $0.cachedAsset?.windowItem }
        guard queue != self.queue else { return }
        if let last = self.queue.first, last != queue.first {
            played.removeAll { $0 == last }
            played = (played + [last]).suffix(Self.maxPlayed)
        }
        self.queue = queue
        // An item that plays again is not behind the player.
        let behind = played.filter { !queue.contains($0) }
        window.move(to: behind.count, in: behind + queue)
    }
}

extension CachingAVURLAsset {
    /// The asset's media as an item of a preload window, with the fields, cookies and networks of
    /// the asset. Nil for media that no cache stores.
    fileprivate var windowItem: PreloadWindow.Item? {
        guard let sources else { return nil }
        do throws(CacheError) {
            let (key, read) = try sources.factory.reading(sources.url, key, sources.headers, sources.options)
            var item = PreloadWindow.Item(url: originalURL.absoluteString, key: key, requestFields: read.requestFields)
            item.request.access = read.access
            return item
        } catch {
            return nil
        }
    }
}
#endif
