#if !os(watchOS)
public import AVFoundation
public import Spool
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
/// the player. For items that the cache serves it sets `automaticallyWaitsToMinimizeStalling`: to
/// false while they play, as AVFoundation's headers advise for delegates that load media, and to
/// true after a stall. Other items have the value that the player had before. `stallHandling`
/// leaves that to AVPlayer.
///
/// The observer never starts a player that the user, the app or the system paused.
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
    /// The reasons of a new rate that are requests of the user, the app, or the system on their
    /// behalf. Others are none: a rate that could not be set, the live edge, and the start in
    /// reverse.
    nonisolated private static let requests = Set(
        [AVPlayer.RateDidChangeReason.setRateCalled, .audioSessionInterrupted, .appBackgrounded].map(\.rawValue))

    /// The state of the player.
    public private(set) var state = PlaybackState.idle
    /// Whether playback goes on after a stall, at its rate, once there are enough bytes. A pause in
    /// the meantime counts, whoever pauses the player. A stop without AVFoundation's notification
    /// of a stall counts as a pause.
    public var resumesAfterStall = true
    /// The part that handles stalls of items that the cache serves. A change takes effect at once.
    public var stallHandling = StallHandling.observer {
        didSet {
            guard stallHandling != oldValue, let player else { return }
            beginHandlingStalls(of: watched, player)
            look()
        }
    }
    /// The source for a player that is sent to an AirPlay receiver, which fetches the bytes itself.
    /// With nil, the app handles that.
    public var externalPlayback: ExternalPlaybackRoute? = .original

    /// The window that follows the player's queue, so that its next items are preloaded. The window
    /// has its own fields and policy for all of them; see `preloadWindow(ahead:behind:_:)`.
    public var preloadWindow: PreloadWindow? {
        didSet {
            queueWindow = preloadWindow.map(QueueWindow.init)
            look()
        }
    }

    /// Whether the original replaces an item of the cache, once, when the item fails or nothing
    /// moves: for 15 seconds while it opens, or for 30 in a stall. A request for the first byte of
    /// the original comes first, and nothing happens unless it is answered. While all is well this
    /// costs nothing.
    ///
    /// Items are left alone whose original the player could not play: with a `ContentTransform`,
    /// keys, challenges, certificates, request modifiers or fields of the app, and under a
    /// `NetworkPolicy` that refuses a network. So are the items of an `AVPlayerLooper`.
    public var rescuesItems = true

    /// Called when the observer has replaced an item by another one of the same media: for an
    /// AirPlay receiver, back, when `play()` creates a failed item again, and for a rescue. The new
    /// item has the position, the settings and the selected tracks of the old one. Move outputs,
    /// observers and the metadata of AVKit to it.
    public var onReplacement: ((_ old: AVPlayerItem, _ new: AVPlayerItem) -> Void)?

    /// The broadcast behind `states`.
    nonisolated package let broadcast = Broadcast(PlaybackState.idle)
    /// The broadcast behind `currentItems`.
    nonisolated package let itemBroadcast = Broadcast<CurrentItem?>(nil)
    /// Measures the items for `reports`.
    nonisolated package let reporter = PlaybackReporter()
    private(set) weak var player: AVPlayer?
    private let main: any Mailbox
    private var playerWatch: [NSKeyValueObservation] = []
    private var itemWatch: [NSKeyValueObservation] = []
    private var notices: NoticeTokens?
    private weak var watched: AVPlayerItem?
    private var lastWatched: ObjectIdentifier?
    private var kept = KeptLoaders()
    private var queueWindow: QueueWindow?
    private(set) var recovery = StallRecovery()
    private(set) lazy var rescue = PlaybackRescue(
        main: main, replace: { [weak self] old, new in self?.putOriginal(new, inPlaceOf: old) },
        decided: { [weak self] in self?.look() })
    /// The rate that the item had before it failed.
    var wantedRate: Float = 0
    private let rateNotices = NoticeTokens()
    private let audioNotices: NoticeTokens
    /// The app's own setting, which items without a loader have.
    private let waitsByDefault: Bool
    private var hasEnded = false
    private var isStalled = false
    /// Whether a request to change the rate was reported, and not handled yet. Any thread sets it in
    /// the moment of the report: a pause may come just before the decision about a stall.
    private let isRequested = Locked(false)
    private var nudges = 0
    private(set) var failure: NSError?
    /// The state of the cache that the player's items come from.
    private var usedDoor: DoorState?
    /// The item that a receiver plays, and the asset that it stands for.
    private var handedOver: (item: AVPlayerItem, asset: CachingAVURLAsset)?

    /// Attaches an observer to `player`.
    public convenience init(player: AVPlayer) {
        self.init(player: player, main: DispatchMailbox(.main))
    }

    /// Attaches an observer to `player`.
    ///
    /// - Parameters:
    ///   - main: The mailbox of the main queue, or of a simulator in simulations.
    ///   - center: The center of the audio session's notifications.
    package init(player: AVPlayer, main: any Mailbox, center: NotificationCenter = .default) {
        self.player = player
        self.main = main
        audioNotices = NoticeTokens(center: center)
        waitsByDefault = player.automaticallyWaitsToMinimizeStalling
        let look = later { $0.look() }
        playerWatch = [
            player.observe(\.currentItem) { _, _ in look() },
            player.observe(\.rate) { _, _ in look() },
            player.observe(\.timeControlStatus) { _, _ in look() },
            player.observe(\.reasonForWaitingToPlay) { _, _ in look() },
            player.observe(\.status) { _, _ in look() },
        ]
        #if !os(visionOS)
        playerWatch.append(player.observe(\.isExternalPlaybackActive) { _, _ in look() })
        #endif
        watchInterruptions(of: player)
        look()
    }

    /// Notices why the rate changed, and that the user hears nothing any more.
    private func watchInterruptions(of player: AVPlayer) {
        let reasonKey = AVPlayer.rateDidChangeReasonKey
        let requested = later { $0.rateRequested() }
        rateNotices.add(AVPlayer.rateDidChangeNotification, of: player) { [isRequested] notice in
            guard let reason = notice.userInfo?[reasonKey] as? String, Self.requests.contains(reason) else { return }
            isRequested.withLock { $0 = true }
            requested()
        }
        let lost = later { $0.audioLost() }
        for name in [AudioNotices.interruption, AudioNotices.routeChange] {
            audioNotices.add(name, of: nil) { notice in
                if AudioNotices.isLoss(notice) { lost() }
            }
        }
    }

    /// A stream of the current state and each later one. A slow consumer gets the newest state
    /// only. The stream ends with the observer.
    public var states: AsyncStream<PlaybackState> { broadcast.stream() }

    /// A stream of the player's current item and each later one, also when one item follows another
    /// without a pause. The stream ends with the observer.
    public var currentItems: AsyncStream<CurrentItem?> { itemBroadcast.stream() }

    deinit {
        usedDoor?.note(ObjectIdentifier(self), isPlaying: nil)
        broadcast.finish()
        itemBroadcast.finish()
        reporter.finish()
    }

    // MARK: Controls

    /// Plays, as `play()` of the player. An item that failed is created again first, at its
    /// position.
    public func play() {
        failure = nil
        if let player, player.currentItem?.status == .failed { createAgain(player) }
        player?.play()
    }

    /// Pauses. The same as `pause()` of the player.
    public func pause() {
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
        rateChanged()
        current?.cachedAsset?.checkDelegate()
        if let current { resume(player, current) }
        if let current { followReceiver(player, current) }
        if let current, current === player.currentItem { followRescue(player, current) }
        notePlaying(player)
        publish(state(of: player, current))
    }

    private func itemChanged(to item: AVPlayerItem?, _ player: AVPlayer) {
        watched = item
        isStalled = false
        nudges = 0
        itemWatch = []
        notices = nil
        beginHandlingStalls(of: item, player)
        itemBroadcast.send(item.map(CurrentItem.init))
        guard let item else { return }
        lastWatched = ObjectIdentifier(item)
        hasEnded = false
        failure = nil
        watch(item)
    }

    private func watch(_ item: AVPlayerItem) {
        let look = later { $0.look() }
        let name = ObjectIdentifier(item)
        itemWatch = [
            item.observe(\.status) { _, _ in look() },
            item.observe(\.duration) { _, _ in look() },
            item.observe(\.isPlaybackLikelyToKeepUp) { _, _ in look() },
            item.observe(\.isPlaybackBufferFull) { _, _ in look() },
        ]
        let notices = NoticeTokens()
        // A late notification of an earlier item must not change the state of this one.
        let (ended, stalled) = (later { $0.ended(name) }, later { $0.stalled(name) })
        notices.add(.AVPlayerItemDidPlayToEndTime, of: item) { _ in ended() }
        notices.add(.AVPlayerItemPlaybackStalled, of: item) { _ in stalled() }
        notices.add(.AVPlayerItemFailedToPlayToEndTime, of: item) { [weak self, main] notice in
            let error = notice.userInfo?[AVPlayerItemFailedToPlayToEndTimeErrorKey] as? NSError
            main.post { [weak self] in MainActor.assumeIsolated { self?.failed(name, error) } }
        }
        self.notices = notices
    }

    /// Whether the item of a notification is the current one, or was the last one of a player that
    /// has none.
    private func isWatched(_ item: ObjectIdentifier) -> Bool { (watched.map(ObjectIdentifier.init) ?? lastWatched) == item }

    // MARK: Item notifications

    private func ended(_ item: ObjectIdentifier) {
        guard isWatched(item) else { return }
        hasEnded = true
        reporter.ended(item)
        perform(recovery.ended())
        look()
    }

    private func failed(_ item: ObjectIdentifier, _ error: NSError?) {
        guard isWatched(item) else { return }
        failure = error ?? NSError(domain: AVFoundationErrorDomain, code: AVError.Code.unknown.rawValue)
        if let player { wantedRate = intendedRate(of: player) }
        perform(recovery.ended())
        look()
    }

    private func stalled(_ item: ObjectIdentifier) {
        guard isWatched(item), handlesStalls(of: watched) else { return look() }
        rateChanged()
        // A player that has stopped may have been paused in this turn of the main queue.
        if recovery.hasStopped { later { $0.settle() }() } else { perform(recovery.stalled()) }
        look()
    }

    // MARK: Stalls

    private func beginHandlingStalls(of item: AVPlayerItem?, _ player: AVPlayer) {
        let isHandled = handlesStalls(of: item)
        recovery.itemChanged(rate: player.rate, isCached: isHandled)
        player.automaticallyWaitsToMinimizeStalling = isHandled ? false : waitsByDefault
    }

    private func handlesStalls(of item: AVPlayerItem?) -> Bool { stallHandling == .observer && AssetLoader.of(item) != nil }

    private func rateChanged() {
        let cause: StallRecovery.Cause = isRequested.withLock { isRequested in
            defer { isRequested = false }
            return isRequested ? .request : .unknown
        }
        if cause == .request, let player { wantedRate = player.rate }
        guard let player, let item = player.currentItem, item === watched, handlesStalls(of: item) else { return }
        perform(recovery.rateChanged(to: player.rate, cause))
    }

    /// Decides about a stop with a notification of a stall, once a request in the same turn of the
    /// main queue would be known.
    private func settle() {
        // The app may have set another rate in this turn.
        rateChanged()
        if recovery.hasStopped { perform(recovery.stalled()) }
        look()
    }

    /// Handles a rate that the app, the user or the system set. A player does not begin to play an
    /// item that failed, so the item is created again.
    private func rateRequested() {
        rateChanged()
        guard let player, player.rate != 0, player.currentItem?.status == .failed, !rescue.isDeciding else { return }
        failure = nil
        createAgain(player)
    }

    private func audioLost() {
        // The user hears nothing of such a player, so nothing is lost.
        guard let player, !player.isMuted, player.volume > 0 else { return }
        // The player may have begun to play in this turn of the main queue, and wait for bytes.
        rateChanged()
        perform(recovery.audioLost(hasItem: player.currentItem != nil))
        wantedRate = 0
        // An item that a receiver got in this turn waits, and would start by itself.
        if let handedOver, handedOver.item === player.currentItem, player.timeControlStatus == .waitingToPlayAtSpecifiedRate {
            player.pause()
        }
        look()
    }

    private func resume(_ player: AVPlayer, _ item: AVPlayerItem) {
        guard item.isPlaybackLikelyToKeepUp || item.isPlaybackBufferFull else { return }
        perform(recovery.bytesCame(isPlaying: player.timeControlStatus == .playing))
    }

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
        isStalled = recovery.isWaiting
    }

    private func waitForBytes(_ player: AVPlayer, _ rate: Float) {
        guard resumesAfterStall else {
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
        guard nudges < Self.maxNudges, let time = watched.flatMap(AssetLoader.of)?.time else { return }
        nudges += 1
        let number = nudges
        _ = time.after(
            Self.nudgeInterval, on: main,
            { [weak self] in
                MainActor.assumeIsolated { self?.nudge(number) }
            })
    }

    /// A player that gave up asking asks again when its rate is set. It waits at its rate already,
    /// so this starts nothing that was paused.
    private func nudge(_ number: Int) {
        guard number == nudges, recovery.isWaiting, let player, failure == nil, player.rate != 0 else { return }
        AssetLoader.of(watched)?.tryAgain()
        // The user may have chosen another rate in this turn of the main queue.
        let rate = player.rate
        player.rate = rate
        nudgeLater()
        look()
    }

    // MARK: The queue

    /// Makes the observer look at the queue after a change that is not the current item's. Safe to
    /// call on any thread.
    var queueChange: @Sendable () -> Void { later { $0.look() } }

    /// Sets the urgency of each item, and parks the items that left.
    private func followQueue(_ player: AVPlayer) {
        let current = player.currentItem
        let items = (player as? AVQueuePlayer)?.items() ?? current.map { [$0] } ?? []
        queueWindow?.follow(items)
        for loader in kept.follow(items, current: current) {
            // The item may be back in the list at the end of the grace period.
            _ = loader.time.after(Self.grace, on: main) { [weak self, weak loader] in
                MainActor.assumeIsolated { self?.parkIfGone(loader) }
            }
        }
        if let current, current.status == .readyToPlay { AssetLoader.of(current)?.durationLearnt(seconds: current.duration.seconds) }
    }

    /// Parks the loader of an item that left. Cancelling the loading of its asset would make an
    /// item fail that the app keeps and inserts again.
    private func parkIfGone(_ loader: AssetLoader?) {
        guard let loader, kept.takeDeparted(loader) else { return }
        loader.prioritized(.parked)
    }

    /// Tells the cache whether the app needs it in the background: the player plays, or waits to.
    private func notePlaying(_ player: AVPlayer) {
        guard let door = Self.door(of: player.currentItem) ?? usedDoor else { return }
        if usedDoor !== door {
            usedDoor?.note(ObjectIdentifier(self), isPlaying: nil)
            door.onFirstRequest(of: ObjectIdentifier(self), later { $0.look() })
        }
        usedDoor = door
        door.note(ObjectIdentifier(self), isPlaying: player.timeControlStatus != .paused)
    }

    /// Returns the state of the cache that an item needs, also of one that plays through the proxy.
    private static func door(of item: AVPlayerItem?) -> DoorState? {
        if let loader = AssetLoader.of(item) { return loader.core.door }
        guard let asset = item?.cachedAsset, asset.route == .loopback else { return nil }
        return asset.sources?.factory.door
    }

    // MARK: Other items for the same media

    /// Replaces the item by one with a URL that a receiver can fetch, because a receiver reaches
    /// neither the loader nor this device's loopback. Puts an item of the cache back when the
    /// receiver is gone.
    private func followReceiver(_ player: AVPlayer, _ item: AVPlayerItem) {
        let route = (item.asset as? CachingAVURLAsset)?.route
        if Self.isOnReceiver(player) {
            guard let externalPlayback, route == .cache || (route == .loopback && handedOver?.item !== item),
                let asset = item.cachedAsset, let plain = asset.sources?.external(externalPlayback)
            else { return }
            let new = AVPlayerItem(asset: plain)
            handedOver = (new, asset)
            replace(item, with: new, in: player)
        } else if let (handed, asset) = handedOver {
            handedOver = nil
            guard handed === item, let cached = asset.sources?.again() else { return }
            replace(item, with: AVPlayerItem(asset: cached), in: player)
        }
    }

    /// Whether an AirPlay receiver plays the player's video. visionOS sends video to none.
    private static func isOnReceiver(_ player: AVPlayer) -> Bool {
        #if os(visionOS)
        false
        #else
        player.isExternalPlaybackActive
        #endif
    }

    /// Replaces an item that failed. An item never leaves that state.
    private func createAgain(_ player: AVPlayer) {
        guard let item = player.currentItem, let cached = item.cachedAsset?.sources?.again() else { return }
        replace(item, with: AVPlayerItem(asset: cached), in: player)
    }

    func replace(_ item: AVPlayerItem, with new: AVPlayerItem, in player: AVPlayer, rate wanted: Float? = nil) {
        let (time, rate) = (item.currentTime(), wanted ?? player.rate)
        item.copySettings(to: new)
        item.copySelection(to: new, on: main)
        if time.seconds.isFinite, time.seconds > 0 { new.seek(to: time, completionHandler: nil) }
        if let queue = player as? AVQueuePlayer {
            guard queue.canInsert(new, after: item) else { return }
            queue.insert(new, after: item)
            queue.remove(item)
        } else {
            player.replaceCurrentItem(with: new)
        }
        if rate != 0, player.rate != rate { player.rate = rate }
        onReplacement?(item, new)
        look()
    }

    // MARK: The state

    private func state(of player: AVPlayer, _ current: AVPlayerItem?) -> PlaybackState {
        if player.status == .failed { return .failed(PlaybackFailure(player.error, of: current)) }
        guard let current else { return hasEnded ? .ended : .idle }
        if rescue.isDeciding { return .loading }
        if current.status == .failed { return .failed(PlaybackFailure(current.error, of: current)) }
        if player.timeControlStatus == .playing {
            hasEnded = false
            if current.status == .readyToPlay { return .playing }
        }
        if let failure { return .failed(PlaybackFailure(failure, of: current)) }
        if hasEnded { return .ended }
        if isStalled { return .stalled }
        if current.status == .unknown { return .loading }
        return player.timeControlStatus == .paused ? .paused : .waiting(player.reasonForWaitingToPlay)
    }

    private func publish(_ new: PlaybackState) {
        reporter.follow(player?.currentItem, new, isWanted: player.map { $0.rate != 0 } ?? false)
        guard new != state else { return }
        state = new
        broadcast.send(new)
    }
}
#endif
