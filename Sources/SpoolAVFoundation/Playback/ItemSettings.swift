#if !os(watchOS)
import AVFoundation
import SpoolSystem

extension AVPlayerItem {
    /// Copies what an app can set on an item to another item of the same media.
    ///
    /// Outputs stay, because an output belongs to one item.
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
        other.reversePlaybackEndTime = reversePlaybackEndTime
        other.automaticallyPreservesTimeOffsetFromLive = automaticallyPreservesTimeOffsetFromLive
        other.configuredTimeOffsetFromLive = configuredTimeOffsetFromLive
        other.preferredForwardBufferDuration = preferredForwardBufferDuration
        other.canUseNetworkResourcesForLiveStreamingWhilePaused = canUseNetworkResourcesForLiveStreamingWhilePaused
        other.preferredPeakBitRate = preferredPeakBitRate
        other.preferredPeakBitRateForExpensiveNetworks = preferredPeakBitRateForExpensiveNetworks
        other.preferredMaximumResolution = preferredMaximumResolution
        other.preferredMaximumResolutionForExpensiveNetworks = preferredMaximumResolutionForExpensiveNetworks
        other.startsOnFirstEligibleVariant = startsOnFirstEligibleVariant
        other.variantPreferences = variantPreferences
    }

    /// Selects the same audio and subtitles in another item of the same media, once their groups
    /// are loaded. An option is of one asset, so its property list finds the one of the other.
    ///
    /// An item that was never ready has no selection of the user.
    @MainActor func copySelection(to other: AVPlayerItem, on main: any Mailbox) {
        guard status != .unknown else { return }
        for characteristic in [AVMediaCharacteristic.audible, .legible] {
            asset.loadMediaSelectionGroup(for: characteristic) { [weak other] group, _ in
                guard let group else { return }
                let handed = Handed(group)
                main.post { [weak other] in
                    MainActor.assumeIsolated {
                        guard let other else { return }
                        let option = self.currentMediaSelection.selectedMediaOption(in: handed.value)
                        other.select(option?.propertyList(), of: characteristic, on: main)
                    }
                }
            }
        }
    }

    /// Selects the option with a property list, or none with nil.
    @MainActor private func select(_ list: Any?, of characteristic: AVMediaCharacteristic, on main: any Mailbox) {
        let list = Handed(list)
        asset.loadMediaSelectionGroup(for: characteristic) { [weak self] group, _ in
            guard let group else { return }
            let handed = Handed(group)
            main.post { [weak self] in
                MainActor.assumeIsolated {
                    let option = list.value.map { handed.value.mediaSelectionOption(withPropertyList: $0) }
                    // An option that the other item lacks leaves its own choice.
                    if let option, option == nil { return }
                    self?.select(option ?? nil, in: handed.value)
                }
            }
        }
    }
}
#endif
