#if !os(watchOS)
import AVFoundation
import Spool
import SpoolCore

extension CachingAVURLAsset {
    /// Reports a resource-loader delegate of the app that replaced the loader of this asset.
    ///
    /// AVFoundation has no call-back for that, so controllers and readers of `lastError` look.
    func checkDelegate() {
        guard let loader, let key, resourceLoader.delegate !== loader else { return }
        let words = "the app replaced the asset's resource-loader delegate; use CachingAssetFactory.onOtherRequest or AVContentKeySession"
        guard loader.report.noteOnce(CacheError(.delegateReplaced, words, key: key)) else { return }
        loader.core.cache.record(.degradedToPassthrough(key, reason: words))
    }
}
#endif
