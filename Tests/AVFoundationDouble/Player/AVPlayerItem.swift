public import Foundation
package import SpoolSystem

/// The playback of one asset: its timing and its readiness.
///
/// The state is behind a lock, so a simulated player can change it. It does so on the main queue.
@MainActor open class AVPlayerItem: NSObject {
    public enum Status: Int, Sendable {
        case unknown = 0
        case readyToPlay = 1
        case failed = 2
    }

    /// The properties whose changes can be observed.
    package nonisolated enum Property: Hashable, Sendable {
        case status, error, duration, isPlaybackLikelyToKeepUp, isPlaybackBufferFull, isPlaybackBufferEmpty
    }

    package nonisolated struct State {
        package var status = Status.unknown
        package var error: (any Error)?
        package var duration = CMTime.indefinite
        package var isPlaybackLikelyToKeepUp = false
        package var isPlaybackBufferFull = false
        package var isPlaybackBufferEmpty = true
        package var preferredForwardBufferDuration: TimeInterval = 0
        package var currentTime = CMTime.zero
        package var canUseNetworkResourcesForLiveStreamingWhilePaused = false
        package var preferredPeakBitRate: Double = 0
    }

    nonisolated package let mediaAsset: AVAsset
    nonisolated package let state = Locked(State())
    nonisolated package let observers = ObserverTable<Property>()

    public nonisolated init(asset: AVAsset, automaticallyLoadedAssetKeys: [String]?) {
        mediaAsset = asset
    }

    public nonisolated convenience init(asset: AVAsset) {
        self.init(asset: asset, automaticallyLoadedAssetKeys: ["duration"])
    }

    public nonisolated convenience init(url URL: URL) {
        self.init(asset: AVURLAsset(url: URL))
    }

    open var asset: AVAsset { mediaAsset }
    open var status: Status { state.withLock { $0.status } }
    open var error: (any Error)? { state.withLock { $0.error } }
    open var duration: CMTime { state.withLock { $0.duration } }
    open var isPlaybackLikelyToKeepUp: Bool { state.withLock { $0.isPlaybackLikelyToKeepUp } }
    open var isPlaybackBufferFull: Bool { state.withLock { $0.isPlaybackBufferFull } }
    open var isPlaybackBufferEmpty: Bool { state.withLock { $0.isPlaybackBufferEmpty } }

    /// The number of seconds that the player should read ahead. 0 lets it choose.
    open var preferredForwardBufferDuration: TimeInterval {
        get { state.withLock { $0.preferredForwardBufferDuration } }
        set { state.withLock { $0.preferredForwardBufferDuration = newValue } }
    }

    open var canUseNetworkResourcesForLiveStreamingWhilePaused: Bool {
        get { state.withLock { $0.canUseNetworkResourcesForLiveStreamingWhilePaused } }
        set { state.withLock { $0.canUseNetworkResourcesForLiveStreamingWhilePaused = newValue } }
    }

    open var preferredPeakBitRate: Double {
        get { state.withLock { $0.preferredPeakBitRate } }
        set { state.withLock { $0.preferredPeakBitRate = newValue } }
    }

    open func currentTime() -> CMTime { state.withLock { $0.currentTime } }

    /// Calls `changeHandler` on the main queue at each change of `keyPath`.
    public func observe<Value>(
        _ keyPath: KeyPath<AVPlayerItem, Value>, options: NSKeyValueObservingOptions = [],
        changeHandler: @escaping @Sendable (AVPlayerItem, NSKeyValueObservedChange<Value>) -> Void
    ) -> NSKeyValueObservation {
        observers.observe(self, keyPath, as: Self.property(keyPath), options, changeHandler)
    }

    /// Changes the state and notifies the observers of `names`. Call it on the main queue.
    nonisolated package func change(_ names: Set<Property>, _ body: (inout State) -> Void) {
        state.withLock { body(&$0) }
        observers.tell(names)
    }
}

extension AVPlayerItem {
    fileprivate static func property(_ keyPath: PartialKeyPath<AVPlayerItem>) -> Property? {
        switch keyPath {
        case \AVPlayerItem.status: .status
        case \AVPlayerItem.error: .error
        case \AVPlayerItem.duration: .duration
        case \AVPlayerItem.isPlaybackLikelyToKeepUp: .isPlaybackLikelyToKeepUp
        case \AVPlayerItem.isPlaybackBufferFull: .isPlaybackBufferFull
        case \AVPlayerItem.isPlaybackBufferEmpty: .isPlaybackBufferEmpty
        default: nil
        }
    }
}

/// The key of the error in the user info of `failedToPlayToEndTime`.
public let AVPlayerItemFailedToPlayToEndTimeErrorKey = "AVPlayerItemFailedToPlayToEndTimeErrorKey"

extension AVPlayerItem {
    public nonisolated static let didPlayToEndTimeNotification = Notification.Name("AVPlayerItemDidPlayToEndTimeNotification")
    public nonisolated static let failedToPlayToEndTimeNotification = Notification.Name("AVPlayerItemFailedToPlayToEndTimeNotification")
    public nonisolated static let playbackStalledNotification = Notification.Name("AVPlayerItemPlaybackStalledNotification")
    public nonisolated static let timeJumpedNotification = Notification.Name("AVPlayerItemTimeJumpedNotification")
    public nonisolated static let newAccessLogEntryNotification = Notification.Name("AVPlayerItemNewAccessLogEntryNotification")
    public nonisolated static let newErrorLogEntryNotification = Notification.Name("AVPlayerItemNewErrorLogEntryNotification")
}

extension Notification.Name {
    public static let AVPlayerItemDidPlayToEndTime = AVPlayerItem.didPlayToEndTimeNotification
    public static let AVPlayerItemFailedToPlayToEndTime = AVPlayerItem.failedToPlayToEndTimeNotification
    public static let AVPlayerItemPlaybackStalled = AVPlayerItem.playbackStalledNotification
    public static let AVPlayerItemTimeJumped = AVPlayerItem.timeJumpedNotification
    public static let AVPlayerItemNewAccessLogEntry = AVPlayerItem.newAccessLogEntryNotification
    public static let AVPlayerItemNewErrorLogEntry = AVPlayerItem.newErrorLogEntryNotification
}
