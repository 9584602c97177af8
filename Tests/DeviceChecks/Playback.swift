import AVFoundation
import Foundation
import SpoolAVFoundation
import SpoolCore
import SpoolSystem

/// A player of a case, with what was seen of it.
@MainActor final class Playback {
    /// The notices of the player.
    struct Log: Sendable {
        var ends = 0
        var stalls = 0
        /// The reasons of the changes of the rate, `none` for a change without one.
        var reasons: [String] = []
    }

    let player: AVPlayer
    let controller: PlaybackController?
    private unowned let bench: Bench
    private let log = Locked(Log())
    private var tokens: [any NSObjectProtocol] = []
    /// The pictures of the item, or the machine behind the double's player.
    private var source: (any Sendable)?

    init(_ bench: Bench, _ player: AVPlayer, _ controller: PlaybackController?) {
        self.bench = bench
        self.player = player
        self.controller = controller
        // Noise is a sample, too.
        player.isMuted = true
        let log = log
        let reasonKey = AVPlayer.rateDidChangeReasonKey
        follow(AVPlayerItem.didPlayToEndTimeNotification, nil) { [weak self] item in
            if self?.has(item) == true { log.withLock { $0.ends += 1 } }
        }
        follow(AVPlayerItem.playbackStalledNotification, nil) { [weak self] item in
            if self?.has(item) == true { log.withLock { $0.stalls += 1 } }
        }
        tokens.append(
            NotificationCenter.default.addObserver(forName: AVPlayer.rateDidChangeNotification, object: player, queue: nil) { notice in
                let reason = notice.userInfo?[reasonKey] as? String ?? "none"
                log.withLock { $0.reasons.append(reason) }
            })
        source = PlayerSource.attach(player, bench)
    }

    private func follow(_ name: Notification.Name, _ object: AnyObject?, _ job: @escaping @Sendable @MainActor (ObjectIdentifier) -> Void) {
        tokens.append(
            NotificationCenter.default.addObserver(forName: name, object: object, queue: nil) { notice in
                guard let item = notice.object as? AVPlayerItem else { return }
                let id = ObjectIdentifier(item)
                DispatchQueue.main.async { MainActor.assumeIsolated { job(id) } }
            })
    }

    /// The items that the player had so far. A notification of another player's item is none of
    /// this one.
    private var items: Set<ObjectIdentifier> = []

    private func noteItems() {
        for item in (player as? AVQueuePlayer)?.items() ?? [player.currentItem].compactMap(\.self) { items.insert(ObjectIdentifier(item)) }
    }

    private func has(_ item: ObjectIdentifier) -> Bool {
        noteItems()
        return items.contains(item)
    }

    /// Ends the play.
    func stop() {
        player.pause()
        for token in tokens { NotificationCenter.default.removeObserver(token) }
        tokens = []
        (player as? AVQueuePlayer)?.removeAllItems()
        player.replaceCurrentItem(with: nil)
        source = nil
    }

    #if os(Linux)
    /// Waits until the double's player has done what is due.
    func settle() async { await PlayerSource.settle(source) }
    #endif

    // MARK: Picture and state

    var position: Double { player.currentTime().seconds }
    var ends: Int { log.withLock { $0.ends } }
    var stalls: Int { log.withLock { $0.stalls } }
    var reasons: [String] { log.withLock { $0.reasons } }
    var isPlaying: Bool { player.timeControlStatus == .playing }
    var asset: CachingAVURLAsset? { player.currentItem?.cachedAsset }
    var length: Double { bench.sample(of: player.currentItem?.asset as? AVURLAsset)?.seconds ?? 0 }

    /// The error of the item, or nil.
    var failure: String? {
        guard player.currentItem?.status == .failed else { return nil }
        let cause = asset?.lastError.map { ", \($0.message)" } ?? ""
        return "\(player.currentItem?.error.map { "\($0)" } ?? "no error")\(cause)"
    }

    // MARK: Steps

    /// Plays, and waits until the media moves.
    func start(rate: Float = 1) async throws {
        noteItems()
        let begin = bench.time.now
        player.rate = rate
        try await until("the item plays") { isPlaying && position > 0 }
        bench.numbers[Bench.start] = bench.numbers[Bench.start] ?? Double(bench.time.now - begin) / 1e6
    }

    /// Waits until the item can play.
    func ready() async throws { try await until("the item is ready") { player.currentItem?.status == .readyToPlay } }

    /// Plays on to a part of the media, from 0 to 1, and compares the picture.
    func reaches(_ part: Double) async throws {
        try await until("the media reaches \(part)") { position >= part * length || ends > 0 }
        try comparePicture()
    }

    /// Plays to the end, which is announced once.
    func reachesEnd() async throws {
        let before = ends
        try await until("the end") { ends > before }
        try bench.expect(ends == before + 1, "the end was announced \(ends - before) times")
    }

    /// Seeks to a part of the media, and waits until the player shows it.
    func seek(_ part: Double) async throws {
        let target = part * length
        let isDone = Locked(false)
        let begin = bench.time.now
        player.seek(to: CMTime(seconds: target, preferredTimescale: 600), toleranceBefore: .zero, toleranceAfter: .zero) { _ in
            isDone.withLock { $0 = true }
        }
        try await until("the seek to \(part)") { isDone.withLock { $0 } }
        bench.numbers["longest seek ms"] = max(bench.numbers["longest seek ms"] ?? 0, Double(bench.time.now - begin) / 1e6)
        try bench.expect(position >= target - 0.1, "a seek to \(target) s ended at \(position) s")
        try comparePicture()
    }

    /// Waits until the item fails or plays, and returns which.
    func outcome() async throws -> String {
        player.rate = 1
        let end = bench.time.now + Nanoseconds(bench.patience * 1e9)
        while bench.time.now < end {
            if player.currentItem?.status == .failed { return "fails" }
            if isPlaying, position > 0 { return "plays" }
            try await bench.pass()
        }
        return "waits"
    }

    /// Waits until the player ran out of bytes. A plain player of the double never does.
    func stallsOrEnds() async throws {
        let before = stalls
        try await until("a stall") { stalls > before || ends > 0 || (player.timeControlStatus != .playing && position > 0) }
    }

    /// The number in the picture has to be that of the playing position, give or take two frames.
    func comparePicture() throws {
        guard let shown = PlayerSource.frameNumber(source, player) else { return }
        let due = Int(position * Double(Samples.framesPerSecond))
        try bench.expect(abs(shown - due) <= 2, "the picture is frame \(shown), the time that of frame \(due)")
    }

    private func until(_ words: String, _ holds: () -> Bool) async throws {
        try await bench.until(words) {
            noteItems()
            if let failure { throw CaseEnd.failed("\(words): \(failure)") }
            return holds()
        }
    }
}
