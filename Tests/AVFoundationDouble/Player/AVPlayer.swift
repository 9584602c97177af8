public import Foundation
package import SpoolSystem

/// A player of items.
///
/// By itself it only keeps its state. An attached simulated player loads, plays, stalls and ends.
@MainActor open class AVPlayer: NSObject {
    public enum Status: Int, Sendable {
        case unknown = 0
        case readyToPlay = 1
        case failed = 2
    }

    /// Whether the player plays, waits or is paused.
    public enum TimeControlStatus: Int, Sendable {
        case paused = 0
        case waitingToPlayAtSpecifiedRate = 1
        case playing = 2
    }

    /// The player's action at the end of an item.
    public enum ActionAtItemEnd: Int, Sendable {
        case advance = 0
        case pause = 1
        case none = 2
    }

    /// The reason why a player that should play waits.
    public struct WaitingReason: RawRepresentable, Hashable, Sendable {
        /// The name of the reason.
        public let rawValue: String

        /// Makes a reason from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The player waits for enough bytes to avoid a stall.
        public static let toMinimizeStalls = WaitingReason(rawValue: "AVPlayerWaitingToMinimizeStallsReason")
        /// The player measures the rate of loading.
        public static let evaluatingBufferingRate = WaitingReason(rawValue: "AVPlayerWaitingWhileEvaluatingBufferingRateReason")
        /// The player has no item.
        public static let noItemToPlay = WaitingReason(rawValue: "AVPlayerWaitingWithNoItemToPlayReason")
        /// The player waits for the other participants of a coordinated play.
        public static let waitingForCoordinatedPlayback = WaitingReason(rawValue: "AVPlayerWaitingForCoordinatedPlaybackReason")
        /// The player waits for the end of an interstitial.
        public static let interstitialEvent = WaitingReason(rawValue: "AVPlayerWaitingDuringInterstitialEventReason")
    }

    /// The properties whose changes can be observed.
    package nonisolated enum Property: Hashable, Sendable {
        case currentItem, rate, timeControlStatus, reasonForWaitingToPlay, status, error, isExternalPlaybackActive
    }

    /// The state of a player, behind its lock.
    package nonisolated struct State {
        /// The items, the playing one first. Only a queue has more than one.
        package var items: [AVPlayerItem] = []
        /// The requested rate. 0 pauses.
        package var rate: Float = 0
        /// The rate of `play()`.
        package var defaultRate: Float = 1
        /// Whether the player plays, waits or is paused.
        package var timeControlStatus = TimeControlStatus.paused
        /// The reason why the player waits, or nil.
        package var reasonForWaitingToPlay: WaitingReason?
        /// Whether the player waits for enough bytes before it plays.
        package var automaticallyWaitsToMinimizeStalling = true
        /// The action at the end of an item.
        package var actionAtItemEnd: ActionAtItemEnd
        /// Whether external playback is allowed.
        package var allowsExternalPlayback = true
        /// Whether an external device plays.
        package var isExternalPlaybackActive = false
        /// The readiness of the player.
        package var status = Status.unknown
        /// The error of a failed player.
        package var error: (any Error)?
        /// The volume, from 0 to 1.
        package var volume: Float = 1
        /// Whether the sound is muted.
        package var isMuted = false
        /// The machinery that carries out the calls.
        package weak var machinery: (any PlayerMachinery)?
    }

    /// The state, behind a lock.
    nonisolated package let state: Locked<State>
    /// The objects that are associated with this player.
    nonisolated package let associatedObjects = AssociatedObjects()
    /// The observers of the player's properties.
    nonisolated package let observers = ObserverTable<Property>()

    public nonisolated override init() {
        state = Locked(State(actionAtItemEnd: .pause))
    }

    /// Makes a player with one item.
    public nonisolated init(playerItem item: AVPlayerItem?) {
        state = Locked(State(items: item.map { [$0] } ?? [], actionAtItemEnd: .pause))
        super.init()
        item?.entered(self)
    }

    /// Makes a player with one item for a URL.
    public nonisolated convenience init(url URL: URL) {
        self.init(playerItem: AVPlayerItem(url: URL))
    }

    nonisolated init(items: [AVPlayerItem], actionAtItemEnd: ActionAtItemEnd) {
        precondition(Set(items).count == items.count, "an item can be in a queue once")
        state = Locked(State(items: items, actionAtItemEnd: actionAtItemEnd))
        super.init()
        for item in items { item.entered(self) }
    }

    // MARK: Items

    nonisolated open var currentItem: AVPlayerItem? { state.withLock { $0.items.first } }

    /// Plays `item` instead. The same item again has no effect. The loading of the previous item is
    /// not cancelled (C6).
    nonisolated open func replaceCurrentItem(with item: AVPlayerItem?) {
        let old = state.withLock { $0.items }
        if let item, old.first === item { return }
        precondition(item.map { !old.contains($0) } ?? true, "an item that is in the queue already can't become the current one")
        changeItems([.currentItem]) { $0 = (item.map { [$0] } ?? []) + $0.dropFirst() }
    }

    /// Changes the list of items, and notifies the observers of `names`.
    nonisolated func changeItems(_ names: Set<Property>, _ body: (inout [AVPlayerItem]) -> Void) {
        let (old, new) = state.withLock { state in
            let old = state.items
            body(&state.items)
            return (old, state.items)
        }
        for item in old where !new.contains(item) { item.left(self) }
        for item in new where !old.contains(item) { item.entered(self) }
        observers.tell(names)
        // An observer may release the player's last reference to an item.
        withExtendedLifetime(old) {}
        machinery?.itemsChanged()
    }

    nonisolated open var actionAtItemEnd: ActionAtItemEnd {
        get { state.withLock { $0.actionAtItemEnd } }
        set {
            precondition(newValue != .advance || self is AVQueuePlayer, "only a queue player advances at the end of an item")
            state.withLock { $0.actionAtItemEnd = newValue }
        }
    }

    // MARK: Playing

    nonisolated open func play() { rate = defaultRate }
    nonisolated open func pause() { rate = 0 }

    nonisolated open var rate: Float {
        get { state.withLock { $0.rate } }
        set { setRate(newValue) }
    }

    /// The same, for a simulation that is not on the main thread.
    ///
    /// - Parameter reason: The reason that the notification has. Nil posts none.
    nonisolated package func setRate(
        _ rate: Float, immediately: Bool = false, reason: RateDidChangeReason? = .setRateCalled
    ) {
        // A player that plays goes on at the new rate.
        change([.rate, .timeControlStatus, .reasonForWaitingToPlay]) { state in
            let plays = state.timeControlStatus == .playing && rate != 0
            state.rate = rate
            guard !plays else { return }
            state.timeControlStatus = rate == 0 ? .paused : .waitingToPlayAtSpecifiedRate
            state.reasonForWaitingToPlay = rate == 0 ? nil : state.items.isEmpty ? .noItemToPlay : .evaluatingBufferingRate
            // A player that does not wait to avoid stalls evaluates no rate, and plays at once.
            guard rate != 0, !state.items.isEmpty, immediately || !state.automaticallyWaitsToMinimizeStalling else { return }
            state.reasonForWaitingToPlay = nil
        }
        if let reason {
            NotificationCenter.default.post(
                name: Self.rateDidChangeName, object: self, userInfo: [Self.reasonKey: reason.rawValue])
        }
        machinery?.rateChanged(immediately: immediately)
    }

    /// The reasons of a change of the rate, as a notification reports them.
    public struct RateDidChangeReason: RawRepresentable, Hashable, Sendable {
        /// The name of the reason.
        public let rawValue: String

        /// Makes a reason from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The app, or a control of the system, set the rate.
        public static let setRateCalled = RateDidChangeReason(rawValue: "AVPlayerRateDidChangeReasonSetRateCalled")
        /// A rate could not be set.
        public static let setRateFailed = RateDidChangeReason(rawValue: "AVPlayerRateDidChangeReasonSetRateFailed")
        /// The audio session was interrupted.
        public static let audioSessionInterrupted = RateDidChangeReason(rawValue: "AVPlayerRateDidChangeReasonAudioSessionInterrupted")
        /// The app went to the background.
        public static let appBackgrounded = RateDidChangeReason(rawValue: "AVPlayerRateDidChangeReasonAppBackgrounded")
        /// The player reached the live edge. The SDK has a constant for it from iOS 26.4 on. Its
        /// text is not known here.
        package static let reachedLiveEdge = RateDidChangeReason(rawValue: "the live edge was reached")
    }

    /// Posted when the rate changed.
    public static let rateDidChangeNotification = rateDidChangeName
    /// The key of the reason in the user info of that notification.
    public static let rateDidChangeReasonKey = reasonKey
    // The double posts on any thread, and the constants above belong to the main actor.
    private nonisolated static let rateDidChangeName = Notification.Name("AVPlayerRateDidChangeNotification")
    private nonisolated static let reasonKey = "AVPlayerRateDidChangeReasonKey"

    /// The system pauses the player, as at an interruption, when headphones are pulled out, or when
    /// the app goes to the background.
    nonisolated package func pauseBySystem(_ reason: RateDidChangeReason?) { setRate(0, reason: reason) }

    nonisolated open var defaultRate: Float {
        get { state.withLock { $0.defaultRate } }
        set { state.withLock { $0.defaultRate = newValue } }
    }

    /// Plays at once with the bytes that are there.
    nonisolated open func playImmediately(atRate rate: Float) { setRate(rate, immediately: true) }

    nonisolated open var timeControlStatus: TimeControlStatus { state.withLock { $0.timeControlStatus } }
    nonisolated open var reasonForWaitingToPlay: WaitingReason? { state.withLock { $0.reasonForWaitingToPlay } }

    nonisolated open var automaticallyWaitsToMinimizeStalling: Bool {
        get { state.withLock { $0.automaticallyWaitsToMinimizeStalling } }
        set { state.withLock { $0.automaticallyWaitsToMinimizeStalling = newValue } }
    }

    nonisolated open func currentTime() -> CMTime { currentItem?.currentTime() ?? .zero }

    nonisolated open func seek(to time: CMTime) { seek(to: time, completionHandler: { _ in }) }

    nonisolated open func seek(to time: CMTime, completionHandler: @escaping @Sendable (Bool) -> Void) {
        guard let machinery else { return completionHandler(false) }
        machinery.seek(to: time, completion: completionHandler)
    }

    nonisolated open func seek(to time: CMTime, toleranceBefore: CMTime, toleranceAfter: CMTime) { seek(to: time) }

    nonisolated open func seek(
        to time: CMTime, toleranceBefore: CMTime, toleranceAfter: CMTime, completionHandler: @escaping @Sendable (Bool) -> Void
    ) {
        seek(to: time, completionHandler: completionHandler)
    }

    // MARK: Outcome and output

    nonisolated open var status: Status { state.withLock { $0.status } }
    nonisolated open var error: (any Error)? { state.withLock { $0.error } }

    @available(visionOS, unavailable)
    @available(watchOS, unavailable)
    nonisolated open var allowsExternalPlayback: Bool {
        get { state.withLock { $0.allowsExternalPlayback } }
        set { state.withLock { $0.allowsExternalPlayback = newValue } }
    }

    @available(visionOS, unavailable)
    @available(watchOS, unavailable)
    nonisolated open var isExternalPlaybackActive: Bool { state.withLock { $0.isExternalPlaybackActive } }

    nonisolated open var volume: Float {
        get { state.withLock { $0.volume } }
        set { state.withLock { $0.volume = newValue } }
    }

    nonisolated open var isMuted: Bool {
        get { state.withLock { $0.isMuted } }
        set { state.withLock { $0.isMuted = newValue } }
    }

    // MARK: Observers

    /// Calls `changeHandler` on the main queue at each change of `keyPath`.
    public nonisolated func observe<Value>(
        _ keyPath: KeyPath<AVPlayer, Value>, options: NSKeyValueObservingOptions = [],
        changeHandler: @escaping @Sendable (AVPlayer, NSKeyValueObservedChange<Value>) -> Void
    ) -> NSKeyValueObservation {
        observers.observe(self, keyPath, as: Self.property(keyPath), options, changeHandler)
    }

    /// Changes the state and notifies the observers of `names`. Call it on the main queue.
    nonisolated package func change(_ names: Set<Property>, _ body: (inout State) -> Void) {
        state.withLock { body(&$0) }
        observers.tell(names)
    }

    /// The machinery that carries out the calls.
    nonisolated package var machinery: (any PlayerMachinery)? {
        get { state.withLock { $0.machinery } }
        set { state.withLock { $0.machinery = newValue } }
    }
}

extension AVPlayer {
    fileprivate nonisolated static func property(_ keyPath: PartialKeyPath<AVPlayer>) -> Property? {
        switch keyPath {
        case \AVPlayer.currentItem: .currentItem
        case \AVPlayer.rate: .rate
        case \AVPlayer.timeControlStatus: .timeControlStatus
        case \AVPlayer.reasonForWaitingToPlay: .reasonForWaitingToPlay
        case \AVPlayer.status: .status
        case \AVPlayer.error: .error
        #if !os(visionOS)
        case \AVPlayer.isExternalPlaybackActive: .isExternalPlaybackActive
        #endif
        default: nil
        }
    }
}

/// The part behind a player that carries out the app's calls.
package protocol PlayerMachinery: AnyObject, Sendable {
    func rateChanged(immediately: Bool)
    func itemsChanged()
    func seek(to time: CMTime, completion: @escaping @Sendable (Bool) -> Void)
}
