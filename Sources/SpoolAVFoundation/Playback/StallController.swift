#if !os(watchOS)
import AVFoundation
import SpoolCore
import SpoolSystem

/// Performs the actions of a `StallRecovery` for one player.
@MainActor final class StallController {
    /// The time between two tries to resume after a stall, when AVFoundation does not resume by
    /// itself.
    private static let nudgeInterval: Nanoseconds = .seconds(5)
    /// The largest number of such tries in a row: ten minutes.
    private static let maxNudges = 120
    /// The time after a stop in which AVFoundation's notification of a stall may come.
    private static let settling: Nanoseconds = .seconds(1)
    /// The reasons of a new rate that are requests of the user, the app, or the system on their
    /// behalf. Others are none: a rate that could not be set, the live edge, and the start in
    /// reverse.
    nonisolated private static let requests = Set(
        [AVPlayer.RateDidChangeReason.setRateCalled, .audioSessionInterrupted, .appBackgrounded].map(\.rawValue))

    private var recovery = StallRecovery()
    private weak var player: AVPlayer?
    private weak var item: AVPlayerItem?
    private let main: any Mailbox
    /// The app's own setting, which items without a loader have.
    private let waitsByDefault: Bool
    /// Whether a request to change the rate was reported, and not handled yet. Any thread sets it in
    /// the moment of the report: a pause may come just before the decision about a stall.
    private let isRequested = Locked(false)
    private var nudges = 0
    /// Whether the controller handles stalls of the item. A redirect ends that.
    private var handles = false
    /// Whether the player stopped just now.
    private var isSettling = false
    /// The rate that the user wanted last, also after the item failed.
    var wantedRate: Float = 0
    /// Whether a player goes on after a stall.
    var resumes = true
    /// The part that handles stalls. A change takes effect at once.
    var handling = StallHandling.controller {
        didSet { if handling != oldValue { begin() } }
    }
    /// Called after a decision that no other event of the player follows.
    var changed: @MainActor () -> Void = {}

    /// - Parameter main: The mailbox of the main queue.
    init(_ player: AVPlayer, main: any Mailbox) {
        (self.player, self.main) = (player, main)
        waitsByDefault = player.automaticallyWaitsToMinimizeStalling
    }

    /// Whether the player waits for bytes after a stall.
    var isWaiting: Bool { recovery.isWaiting }
    /// Whether the player waits for bytes after a stall, or is perhaps about to.
    var mayGoOn: Bool { recovery.isWaiting || (isSettling && recovery.hasStopped) }

    /// The rate at which the user wants to play. A player that ran out of bytes may have the rate
    /// 0.
    func intendedRate(of player: AVPlayer) -> Float {
        switch recovery.state {
        case .playing(let rate), .stopped(let rate), .waiting(let rate): rate
        case .idle: player.rate
        }
    }

    // MARK: Events

    /// Begins with another item.
    func itemChanged(to item: AVPlayerItem?) {
        self.item = item
        nudges = 0
        begin()
    }

    private func begin() {
        guard let player else { return }
        handles = isHandled
        recovery.itemChanged(rate: player.rate, isCached: handles)
        player.automaticallyWaitsToMinimizeStalling = handles ? false : waitsByDefault
    }

    private var isHandled: Bool { handling == .controller && AssetLoader.of(item)?.report.isServing == true }

    /// Notes the reason of a new rate, on any thread, and returns whether it is a request.
    nonisolated var noteRequest: @Sendable (_ reason: String?) -> Bool {
        { [isRequested] reason in
            guard let reason, Self.requests.contains(reason) else { return false }
            isRequested.withLock { $0 = true }
            return true
        }
    }

    /// Looks at the rate of the player.
    func rateChanged() {
        let cause: StallRecovery.Cause = isRequested.withLock { exchange(&$0, with: false) ? .request : .unknown }
        guard let player else { return }
        if cause == .request { wantedRate = player.rate }
        if handles != isHandled { begin() }
        guard let item, item === player.currentItem, isHandled else { return }
        let hadStopped = recovery.hasStopped
        perform(recovery.rateChanged(to: player.rate, cause))
        if recovery.hasStopped, !hadStopped { settleLater() }
    }

    /// Takes a stop for a pause, unless a notification of a stall comes soon.
    private func settleLater() {
        guard !isSettling, let time = AssetLoader.of(item)?.time else { return }
        isSettling = true
        _ = time.after(Self.settling, on: main) { [weak self] in
            MainActor.assumeIsolated {
                self?.isSettling = false
                self?.changed()
            }
        }
    }

    /// Handles AVFoundation's notification of a stall of the item.
    func stalled() {
        guard isHandled else { return }
        rateChanged()
        // A player that has stopped may have been paused in this turn of the main queue.
        guard recovery.hasStopped else { return perform(recovery.stalled()) }
        main.post { [weak self] in
            MainActor.assumeIsolated { self?.settle() }
        }
    }

    /// Decides about a stop with a notification of a stall, once a request in the same turn of the
    /// main queue would be known.
    private func settle() {
        // The app may have set another rate in this turn.
        rateChanged()
        if recovery.hasStopped { perform(recovery.stalled()) }
        changed()
    }

    /// Handles a loss of the audio.
    func audioLost() {
        // The player may have begun to play in this turn of the main queue, and wait for bytes.
        rateChanged()
        perform(recovery.audioLost(hasItem: player?.currentItem != nil))
        wantedRate = 0
    }

    /// Looks at the buffer of the current item.
    func bytesMayHaveCome(_ item: AVPlayerItem) {
        guard item.isPlaybackLikelyToKeepUp || item.isPlaybackBufferFull else { return }
        perform(recovery.bytesCame(isPlaying: player?.timeControlStatus == .playing))
    }

    /// Handles the end of the item.
    func ended() { perform(recovery.ended()) }

    /// Handles the failure of the item.
    func failed() {
        if let player { wantedRate = intendedRate(of: player) }
        ended()
    }

    // MARK: Actions

    private func perform(_ actions: [StallRecovery.Action]) {
        guard let player else { return }
        for action in actions {
            switch action {
            case .wait(let rate): waitForBytes(player, rate)
            case .play(let rate): player.playImmediately(atRate: rate)
            case .stopWaiting: player.automaticallyWaitsToMinimizeStalling = false
            case .pause: player.pause()
            }
        }
    }

    private func waitForBytes(_ player: AVPlayer, _ rate: Float) {
        guard resumes else {
            _ = recovery.ended()
            return
        }
        player.automaticallyWaitsToMinimizeStalling = true
        player.rate = rate
        nudges = 0
        nudgeLater()
    }

    /// Lets the loader retry after a pause, while the player waits.
    private func nudgeLater() {
        guard nudges < Self.maxNudges, let time = AssetLoader.of(item)?.time else { return }
        nudges += 1
        let number = nudges
        _ = time.after(Self.nudgeInterval, on: main) { [weak self] in
            MainActor.assumeIsolated { self?.nudge(number) }
        }
    }

    /// A player that gave up asking asks again when its rate is set. It waits at its rate already,
    /// so this starts nothing that was paused.
    private func nudge(_ number: Int) {
        guard number == nudges, recovery.isWaiting, let player, player.rate != 0 else { return }
        AssetLoader.of(item)?.tryAgain()
        // The user may have chosen another rate in this turn of the main queue.
        let rate = player.rate
        player.rate = rate
        nudgeLater()
        changed()
    }
}
#endif
