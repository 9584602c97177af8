// An app that records what AVPlayer asks of a resource loader on this device. It needs
// docs/traces/LoadingTraceRecorder.swift, and a file named `media.mp3`, `media.m4a` or `media.mp4`
// in its bundle. Not built on Linux: it needs an Apple SDK.

#if canImport(SwiftUI) && !os(watchOS)
import AVKit
import SwiftUI

/// Plays one file through a recording loader.
@MainActor final class TraceSession: ObservableObject {
    /// The pace of the loader, as that of a slow network.
    private static let bytesPerSecond = 500_000
    private static let types = ["mp3": "public.mp3", "m4a": "com.apple.m4a-audio", "mp4": "public.mpeg-4"]

    @Published private(set) var player: AVQueuePlayer?
    /// The file of the trace, once it is written.
    @Published private(set) var trace: URL?
    @Published private(set) var trouble: String?
    private var loader: TracedFileLoader?
    private var recorder: LoadingTraceRecorder?

    func start() {
        let found = Self.types.keys.compactMap { name in Bundle.main.url(forResource: "media", withExtension: name) }.first
        guard let file = found, let type = Self.types[file.pathExtension] else { return trouble = "no media.mp3, .m4a or .mp4 in the app" }
        let system = ProcessInfo.processInfo.operatingSystemVersionString
        let place = FileManager.default.temporaryDirectory.appendingPathComponent("spool-\(Int(Date().timeIntervalSince1970)).trace")
        let recorder = LoadingTraceRecorder(to: place, header: ["system": system, "media": file.lastPathComponent])
        do {
            let loader = try TracedFileLoader(file: file, contentType: type, bytesPerSecond: Self.bytesPerSecond, recorder: recorder)
            let player = AVQueuePlayer(playerItem: AVPlayerItem(asset: loader.makeAsset()))
            player.automaticallyWaitsToMinimizeStalling = false
            player.play()
            (self.loader, self.recorder, self.player, trace, trouble) = (loader, recorder, player, nil, nil)
        } catch {
            trouble = error.localizedDescription
        }
        self.place = place
    }

    private var place: URL?

    /// Seeks to a part of the whole.
    func seek(to part: Double) {
        guard let player, let seconds = player.currentItem?.duration.seconds, seconds.isFinite else { return }
        player.seek(to: CMTime(seconds: seconds * part, preferredTimescale: 1000))
    }

    /// Plays the same media as the next item of the queue.
    func appendAgain() {
        guard let loader, let player else { return }
        player.insert(AVPlayerItem(asset: loader.makeAsset()), after: nil)
    }

    func togglePause() {
        guard let player else { return }
        player.rate == 0 ? player.play() : player.pause()
    }

    func stop() {
        player?.replaceCurrentItem(with: nil)
        recorder?.close()
        (player, loader, recorder, trace) = (nil, nil, nil, place)
    }
}

struct TraceView: View {
    @StateObject private var session = TraceSession()

    var body: some View {
        VStack(spacing: 16) {
            if let player = session.player {
                VideoPlayer(player: player)
                Button("Seek to the middle") { session.seek(to: 0.5) }
                Button("Seek near the end") { session.seek(to: 0.95) }
                Button("Seek back") { session.seek(to: 0.1) }
                Button("Pause for some minutes, or go on") { session.togglePause() }
                Button("Append as the next item") { session.appendAgain() }
                Button("Stop and write the trace") { session.stop() }
            } else {
                Button("Start") { session.start() }
            }
            if let trace = session.trace { ShareLink("Share the trace", item: trace) }
            if let trouble = session.trouble { Text(trouble) }
        }
        .padding()
    }
}

@main struct TraceRecorderApp: App {
    var body: some Scene {
        WindowGroup { TraceView() }
    }
}
#endif
