#if !os(watchOS)
import AVFoundation

extension AVPlayerItem {
    /// Copies what an app can set on an item to another item of the same media.
    ///
    /// Outputs stay, because an output belongs to one item. A media selection stays as well: its
    /// options are those of one asset.
    @MainActor func copySettings(to other: AVPlayerItem) {
        other.audioTimePitchAlgorithm = audioTimePitchAlgorithm
        other.allowedAudioSpatializationFormats = allowedAudioSpatializationFormats
        other.audioMix = audioMix
        other.videoComposition = videoComposition
        other.seekingWaitsForVideoCompositionRendering = seekingWaitsForVideoCompositionRendering
        other.videoApertureMode = videoApertureMode
        other.appliesPerFrameHDRDisplayMetadata = appliesPerFrameHDRDisplayMetadata
        other.textStyleRules = textStyleRules
        other.forwardPlaybackEndTime = forwardPlaybackEndTime
        other.preferredForwardBufferDuration = preferredForwardBufferDuration
        other.canUseNetworkResourcesForLiveStreamingWhilePaused = canUseNetworkResourcesForLiveStreamingWhilePaused
        other.preferredPeakBitRate = preferredPeakBitRate
        other.preferredPeakBitRateForExpensiveNetworks = preferredPeakBitRateForExpensiveNetworks
        other.preferredMaximumResolution = preferredMaximumResolution
        other.preferredMaximumResolutionForExpensiveNetworks = preferredMaximumResolutionForExpensiveNetworks
        other.startsOnFirstEligibleVariant = startsOnFirstEligibleVariant
        other.variantPreferences = variantPreferences
    }
}
#endif
