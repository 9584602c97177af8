// The shortest way to a cached video in UIKit: make a cache, make an item, play. Not built here: it needs an Apple SDK.

#if canImport(UIKit) && !os(watchOS)
import AVKit
import SpoolAVFoundation
import UIKit

/// A view controller that plays one film through the cache.
final class FilmViewController: AVPlayerViewController {
    // One cache for the whole app; two on one directory would make the second one a reader only.
    private static let cache = try? MediaCache()

    func play(_ url: URL) {
        // Never worse than no cache: if the store can't be opened the film plays all the same.
        let item = Self.cache?.playerItem(for: url) ?? AVPlayerItem(url: url)
        player = AVPlayer(playerItem: item)
        player?.play()
    }
}
#endif
