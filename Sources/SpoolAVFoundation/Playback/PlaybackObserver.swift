#if !os(watchOS)
public import AVFoundation
import SpoolCore
package import SpoolSystem

/// Observes a player whose items come from a cache. It stops the loading of items that were
/// switched away, makes later items yield, resumes after a stall, and publishes one state.
///
/// ```swift
/// let observer = PlaybackObserver(player: player)
/// for await state in observer.states { update(state) }
/// ```
///
/// AVFoundation goes on loading an item that `advanceToNextItem()` or `replaceCurrentItem(with:)`
/// took away, until its asset is released. Without an observer, only the run-ahead limit of the
/// asset bounds that cost.
///
/// Create one observer for each player and keep it as long as it has to work. It does not retain
/// the player. It sets `automaticallyWaitsToMinimizeStalling`: to false for items that the cache
/// serves, as AVFoundation's headers advise for delegates that load media, and otherwise to true.
@MainActor public final class PlaybackObserver {
    /// The grace period between the removal of an item and the end of its loading. A player that
    /// moves items takes them out and puts them back, and stopping in the moment of a change is
    /// known to do harm.
    nonisolated static let grace: Nanoseconds = .seconds(1)
    /// The time between two tries to resume after a stall, when AVFoundation does not resume by
    /// itself.
    nonisolated static let nudgeInterval: Nanoseconds = .seconds(5)
    /// The largest number of such tries in a row: ten minutes.
    nonisolated static let maxNudges = 120

    /// The state of the player.
    public private(set) var state = PlaybackState.idle
    /// Whether the observer resumes playback after a stall. A `pause()` of the observer, not of the
    /// player, prevents that.
    public var resumesAfterStall = true
    /// The source for a player that is sent to an AirPlay receiver, which fetches the bytes itself.
    /// With nil, the app handles that.
    public var externalPlayback: ExternalPlaybackRoute? = .original

    /// The broadcast behind `states`.
    nonisolated package let broadcast = Broadcast(PlaybackState.idle)
    private weak var player: AVPlayer?
    private let main: any Mailbox
    private var playerWatch: [NSKeyValueObservation] = []
    private var itemWatch: [NSKeyValueObservation] = []
    private var notices: NoticeTokens?
    private weak var watched: AVPlayerItem?
    private var kept = KeptLoaders()
    private var hasEnded = false
    private var isStalled = false
    private var nudges = 0
    private var failure: NSError?

    /// Attaches an observer to `player`.
    public convenience init(player: AVPlayer) {
        self.init(player: player, main: DispatchMailbox(.main))
    }

    /// Attaches an observer to `player`.
    ///
    /// - Parameter main: The mailbox of the main queue, or of a simulator in simulations.
    package init(player: AVPlayer, main: any Mailbox) {
        self.player = player
        self.main = main
        let look = later { $0.look() }
        playerWatch = [
            player.observe(\.currentItem) { _, _ in look() },
            player.observe(\.timeControlStatus) { _, _ in look() },
            player.observe(\.reasonForWaitingToPlay) { _, _ in look() },
            player.observe(\.status) { _, _ in look() },
            player.observe(\.isExternalPlaybackActive) { _, _ in look() },
        ]
        look()
    }

    /// A stream of the current state and each later one. A slow consumer gets the newest state
    /// only. The stream ends with the observer.
    public var states: AsyncStream<PlaybackState> { broadcast.stream() }

    deinit { broadcast.finish() }

    // MARK: Controls

    /// Plays.
    public func play() {
        failure = nil
        player?.play()
    }

    /// Pauses, and stays paused also after a stall. The player itself has no method for a pause
    /// during a stall.
    public func pause() {
        isStalled = false
        player?.pause()
        look()
    }

    // MARK: Updates

    /// Returns a closure that runs `job` on the main queue, whatever thread calls it.
    private func later(_ job: @escaping @Sendable @MainActor (PlaybackObserver) -> Void) -> @Sendable () -> Void {
        { [weak self, main] in
            main.post { [weak self] in
                MainActor.assumeIsolated {
                    if let self { job(self) }
                }
            }
        }
    }

    private func look() {
        guard let player else { return publish(.idle) }
        let current = player.currentItem
        if current !== watched { itemChanged(to: current, player) }
        followQueue(player)
        if let current, resumesAfterStall { resume(player, current) }
        if player.isExternalPlaybackActive, let current { leaveForReceiver(player, current) }
        publish(state(of: player, current))
    }

    private func itemChanged(to item: AVPlayerItem?, _ player: AVPlayer) {
        watched = item
        isStalled = false
        nudges = 0
        itemWatch = []
        notices = nil
        guard let item else { return }
        hasEnded = false
        failure = nil
        watch(item)
        player.automaticallyWaitsToMinimizeStalling = AssetLoader.of(item) == nil
    }

    private func watch(_ item: AVPlayerItem) {
        let look = later { $0.look() }
        itemWatch = [
            item.observe(\.status) { _, _ in look() },
            item.observe(\.duration) { _, _ in look() },
            item.observe(\.isPlaybackLikelyToKeepUp) { _, _ in look() },
            item.observe(\.isPlaybackBufferFull) { _, _ in look() },
        ]
        let notices = NoticeTokens()
        let (ended, stalled) = (later { $0.ended() }, later { $0.stalled() })
        notices.add(.AVPlayerItemDidPlayToEndTime, of: item) { _ in ended() }
        notices.add(.AVPlayerItemPlaybackStalled, of: item) { _ in stalled() }
        notices.add(.AVPlayerItemFailedToPlayToEndTime, of: item) { [weak self, main] notice in
            let error = notice.userInfo?[AVPlayerItemFailedToPlayToEndTimeErrorKey] as? NSError
            main.post { [weak self] in MainActor.assumeIsolated { self?.failed(error) } }
        }
        self.notices = notices
    }

    // MARK: Item notifications

    private func ended() {
        hasEnded = true
        isStalled = false
        look()
    }

    private func failed(_ error: NSError?) {
        failure = error ?? NSError(domain: AVFoundationErrorDomain, code: AVError.Code.unknown.rawValue)
        look()
    }

    private func stalled() {
        guard !isStalled else { return look() }
        isStalled = true
        nudges = 0
        nudgeLater()
        look()
    }

    // MARK: Resuming after a stall

    private func resume(_ player: AVPlayer, _ item: AVPlayerItem) {
        if player.timeControlStatus == .playing, item.isPlaybackLikelyToKeepUp { isStalled = false }
        guard isStalled, item.isPlaybackLikelyToKeepUp || item.isPlaybackBufferFull else { return }
        isStalled = false
        player.play()
    }

    /// Retries after a pause. A stalled player may have stopped asking for bytes, and `play()`
    /// makes it ask again.
    private func nudgeLater() {
        guard nudges < Self.maxNudges, let time = watched.flatMap(AssetLoader.of)?.time else { return }
        nudges += 1
        _ = time.after(
            Self.nudgeInterval, on: main,
            { [weak self] in
                MainActor.assumeIsolated { self?.nudge() }
            })
    }

    private func nudge() {
        guard isStalled, resumesAfterStall, let player, failure == nil else { return }
        AssetLoader.of(watched)?.tryAgain()
        player.play()
        nudgeLater()
        look()
    }

    // MARK: The queue

    /// Sets the urgency of each item, and stops the items that left.
    private func followQueue(_ player: AVPlayer) {
        let current = player.currentItem
        let items = (player as? AVQueuePlayer)?.items() ?? current.map { [$0] } ?? []
        for loader in kept.follow(items, current: current) {
            // The item may be back in the list at the end of the grace period.
            _ = loader.time.after(Self.grace, on: main) { [weak self, weak loader] in
                MainActor.assumeIsolated { self?.stopIfGone(loader) }
            }
        }
        if let current, current.status == .readyToPlay { AssetLoader.of(current)?.durationLearnt(seconds: current.duration.seconds) }
    }

    private func stopIfGone(_ loader: AssetLoader?) {
        guard let loader else { return }
        kept.takeDeparted(loader)?.cancelLoading()
    }

    // MARK: AirPlay

    /// Replaces the item by one with a URL that a receiver can fetch, because a receiver cannot ask
    /// the loader.
    private func leaveForReceiver(_ player: AVPlayer, _ item: AVPlayerItem) {
        guard let externalPlayback, let asset = item.asset as? CachingAVURLAsset, asset.route == .cache, let loader = asset.loader else {
            return
        }
        let plain = AVPlayerItem(asset: loader.plainAsset(of: asset, via: externalPlayback))
        let (time, wasPlaying) = (player.currentTime(), player.timeControlStatus != .paused)
        if let queue = player as? AVQueuePlayer {
            guard queue.canInsert(plain, after: item) else { return }
            queue.insert(plain, after: item)
            queue.advanceToNextItem()
        } else {
            player.replaceCurrentItem(with: plain)
        }
        player.seek(to: time)
        if wasPlaying { player.play() }
    }

    // MARK: The state

    private func state(of player: AVPlayer, _ current: AVPlayerItem?) -> PlaybackState {
        if player.status == .failed { return .failed(failure(player.error, current)) }
        guard let current else { return hasEnded ? .ended : .idle }
        if current.status == .failed { return .failed(failure(current.error, current)) }
        if player.timeControlStatus == .playing {
            hasEnded = false
            if current.status == .readyToPlay { return .playing }
        }
        if let failure { return .failed(self.failure(failure, current)) }
        if hasEnded { return .ended }
        if isStalled { return .stalled }
        if current.status == .unknown { return .loading }
        return player.timeControlStatus == .paused ? .paused : .waiting(player.reasonForWaitingToPlay)
    }

    private func failure(_ error: (any Error)?, _ item: AVPlayerItem?) -> PlaybackFailure {
        let error = error.map { $0 as NSError } ?? NSError(domain: AVFoundationErrorDomain, code: AVError.Code.unknown.rawValue)
        return PlaybackFailure(error: error, cause: AssetLoader.of(item)?.report.lastError)
    }

    private func publish(_ new: PlaybackState) {
        guard new != state else { return }
        state = new
        broadcast.send(new)
    }
}
#endif
