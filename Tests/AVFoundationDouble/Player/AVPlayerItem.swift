public import Foundation
package import SpoolSystem

/// The playback of one asset: its timing and its readiness.
///
/// The state is behind a lock, so a simulated player can change it. It does so on the main queue.
@MainActor open class AVPlayerItem: NSObject, NSCopying {
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
        /// The limit of the bit rate on expensive networks.
        package var preferredPeakBitRateForExpensiveNetworks: Double = 0
        /// The limit of the resolution.
        package var preferredMaximumResolution: CGSize = CGSize(width: 0, height: 0)
        /// The limit of the resolution on expensive networks.
        package var preferredMaximumResolutionForExpensiveNetworks: CGSize = CGSize(width: 0, height: 0)
        /// Whether a playlist begins with its first variant.
        package var startsOnFirstEligibleVariant: Bool = false
        /// The preferences for variants.
        package var variantPreferences: AVVariantPreferences = []
        /// The algorithm for the pitch.
        package var audioTimePitchAlgorithm: AVAudioTimePitchAlgorithm = .timeDomain
        /// The layouts that may be spatialized.
        package var allowedAudioSpatializationFormats: AVAudioSpatializationFormats = .multichannel
        /// The volumes of the tracks.
        package var audioMix: AVAudioMix?
        /// The composition of the video.
        package var videoComposition: AVVideoComposition?
        /// Whether a seek waits for the composition.
        package var seekingWaitsForVideoCompositionRendering: Bool = false
        /// The visible part of a frame.
        package var videoApertureMode: AVVideoApertureMode = .cleanAperture
        /// Whether each frame's metadata apply.
        package var appliesPerFrameHDRDisplayMetadata: Bool = true
        /// The style of subtitles.
        package var textStyleRules: [AVTextStyleRule]?
        /// The time at which playback ends.
        package var forwardPlaybackEndTime: CMTime = .invalid
        /// The time at which reverse playback ends.
        package var reversePlaybackEndTime: CMTime = .invalid
        /// Whether a pause of a live stream keeps its distance from the edge.
        package var automaticallyPreservesTimeOffsetFromLive = false
        /// The distance from the edge of a live stream.
        package var configuredTimeOffsetFromLive: CMTime = .invalid
        /// How far from the time of the last seek the item may begin.
        package var seekTolerance: CMTime?
        /// The selected options, by their groups.
        package var selected: [ObjectIdentifier: AVMediaSelectionOption] = [:]
        /// The player that has the item in its list.
        weak var player: AVPlayer?
    }

    /// The asset, for simulations that are not on the main actor.
    // Safe to share: all assets of the double are safe to use from any thread.
    nonisolated(unsafe) package let mediaAsset: AVAsset
    /// The state, behind a lock.
    nonisolated package let state = Locked(State())
    /// The observers of the item's properties.
    nonisolated package let observers = ObserverTable<Property>()

    /// Makes an item for an asset, on any thread.
    package nonisolated init(of asset: AVAsset) {
        mediaAsset = asset
    }

    /// Makes an item for an asset. The keys are ignored.
    public convenience init(asset: AVAsset, automaticallyLoadedAssetKeys: [String]?) {
        self.init(of: asset)
    }

    /// Makes an item for an asset.
    public convenience init(asset: AVAsset) {
        self.init(of: asset)
    }

    /// Makes an item for an asset. The keys are ignored.
    public nonisolated convenience init(
        asset: any AVAsset & Sendable, automaticallyLoadedAssetKeys: [AVPartialAsyncProperty<AVAsset>]
    ) {
        self.init(of: asset)
    }

    /// Makes an item for an asset.
    public nonisolated convenience init(asset: any AVAsset & Sendable) {
        self.init(of: asset)
    }

    /// Makes an item for a URL.
    public nonisolated convenience init(url URL: URL) {
        self.init(of: AVURLAsset(url: URL))
    }

    /// Returns an item of the same asset that no player has.
    nonisolated open func copy(with zone: NSZone? = nil) -> Any { AVPlayerItem(of: mediaAsset) }

    /// Notes that a player has the item now. An item of another player raises an exception.
    nonisolated func entered(_ player: AVPlayer) {
        state.withLock { state in
            precondition(state.player == nil || state.player === player, "an item can be in one player at a time")
            state.player = player
        }
    }

    /// Notes that the item left its player.
    nonisolated func left(_ player: AVPlayer) {
        state.withLock { if $0.player === player { $0.player = nil } }
    }

    open var asset: AVAsset { mediaAsset }
    nonisolated open var status: Status { state.withLock { $0.status } }
    nonisolated open var error: (any Error)? { state.withLock { $0.error } }
    nonisolated open var duration: CMTime { state.withLock { $0.duration } }
    nonisolated open var isPlaybackLikelyToKeepUp: Bool { state.withLock { $0.isPlaybackLikelyToKeepUp } }
    nonisolated open var isPlaybackBufferFull: Bool { state.withLock { $0.isPlaybackBufferFull } }
    nonisolated open var isPlaybackBufferEmpty: Bool { state.withLock { $0.isPlaybackBufferEmpty } }

    /// The number of seconds that the player should read ahead. 0 lets it choose.
    nonisolated open var preferredForwardBufferDuration: TimeInterval {
        get { state.withLock { $0.preferredForwardBufferDuration } }
        set { state.withLock { $0.preferredForwardBufferDuration = newValue } }
    }

    nonisolated open var canUseNetworkResourcesForLiveStreamingWhilePaused: Bool {
        get { state.withLock { $0.canUseNetworkResourcesForLiveStreamingWhilePaused } }
        set { state.withLock { $0.canUseNetworkResourcesForLiveStreamingWhilePaused = newValue } }
    }

    nonisolated open var preferredPeakBitRate: Double {
        get { state.withLock { $0.preferredPeakBitRate } }
        set { state.withLock { $0.preferredPeakBitRate = newValue } }
    }

    // MARK: Settings, which have no effect here

    nonisolated open var preferredPeakBitRateForExpensiveNetworks: Double {
        get { state.withLock { $0.preferredPeakBitRateForExpensiveNetworks } }
        set { state.withLock { $0.preferredPeakBitRateForExpensiveNetworks = newValue } }
    }

    nonisolated open var preferredMaximumResolution: CGSize {
        get { state.withLock { $0.preferredMaximumResolution } }
        set { state.withLock { $0.preferredMaximumResolution = newValue } }
    }

    nonisolated open var preferredMaximumResolutionForExpensiveNetworks: CGSize {
        get { state.withLock { $0.preferredMaximumResolutionForExpensiveNetworks } }
        set { state.withLock { $0.preferredMaximumResolutionForExpensiveNetworks = newValue } }
    }

    nonisolated open var startsOnFirstEligibleVariant: Bool {
        get { state.withLock { $0.startsOnFirstEligibleVariant } }
        set { state.withLock { $0.startsOnFirstEligibleVariant = newValue } }
    }

    nonisolated open var variantPreferences: AVVariantPreferences {
        get { state.withLock { $0.variantPreferences } }
        set { state.withLock { $0.variantPreferences = newValue } }
    }

    nonisolated open var audioTimePitchAlgorithm: AVAudioTimePitchAlgorithm {
        get { state.withLock { $0.audioTimePitchAlgorithm } }
        set { state.withLock { $0.audioTimePitchAlgorithm = newValue } }
    }

    nonisolated open var allowedAudioSpatializationFormats: AVAudioSpatializationFormats {
        get { state.withLock { $0.allowedAudioSpatializationFormats } }
        set { state.withLock { $0.allowedAudioSpatializationFormats = newValue } }
    }

    open var audioMix: AVAudioMix? {
        get { state.withLock { $0.audioMix } }
        set { state.withLock { $0.audioMix = newValue } }
    }

    open var videoComposition: AVVideoComposition? {
        get { state.withLock { $0.videoComposition } }
        set { state.withLock { $0.videoComposition = newValue } }
    }

    nonisolated open var seekingWaitsForVideoCompositionRendering: Bool {
        get { state.withLock { $0.seekingWaitsForVideoCompositionRendering } }
        set { state.withLock { $0.seekingWaitsForVideoCompositionRendering = newValue } }
    }

    nonisolated open var videoApertureMode: AVVideoApertureMode {
        get { state.withLock { $0.videoApertureMode } }
        set { state.withLock { $0.videoApertureMode = newValue } }
    }

    nonisolated open var appliesPerFrameHDRDisplayMetadata: Bool {
        get { state.withLock { $0.appliesPerFrameHDRDisplayMetadata } }
        set { state.withLock { $0.appliesPerFrameHDRDisplayMetadata = newValue } }
    }

    nonisolated open var textStyleRules: [AVTextStyleRule]? {
        get { state.withLock { $0.textStyleRules } }
        set { state.withLock { $0.textStyleRules = newValue } }
    }

    nonisolated open var forwardPlaybackEndTime: CMTime {
        get { state.withLock { $0.forwardPlaybackEndTime } }
        set { state.withLock { $0.forwardPlaybackEndTime = newValue } }
    }

    nonisolated open var reversePlaybackEndTime: CMTime {
        get { state.withLock { $0.reversePlaybackEndTime } }
        set { state.withLock { $0.reversePlaybackEndTime = newValue } }
    }

    nonisolated open var automaticallyPreservesTimeOffsetFromLive: Bool {
        get { state.withLock { $0.automaticallyPreservesTimeOffsetFromLive } }
        set { state.withLock { $0.automaticallyPreservesTimeOffsetFromLive = newValue } }
    }

    nonisolated open var configuredTimeOffsetFromLive: CMTime {
        get { state.withLock { $0.configuredTimeOffsetFromLive } }
        set { state.withLock { $0.configuredTimeOffsetFromLive = newValue } }
    }

    /// Selects an option of a group of the item's asset, or none.
    nonisolated open func select(
        _ mediaSelectionOption: AVMediaSelectionOption?, in mediaSelectionGroup: AVMediaSelectionGroup
    ) {
        state.withLock { $0.selected[ObjectIdentifier(mediaSelectionGroup)] = mediaSelectionOption }
    }

    /// The selected options.
    nonisolated open var currentMediaSelection: AVMediaSelection { AVMediaSelection(state.withLock { $0.selected }) }

    // MARK: Time

    nonisolated open func currentTime() -> CMTime { state.withLock { $0.currentTime } }

    /// Seeks in an item that no player has yet. It begins there.
    ///
    /// An invalid time raises an exception, and so does a handler of an item that is not ready.
    nonisolated open func seek(to time: CMTime, completionHandler: (@Sendable (Bool) -> Void)? = nil) {
        precondition(time.isValid, "an item can't seek to a time that is not valid")
        precondition(completionHandler == nil || status == .readyToPlay, "an item that is not ready can't seek with a handler")
        state.withLock {
            $0.currentTime = time
            $0.startTime = time
        }
        completionHandler?(true)
    }

    /// The same, at a sync sample within the tolerances.
    nonisolated open func seek(
        to time: CMTime, toleranceBefore: CMTime, toleranceAfter: CMTime, completionHandler: (@Sendable (Bool) -> Void)? = nil
    ) {
        state.withLock { $0.seekTolerance = toleranceBefore.seconds > toleranceAfter.seconds ? toleranceBefore : toleranceAfter }
        seek(to: time, completionHandler: completionHandler)
    }

    /// Calls `changeHandler` on the main queue at each change of `keyPath`.
    public nonisolated func observe<Value>(
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
    fileprivate nonisolated static func property(_ keyPath: PartialKeyPath<AVPlayerItem>) -> Property? {
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
    public static let didPlayToEndTimeNotification = Notification.Name.AVPlayerItemDidPlayToEndTime
    /// Posted when an item failed before its end.
    public static let failedToPlayToEndTimeNotification = Notification.Name.AVPlayerItemFailedToPlayToEndTime
    /// Posted when an item stalled.
    public static let playbackStalledNotification = Notification.Name.AVPlayerItemPlaybackStalled
    /// Posted when an item's time jumped.
    public static let timeJumpedNotification = Notification.Name.AVPlayerItemTimeJumped
    /// Posted when an item has a new access log entry.
    public static let newAccessLogEntryNotification = Notification.Name("AVPlayerItemNewAccessLogEntryNotification")
    /// Posted when an item has a new error log entry.
    public static let newErrorLogEntryNotification = Notification.Name("AVPlayerItemNewErrorLogEntryNotification")
}

extension Notification.Name {
    /// Posted when an item has played to its end.
    public static let AVPlayerItemDidPlayToEndTime = Notification.Name("AVPlayerItemDidPlayToEndTimeNotification")
    /// Posted when an item failed before its end.
    public static let AVPlayerItemFailedToPlayToEndTime = Notification.Name("AVPlayerItemFailedToPlayToEndTimeNotification")
    /// Posted when an item stalled.
    public static let AVPlayerItemPlaybackStalled = Notification.Name("AVPlayerItemPlaybackStalledNotification")
    /// Posted when an item's time jumped.
    public static let AVPlayerItemTimeJumped = Notification.Name("AVPlayerItemTimeJumpedNotification")
    /// Posted when an item has a new access log entry.
    // Not the text of the constant above, as in the SDK of iOS 18.1.
    public static let AVPlayerItemNewAccessLogEntry = Notification.Name("AVPlayerItemNewAccessLogEntry")
    /// Posted when an item has a new error log entry.
    // Not the text of the constant above, as in the SDK of iOS 18.1.
    public static let AVPlayerItemNewErrorLogEntry = Notification.Name("AVPlayerItemNewErrorLogEntry")
}
