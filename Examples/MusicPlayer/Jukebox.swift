// A queue of songs with a bar that shows the stored bytes. Not built on Linux: it needs an Apple SDK.

#if canImport(SwiftUI) && !os(watchOS)
import AVFoundation
import SpoolAVFoundation
import SwiftUI

/// The state of the views, and the actions of their buttons.
@MainActor final class Jukebox: ObservableObject {
    struct Song: Identifiable, Hashable {
        let id: URL
        let title: String
    }

    @Published private(set) var state = PlaybackState.idle
    @Published private(set) var progress = AssetProgress()
    @Published private(set) var current: Song?
    let songs: [Song]

    private let player: CachingQueuePlayer
    private var following: [Task<Void, Never>] = []
    private var progressTask: Task<Void, Never>?

    init(songs: [Song], cache: MediaCache) {
        self.songs = songs
        player = cache.queuePlayer(items: songs.map { cache.playerItem(for: $0.id) })
        following = [
            Task { [weak self, player] in
                for await state in player.playback.states { self?.state = state }
            },
            Task { [weak self, player] in
                for await item in player.playback.currentItems { self?.itemChanged(to: item) }
            },
        ]
    }

    deinit { for task in following + [progressTask].compactMap(\.self) { task.cancel() } }

    func togglePlaying() {
        if state == .playing || state == .stalled { player.pause() } else { player.playback.play() }
    }

    func next() {
        // The controller stops the loading of played items.
        player.advanceToNextItem()
    }

    private func itemChanged(to item: CurrentItem?) {
        current = songs.first { $0.id == item?.url }
        progressTask?.cancel()
        guard let asset = player.currentItem?.cachedAsset else { return }
        progressTask = Task { [weak self] in
            for await progress in asset.progress { self?.progress = progress }
        }
    }

    /// The message for the listener: the cache's error if there is one, because AVFoundation's own messages seldom contain a reason.
    var trouble: String? {
        switch state {
        case .failed(let failure): failure.cause?.message ?? failure.error.localizedDescription
        case .stalled: "Waiting for the network"
        default: nil
        }
    }
}
#endif
