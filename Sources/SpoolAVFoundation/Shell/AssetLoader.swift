#if !os(watchOS)
import AVFoundation
import Spool
import SpoolSystem

/// What AVFoundation calls: the delegate of one asset's resource loader.
///
/// It only hands calls on to the core's mailbox. AVFoundation holds its delegate weakly; the asset and its resource loader hold this one,
/// so a copied asset, a looper's say, keeps it alive, and when the last of them goes, loading ends at once.
final class AssetLoader: NSObject, AVAssetResourceLoaderDelegate, Sendable {
    let core: LoaderCore
    let report: LoaderReport
    private let mailbox: any Mailbox
    private let onChallenge: ChallengeHandler?
    private let priority = Locked(LoadingPriority.playing)

    typealias ChallengeHandler = @Sendable (URLAuthenticationChallenge) -> Bool

    init(core: LoaderCore, onChallenge: ChallengeHandler?) {
        self.core = core
        report = core.report
        mailbox = core.mailbox
        self.onChallenge = onChallenge
        super.init()
    }

    deinit {
        mailbox.post { [core] in core.end() }
    }

    /// Makes this the delegate of the asset's loader, for as long as that lives.
    func attach(to asset: AVURLAsset, on queue: DispatchQueue) {
        asset.resourceLoader.setDelegate(self, queue: queue)
        objc_setAssociatedObject(asset.resourceLoader, AttachmentKey.pointer, self, .OBJC_ASSOCIATION_RETAIN)
    }

    var time: any TimeSource { core.cache.environment.time }

    /// How urgent its bytes are; told to the core when that changes.
    func prioritized(_ priority: LoadingPriority) {
        let isNew = self.priority.withLock { known in
            defer { known = priority }
            return known != priority
        }
        if isNew { mailbox.post { [core] in core.prioritized(priority) } }
    }

    /// How long the item plays, once the player knows.
    func durationLearnt(seconds: Double) {
        guard seconds.isFinite, seconds > 0 else { return }
        mailbox.post { [core] in core.durationLearnt(seconds: seconds) }
    }

    /// The network or the app came back: what waits to be tried again is tried now.
    func tryAgain() {
        mailbox.post { [core] in core.tryAgain() }
    }

    // MARK: AVAssetResourceLoaderDelegate

    func resourceLoader(
        _ resourceLoader: AVAssetResourceLoader, shouldWaitForLoadingOfRequestedResource loadingRequest: AVAssetResourceLoadingRequest
    ) -> Bool {
        let request = Handed(loadingRequest)
        mailbox.post { [core] in core.requested(request.value) }
        return true
    }

    /// Answered like the first time: with what is known by then.
    func resourceLoader(
        _ resourceLoader: AVAssetResourceLoader, shouldWaitForRenewalOfRequestedResource renewalRequest: AVAssetResourceRenewalRequest
    ) -> Bool {
        let request = Handed(renewalRequest)
        mailbox.post { [core] in core.requested(request.value) }
        return true
    }

    func resourceLoader(_ resourceLoader: AVAssetResourceLoader, didCancel loadingRequest: AVAssetResourceLoadingRequest) {
        let request = Handed(loadingRequest)
        mailbox.post { [core] in core.cancelled(request.value) }
    }

    /// The app's business; without a handler the system does what it does by itself.
    func resourceLoader(
        _ resourceLoader: AVAssetResourceLoader, shouldWaitForResponseTo authenticationChallenge: URLAuthenticationChallenge
    ) -> Bool {
        onChallenge?(authenticationChallenge) ?? false
    }
}

/// The address under which a resource loader holds its delegate.
private final class AttachmentKey: Sendable {
    private static let object = AttachmentKey()
    static var pointer: UnsafeRawPointer { UnsafeRawPointer(Unmanaged.passUnretained(object).toOpaque()) }
}
#endif
