// A feed of short films: the visible one plays, and the first seconds of the next ones are
// preloaded. Not built on Linux: it needs an Apple SDK.

#if canImport(SwiftUI) && !os(watchOS)
import AVKit
import SpoolAVFoundation
import SwiftUI

/// The films of a feed, one player, and the preloads of the films ahead.
@MainActor final class VideoFeed: ObservableObject {
    /// The number of films ahead of the visible one whose beginning is fetched.
    private static let filmsAhead = 3
    private static let secondsAhead = 4.0

    let films: [URL]
    let player = AVPlayer()
    private let controller: PlaybackController
    private let cache: MediaCache
    private var preloads: [URL: Preload] = [:]

    init(films: [URL], cache: MediaCache) {
        self.films = films
        self.cache = cache
        controller = PlaybackController(player: player)
    }

    /// Plays a film, and preloads those after it. A preload pauses by itself while the player waits
    /// for bytes.
    func show(_ index: Int) {
        player.replaceCurrentItem(with: cache.playerItem(for: films[index]))
        controller.play()
        let ahead = films.dropFirst(index + 1).prefix(Self.filmsAhead)
        preloads = preloads.filter { ahead.contains($0.key) }
        for film in ahead where preloads[film] == nil {
            do throws(CacheError) {
                preloads[film] = try cache.preload(film, .seconds(Self.secondsAhead))
            } catch {
                // The film then starts without a head start.
                print(error.message)
            }
        }
    }
}

/// One film for each page.
struct VideoFeedView: View {
    @ObservedObject var feed: VideoFeed
    @State private var visible = 0

    var body: some View {
        VStack {
            VideoPlayer(player: feed.player)
            HStack {
                Button("Previous") { visible -= 1 }.disabled(visible == 0)
                Spacer()
                Button("Next") { visible += 1 }.disabled(visible + 1 >= feed.films.count)
            }
            .padding()
        }
        .onAppear { feed.show(visible) }
        .onChange(of: visible) { feed.show($0) }
    }
}
#endif
