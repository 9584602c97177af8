// The views of the jukebox. Not built on Linux: they need an Apple SDK.

#if canImport(SwiftUI) && !os(watchOS)
import Foundation
import SpoolAVFoundation
import SwiftUI

/// The queue, the current song, and its stored part.
struct JukeboxView: View {
    @ObservedObject var jukebox: Jukebox

    var body: some View {
        VStack(spacing: 16) {
            List(jukebox.songs) { song in
                Text(song.title).fontWeight(song == jukebox.current ? .bold : .regular)
            }
            CachedBar(progress: jukebox.progress)
                .frame(height: 8)
                .accessibilityLabel("stored: \(Int(jukebox.progress.fractionCached * 100)) percent")
            if let trouble = jukebox.trouble { Text(trouble).foregroundStyle(.secondary) }
            HStack(spacing: 32) {
                Button(jukebox.state == .playing ? "Pause" : "Play", action: jukebox.togglePlaying)
                Button("Next", action: jukebox.next)
            }
        }
        .padding()
    }
}

/// A bar whose stored stretches are filled.
struct CachedBar: View {
    let progress: AssetProgress

    var body: some View {
        ZStack {
            Capsule().fill(.quaternary)
            StoredRangesShape(progress: progress).fill(.tint)
        }
        .clipShape(Capsule())
    }
}

/// The app: one cache for all of it.
@main struct JukeboxApp: App {
    /// Streams that Apple publishes for tests of players. Put your own URLs here.
    private static let songs = ["bipbop_4x3", "bipbop_16x9"].compactMap { name in
        URL(string: "https://devstreaming-cdn.apple.com/videos/streaming/examples/\(name)/\(name)_variant.m3u8")
            .map { Jukebox.Song(id: $0, title: name) }
    }

    private let jukebox: Result<Jukebox, CacheError>

    @MainActor init() {
        do throws(CacheError) {
            jukebox = .success(Jukebox(songs: Self.songs, cache: try MediaCache()))
        } catch {
            jukebox = .failure(error)
        }
    }

    var body: some Scene {
        WindowGroup {
            switch jukebox {
            case .success(let jukebox): JukeboxView(jukebox: jukebox)
            case .failure(let error): Text(error.message)
            }
        }
    }
}
#endif
