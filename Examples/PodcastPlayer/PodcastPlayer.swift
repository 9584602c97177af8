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
    /// The downloaded part of each episode whose download was started, from 0 to 1.
    @Published private(set) var downloaded: [URL: Double] = [:]

    private let cache: MediaCache
    private let player = AVPlayer()
    private let observer: PlaybackObserver
    private var downloads: [URL: Task<Void, Never>] = [:]
    private var following: Task<Void, Never>?

    init(episodes: [Episode], cache: MediaCache) {
        self.episodes = episodes
        self.cache = cache
        observer = PlaybackObserver(player: player)
        following = Task { [weak self, observer] in
            for await state in observer.states { self?.state = state }
        }
    }

    deinit {
        following?.cancel()
        for task in downloads.values { task.cancel() }
    }

    func play(_ episode: Episode, rate: Float = 1) {
        player.replaceCurrentItem(with: cache.playerItem(for: episode.id))
        player.rate = rate
    }

    /// Fetches the whole episode, and pins it, so that it stays when the store needs room.
    func download(_ episode: Episode) {
        guard downloads[episode.id] == nil else { return }
        downloads[episode.id] = Task { [weak self, cache] in
            do {
                let download = try cache.download(episode.id)
                for await progress in download.updates { self?.downloaded[episode.id] = progress.fractionCompleted }
                try await download.completion()
                _ = try await cache.pin(episode.id.absoluteString)
            } catch {
                self?.downloaded[episode.id] = nil
            }
            self?.downloads[episode.id] = nil
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
                if let part = podcast.downloaded[episode.id] {
                    ProgressView(value: part).frame(width: 60).accessibilityLabel("downloaded")
                } else {
                    Button("Download") { podcast.download(episode) }
                }
            }
        }
    }
}
#endif
