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

    /// The state of an item, behind its lock.
    package nonisolated struct State {
        /// The readiness of the item.
        package var status = Status.unknown
        /// The error of a failed item.
        package var error: (any Error)?
        /// The duration of the media.
        package var duration = CMTime.indefinite
        /// Whether the item can play without a stall soon.
        package var isPlaybackLikelyToKeepUp = false
        /// Whether the buffer is full.
        package var isPlaybackBufferFull = false
        /// Whether the buffer is empty.
        package var isPlaybackBufferEmpty = true
        /// The number of seconds to read ahead, or 0 for the player's choice.
        package var preferredForwardBufferDuration: TimeInterval = 0
        /// The position at which the item begins, after a seek before its player had it.
        package var startTime: CMTime?
        /// Whether the loading of the item's asset was cancelled while the item used it. Such an item
        /// fails when a player has it again (P1 of the directory's README).
        package var isCancelled = false
        /// The playing position.
        package var currentTime = CMTime.zero
        /// Whether a paused live stream may use the network.
        package var canUseNetworkResourcesForLiveStreamingWhilePaused = false
        /// The preferred limit of the bit rate.
        package var preferredPeakBitRate: Double = 0
    }

    /// The asset, for simulations that are not on the main actor.
    nonisolated package let mediaAsset: AVAsset
    /// The state, behind a lock.
    nonisolated package let state = Locked(State())
    /// The observers of the item's properties.
    nonisolated package let observers = ObserverTable<Property>()

    /// Makes an item for an asset. The keys are ignored.
    public nonisolated init(asset: AVAsset, automaticallyLoadedAssetKeys: [String]?) {
        mediaAsset = asset
    }

    /// Makes an item for an asset.
    public nonisolated convenience init(asset: AVAsset) {
        self.init(asset: asset, automaticallyLoadedAssetKeys: ["duration"])
    }

    /// Makes an item for a URL.
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

    /// Seeks in an item that no player has yet. It begins there.
    open func seek(to time: CMTime, completionHandler: (@Sendable (Bool) -> Void)?) {
        state.withLock {
            $0.currentTime = time
            $0.startTime = time
        }
        completionHandler?(true)
    }

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
    /// Posted when an item has played to its end.
    public nonisolated static let didPlayToEndTimeNotification = Notification.Name("AVPlayerItemDidPlayToEndTimeNotification")
    /// Posted when an item failed before its end.
    public nonisolated static let failedToPlayToEndTimeNotification = Notification.Name("AVPlayerItemFailedToPlayToEndTimeNotification")
    /// Posted when an item stalled.
    public nonisolated static let playbackStalledNotification = Notification.Name("AVPlayerItemPlaybackStalledNotification")
    /// Posted when an item's time jumped.
    public nonisolated static let timeJumpedNotification = Notification.Name("AVPlayerItemTimeJumpedNotification")
    /// Posted when an item has a new access log entry.
    public nonisolated static let newAccessLogEntryNotification = Notification.Name("AVPlayerItemNewAccessLogEntryNotification")
    /// Posted when an item has a new error log entry.
    public nonisolated static let newErrorLogEntryNotification = Notification.Name("AVPlayerItemNewErrorLogEntryNotification")
}

extension Notification.Name {
    /// Posted when an item has played to its end.
    public static let AVPlayerItemDidPlayToEndTime = AVPlayerItem.didPlayToEndTimeNotification
    /// Posted when an item failed before its end.
    public static let AVPlayerItemFailedToPlayToEndTime = AVPlayerItem.failedToPlayToEndTimeNotification
    /// Posted when an item stalled.
    public static let AVPlayerItemPlaybackStalled = AVPlayerItem.playbackStalledNotification
    /// Posted when an item's time jumped.
    public static let AVPlayerItemTimeJumped = AVPlayerItem.timeJumpedNotification
    /// Posted when an item has a new access log entry.
    public static let AVPlayerItemNewAccessLogEntry = AVPlayerItem.newAccessLogEntryNotification
    /// Posted when an item has a new error log entry.
    public static let AVPlayerItemNewErrorLogEntry = AVPlayerItem.newErrorLogEntryNotification
}
