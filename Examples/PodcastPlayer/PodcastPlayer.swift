// A podcast player with downloads: an episode plays from the cache, and a button keeps it for
// offline use. Not built on Linux: it needs an Apple SDK.

#if canImport(SwiftUI) && !os(watchOS)
import AVFoundation
import SpoolAVFoundation
import SwiftUI

/// The episodes, the player, and the downloads.
@MainActor final class PodcastPlayer: ObservableObject {
    struct Episode: Identifiable, Hashable {
        let id: URL
        let title: String
    }

    let episodes: [Episode]
    @Published private(set) var state = PlaybackState.idle
    /// The entries of the list of downloads, by their URLs.
    @Published private(set) var downloads: [String: Download] = [:]

    private let cache: MediaCache
    private let player = AVPlayer()
    private let controller: PlaybackController
    private var following: [Task<Void, Never>] = []

    init(episodes: [Episode], cache: MediaCache) {
        self.episodes = episodes
        self.cache = cache
        controller = PlaybackController(player: player)
        following = [
            Task { [weak self, controller] in
                for await state in controller.states { self?.state = state }
            },
            Task { [weak self, cache] in
                // What a former launch began goes on. Without the store, the episodes still play.
                try? await cache.downloads.start()
                for await list in cache.downloads.updates {
                    self?.downloads = Dictionary(list.map { ($0.url, $0) }) { first, _ in first }
                }
            },
        ]
    }

    deinit {
        for task in following { task.cancel() }
    }

    func play(_ episode: Episode, rate: Float = 1) {
        player.replaceCurrentItem(with: cache.playerItem(for: episode.id))
        player.rate = rate
    }

    /// Keeps the episode for offline use. Nothing evicts it, and the list outlives the app.
    func download(_ episode: Episode) {
        Task { [cache] in
            do {
                let details = DownloadDetails(appData: Array(episode.title.utf8))
                try await cache.downloads.add(episode.id, details: details)
            } catch {
                print("can't add \(episode.title): \(error)")
            }
        }
    }
}

/// The episodes, with a button to play and one to download.
struct PodcastView: View {
    @ObservedObject var podcast: PodcastPlayer

    var body: some View {
        List(podcast.episodes) { episode in
            HStack {
                Button(episode.title) { podcast.play(episode) }
                Spacer()
                if let download = podcast.downloads[episode.id.absoluteString] {
                    ProgressView(value: Double(download.doneBytes), total: Double(max(download.totalBytes ?? 1, download.doneBytes, 1)))
                        .frame(width: 60).accessibilityLabel("downloaded")
                } else {
                    Button("Download") { podcast.download(episode) }
                }
            }
        }
    }
}
#endif
