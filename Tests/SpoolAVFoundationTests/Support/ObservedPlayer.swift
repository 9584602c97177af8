import AVFoundation
import SpoolAVFoundation
import SpoolSystem
import SpoolTestSupport
import SpoolTesting

/// A player with a simulated one behind it, and a controller.
@MainActor final class ObservedPlayer {
    let world: DoorWorld
    let player: AVQueuePlayer
    let controller: PlaybackController
    let simulated: SimulatedPlayer
    /// The audio session's notifications of this player alone.
    let center = NotificationCenter()
    private let log = Locked<[PlaybackState]>([])
    /// The items that replaced others.
    private(set) var replaced: [AVPlayerItem] = []
    private let reported = Locked<[PlaybackReport]>([])
    /// The reports of the items so far.
    var reports: [PlaybackReport] { reported.withLock { $0 } }

    /// The states so far.
    var seen: [PlaybackState] { log.withLock { $0 } }

    init(_ world: DoorWorld, items: [AVPlayerItem], habits: PlayerHabits = PlayerHabits(), seconds: Double = 60) {
        self.world = world
        player = AVQueuePlayer(items: items)
        simulated = SimulatedPlayer(driving: player, habits: habits, world: world.playback) { item in
            guard let url = (item.mediaAsset as? CachingAVURLAsset)?.originalURL ?? (item.mediaAsset as? AVURLAsset)?.url,
                let resource = world.world.versions[url.absoluteString]?.last
            else { return nil }
            return SimulatedMedia(kind: .mp3, seconds: seconds, headBytes: 1000) { bytes, offset in
                resource.content.firstDifference(in: bytes, at: offset)
            }
        }
        controller = PlaybackController(player: player, main: world.playback.main, center: center)
        let log = log
        _ = controller.broadcast.follow({ state in log.withLock { $0.append(state) } })
        let reported = reported
        controller.reporter.follow { report in reported.withLock { $0.append(report) } }
        controller.onReplacement = { [weak self] _, new in self?.replaced.append(new) }
    }

    /// Begins an interruption, such as a phone call. The system pauses a player that plays.
    func interrupt() {
        if player.timeControlStatus == .playing { player.pauseBySystem(.audioSessionInterrupted) }
        center.post(name: AudioNotices.interruption, object: nil, userInfo: [AudioNotices.interruptionTypeKey: AudioNotices.began])
    }

    /// Changes the route of the sound to an AirPlay receiver, or back.
    func playOnAirPlay(_ isOnAirPlay: Bool) {
        controller.hasAirPlayRoute = { isOnAirPlay }
        center.post(name: AudioNotices.routeChange, object: nil, userInfo: [:])
    }

    /// Pulls the headphones out. The system pauses a player that plays.
    func pullHeadphones() {
        if player.timeControlStatus == .playing { player.pauseBySystem(.setRateCalled) }
        center.post(
            name: AudioNotices.routeChange, object: nil,
            userInfo: [AudioNotices.routeChangeReasonKey: AudioNotices.oldDeviceUnavailable])
    }
}
