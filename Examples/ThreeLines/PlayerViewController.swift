// The shortest way to a cached video in UIKit: make a cache, make an item, play. Not built on Linux: it needs an Apple SDK.

#if canImport(UIKit) && !os(watchOS)
import AVKit
import SpoolAVFoundation
import UIKit

/// Presents a film that plays through the cache.
@MainActor enum FilmPresenter {
    // One cache for the whole app. A second cache on the same directory could only read.
    private static let cache = try? MediaCache()

    static func present(_ url: URL, over controller: UIViewController) {
        let film = AVPlayerViewController()
        // Never worse than no cache: the film also plays when the store cannot be opened.
        film.player = cache?.player(for: url) ?? AVPlayer(url: url)
        controller.present(film, animated: true) { film.player?.play() }
    }
}
#endif
