#if !os(watchOS)
public import AVFoundation
public import Spool
import SpoolCore
package import SpoolSystem
#if canImport(Combine)
import Combine
#endif

/// Controls a player whose items come from a cache. It stops the loading of items that were
/// switched away, makes later items yield, resumes after a stall, and publishes one state.
///
/// ```swift
/// let controller = PlaybackController(player: player)
/// for await state in controller.states { show(state) }
/// ```
///
/// AVFoundation goes on loading an item that `advanceToNextItem()` or `replaceCurrentItem(with:)`
/// took away, until its asset is released. Without a controller, only the run-ahead limit of the
/// asset bounds that cost.
///
/// Create one controller for each player and keep it as long as it has to work. It does not retain
/// the player. For items that the cache serves it sets `automaticallyWaitsToMinimizeStalling`: to
/// false while they play, as AVFoundation's headers advise for delegates that load media, and to
/// true after a stall. Other items have the value that the player had before. `stallHandling`
/// leaves that to AVPlayer.
///
/// The controller never starts a player that the user, the app or the system paused.
@MainActor public final class PlaybackController {
    /// The state of the player.
    public private(set) var state = PlaybackState.idle
    /// Whether playback goes on after a stall, at its rate, once there are enough bytes. A pause in
    /// the meantime counts, whoever pauses the player. A stop without AVFoundation's notification
    /// of a stall counts as a pause.
    public var resumesAfterStall: Bool {
        get { stalls.resumes }
        set { stalls.resumes = newValue }
    }
    /// The part that handles stalls of items that the cache serves. A change takes effect at once.
    public var stallHandling: StallHandling {
        get { stalls.handling }
        set {
            stalls.handling = newValue
            look()
        }
    }
    /// The source for a player that is sent to an AirPlay receiver, which fetches the bytes itself.
    /// With nil, the app handles that.
    public var externalPlayback: ExternalPlaybackRoute? = .original

    /// The window that follows the player's queue, so that its next items are preloaded, with the
    /// fields, cookies and networks of their assets; see `preloadWindow(ahead:behind:_:)`.
    public var preloadWindow: PreloadWindow? {
        didSet {
            queue.preload(preloadWindow)
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
    public var rescuesItems = true {
        didSet { if !rescuesItems { rescue.left() } }
    }

    /// Called when the controller has replaced an item by another one of the same media: for an
    /// AirPlay receiver, back, when `play()` creates a failed item again, and for a rescue. The new
    /// item has the position, the settings and the selected tracks of the old one. Move outputs,
    /// observers and the metadata of AVKit to it.
    public var onReplacement: ((_ old: AVPlayerItem, _ new: AVPlayerItem) -> Void)?

    /// Whether the sound goes to an AirPlay receiver.
    package var hasAirPlayRoute: @MainActor () -> Bool = { AudioNotices.hasAirPlayRoute }
    /// The broadcast behind `states`.
    nonisolated package let broadcast = Broadcast(PlaybackState.idle)
    /// The broadcast behind `currentItems`.
    nonisolated package let itemBroadcast = Broadcast<CurrentItem?>(nil)
    /// Measures the items for `reports`.
    nonisolated package let reporter = PlaybackReporter()
    #if canImport(Combine)
    /// The publisher for SwiftUI. Views read it on any thread.
    nonisolated let willChange = Locked(ObservableObjectPublisher())
    #endif
    private(set) weak var player: AVPlayer?
    private let main: any Mailbox
    private var playerWatch: [NSKeyValueObservation] = []
    private var itemWatch: [NSKeyValueObservation] = []
    private var notices: NoticeTokens?
    private weak var watched: AVPlayerItem?
    private var lastWatched: ObjectIdentifier?
    /// The parts of the controller, each with its own state.
    let stalls: StallController
    private let queue: QueueUrgency
    private(set) lazy var swapper = ItemSwapper(main: main) { [weak self] old, new in
        self?.onReplacement?(old, new)
        self?.look()
    }
    private(set) lazy var rescue = PlaybackRescue(
        main: main, replace: { [weak self] old, new in self?.putOriginal(new, inPlaceOf: old) },
        decided: { [weak self] in self?.look() })
    private let rateNotices = NoticeTokens()
    private let audioNotices: NoticeTokens
    private var hasEnded = false
    /// The items in a row that a reset of the media services ended before they were ready.
    private var resetCount = 0
    private(set) var failure: NSError?
    /// Whether the player has stopped since the failure.
    private var stoppedByFailure = false
    /// The use of the cache that the player's items come from.
    private var use: CacheUse?

    /// Attaches a controller to `player`.
    public convenience init(player: AVPlayer) {
        self.init(player: player, main: DispatchMailbox(.main))
    }

    /// Attaches a controller to `player`.
    ///
    /// - Parameters:
    ///   - main: The mailbox of the main queue, or of a simulator in simulations.
    ///   - center: The center of the audio session's notifications.
    package init(player: AVPlayer, main: any Mailbox, center: NotificationCenter = .default) {
        self.player = player
        self.main = main
        audioNotices = NoticeTokens(center: center)
        stalls = StallController(player, main: main)
        queue = QueueUrgency(main: main)
        stalls.changed = { [weak self] in self?.look() }
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
        let (reasonKey, noteRequest) = (AVPlayer.rateDidChangeReasonKey, stalls.noteRequest)
        let requested = later { $0.rateRequested() }
        rateNotices.add(AVPlayer.rateDidChangeNotification, of: player) { notice in
            if noteRequest(notice.userInfo?[reasonKey] as? String) { requested() }
        }
        let (lost, look) = (later { $0.audioLost() }, later { $0.look() })
        for name in [AudioNotices.interruption, AudioNotices.routeChange] {
            audioNotices.add(name, of: nil) { notice in
                if AudioNotices.isLoss(notice) { lost() }
                look()
            }
        }
    }

    /// A stream of the current state and each later one. A slow consumer gets the newest state
    /// only. The stream ends with the controller.
    public var states: AsyncStream<PlaybackState> { broadcast.stream() }

    /// A stream of the player's current item and each later one, also when one item follows another
    /// without a pause. The stream ends with the controller.
    public var currentItems: AsyncStream<CurrentItem?> { itemBroadcast.stream() }

    deinit {
        use?.note(ObjectIdentifier(self), isPlaying: nil)
        broadcast.finish()
        itemBroadcast.finish()
        reporter.finish()
    }

    /// `AVError.Code.mediaServicesWereReset`, which macOS does not declare.
    private static let mediaServicesWereReset = -11819
    /// The most items in a row that are created again after a reset.
    private static let maximumResets = 3

    /// Whether an error, or the cause that AVFoundation hides beneath it, is a reset.
    private static func isReset(_ error: NSError) -> Bool {
        [error, error.userInfo[NSUnderlyingErrorKey] as? NSError].contains {
            $0?.domain == AVFoundationErrorDomain && $0?.code == mediaServicesWereReset
        }
    }

    // MARK: Controls

    /// Plays, as `play()` of the player. An item that failed is created again first, at its
    /// position.
    public func play() {
        failure = nil
        if let player, player.currentItem?.status == .failed { swapper.createAgain(player) }
        player?.play()
    }

    /// Pauses, as `pause()` of the player.
    package func pause() {
        player?.pause()
        look()
    }

    // MARK: Updates

    /// Returns a closure that runs `job` on the main queue, whatever thread calls it.
    private func later(_ job: @escaping @Sendable @MainActor (PlaybackController) -> Void) -> @Sendable () -> Void {
        { [weak self, main] in
            main.post { [weak self] in
                MainActor.assumeIsolated {
                    if let self { job(self) }
                }
            }
        }
    }

    /// Looks at everything, in this order: the item first, because the rest is about it; the rate
    /// before the bytes, so that a pause counts; then the replacements, a receiver before a rescue.
    private func look() {
        guard let player else { return publish(.idle) }
        let current = player.currentItem
        if current !== watched { itemChanged(to: current, player) }
        queue.follow(player)
        stalls.rateChanged()
        current?.cachedAsset?.checkDelegate()
        overcomeFailure(player, current)
        if let current { stalls.bytesMayHaveCome(current) }
        if let current {
            swapper.followReceiver(player, current, externalPlayback, hasAirPlayRoute: hasAirPlayRoute, rate: stalls.wantedRate)
        }
        if let current, current === player.currentItem, !recovers(current, player) { followRescue(player, current) }
        // A replacement has looked at the new item.
        guard current === player.currentItem else { return }
        notePlaying(player)
        publish(state(of: player, current))
    }

    private func itemChanged(to item: AVPlayerItem?, _ player: AVPlayer) {
        watched = item
        itemWatch = []
        notices = nil
        rescue.left()
        stalls.itemChanged(to: item)
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
        stalls.ended()
        look()
    }

    private func failed(_ item: ObjectIdentifier, _ error: NSError?) {
        guard isWatched(item) else { return }
        failure = error ?? NSError(domain: AVFoundationErrorDomain, code: AVError.Code.unknown.rawValue)
        stoppedByFailure = false
        stalls.failed()
        look()
    }

    /// Forgets a failure of an item that stopped by it and plays again, because it got its bytes
    /// after all.
    private func overcomeFailure(_ player: AVPlayer, _ item: AVPlayerItem?) {
        let isPlaying = player.timeControlStatus == .playing
        if isPlaying, stoppedByFailure, item?.status == .readyToPlay { failure = nil }
        if !isPlaying { stoppedByFailure = true }
    }

    private func stalled(_ item: ObjectIdentifier) {
        if isWatched(item) { stalls.stalled() }
        look()
    }

    /// Creates an item again that a reset of the media services ended, which no cache can cause. The
    /// app replaces a player that failed as well.
    ///
    /// - Returns: Whether the item ended by a reset.
    private func recovers(_ item: AVPlayerItem, _ player: AVPlayer) -> Bool {
        if item.status == .readyToPlay { resetCount = 0 }
        guard item.status == .failed, let error = item.error as NSError?, Self.isReset(error) else { return false }
        guard player.status != .failed, resetCount < Self.maximumResets else { return true }
        resetCount += 1
        failure = nil
        swapper.createAgain(player, rate: stalls.wantedRate)
        return true
    }

    // MARK: Rate and sound

    /// Handles a rate that the app, the user or the system set. A player does not begin to play an
    /// item that failed, so the item is created again.
    private func rateRequested() {
        stalls.rateChanged()
        guard let player, player.rate != 0, player.currentItem?.status == .failed, !rescue.isDeciding else { return }
        failure = nil
        swapper.createAgain(player)
    }

    private func audioLost() {
        // The user hears nothing of such a player, so nothing is lost.
        guard let player, !player.isMuted, player.volume > 0 else { return }
        stalls.audioLost()
        swapper.audioLost(player)
        look()
    }

    // MARK: The queue

    /// Makes the controller look at the queue after a change that is not the current item's. Safe
    /// to call on any thread.
    var queueChange: @Sendable () -> Void { later { $0.look() } }

    /// Tells the cache whether the app needs it in the background: the player plays, or waits to.
    private func notePlaying(_ player: AVPlayer) {
        guard let new = Self.use(of: player.currentItem) ?? use else { return }
        if use !== new {
            use?.note(ObjectIdentifier(self), isPlaying: nil)
            new.onFirstRequest(of: ObjectIdentifier(self), later { $0.look() })
        }
        use = new
        new.note(ObjectIdentifier(self), isPlaying: player.timeControlStatus != .paused || stalls.mayGoOn)
    }

    /// Returns the use of the cache that an item needs, also of one that plays through the proxy.
    private static func use(of item: AVPlayerItem?) -> CacheUse? {
        if let loader = AssetLoader.of(item) { return loader.core.door.use }
        guard let asset = item?.cachedAsset, asset.route == .loopback else { return nil }
        return asset.sources?.factory.door.use
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
        if stalls.isWaiting { return .stalled }
        if current.status == .unknown { return .loading }
        return player.timeControlStatus == .paused ? .paused : .waiting(player.reasonForWaitingToPlay)
    }

    private func publish(_ new: PlaybackState) {
        reporter.follow(player?.currentItem, new, isWanted: player.map { $0.rate != 0 } ?? false)
        guard new != state else { return }
        #if canImport(Combine)
        objectWillChange.send()
        #endif
        state = new
        broadcast.send(new)
    }
}
#endif
