// The shortest way to a cached video in UIKit: make a cache, make an item, play. Not built on Linux: it needs an Apple SDK.

#if canImport(UIKit) && !os(watchOS)
import AVKit
import SpoolAVFoundation
import UIKit

/// A view controller that plays one film through the cache.
final class FilmViewController: AVPlayerViewController {
    // One cache for the whole app. A second cache on the same directory could only read.
    private static let cache = try? MediaCache()

    func play(_ url: URL) {
        // Never worse than no cache: the film also plays when the store cannot be opened.
        let item = Self.cache?.playerItem(for: url) ?? AVPlayerItem(url: url)
        player = AVPlayer(playerItem: item)
        player?.play()
    }
}
#endif
