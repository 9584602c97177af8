#if !os(watchOS)
import AVFoundation
import Spool
import SpoolCore
import SpoolSystem

/// The delegate of one asset's resource loader, which AVFoundation calls.
///
/// It only passes calls on to the core's mailbox. AVFoundation holds its delegate weakly. The asset
/// and its resource loader hold this object, so a copied asset, such as a looper's, keeps it alive.
/// When the last of them is released, loading ends at once.
final class AssetLoader: NSObject, AVAssetResourceLoaderDelegate, Sendable {
    let core: LoaderCore
    let report: LoaderReport
    let queue: LoaderQueue
    private let mailbox: any Mailbox
    private let onChallenge: ChallengeHandler?
    private let onOtherRequest: RequestHandler?
    private let customScheme: String
    private let lists = Locked(Lists())

    typealias ChallengeHandler = @Sendable (URLAuthenticationChallenge) -> Bool
    typealias RequestHandler = @Sendable (AVAssetResourceLoadingRequest) -> Bool

    init(
        core: LoaderCore, queue: LoaderQueue, customScheme: String, onChallenge: ChallengeHandler?, onOtherRequest: RequestHandler?
    ) {
        self.queue = queue
        self.customScheme = customScheme.lowercased()
        self.onOtherRequest = onOtherRequest
        self.core = core
        report = core.report
        mailbox = core.mailbox
        self.onChallenge = onChallenge
        super.init()
    }

    deinit {
        mailbox.post { [core] in core.end() }
    }

    var time: any TimeSource { core.cache.environment.time }

    /// The lists of controllers that have the asset.
    private struct Lists: Equatable {
        var wishes: [ObjectIdentifier: LoadingPriority] = [:]
        var priority = LoadingPriority.playing
        var requestCount = 0
    }

    /// Sets the urgency of the asset's bytes in one list, or takes the asset out of it. The highest
    /// urgency of all lists counts.
    ///
    /// - Returns: The number of requests so far.
    @discardableResult
    func prioritized(_ wish: LoadingPriority?, in list: ObjectIdentifier) -> Int {
        let (priority, isListed, count) = lists.withLock { lists in
            let before = lists
            lists.wishes[list] = wish
            if !lists.wishes.isEmpty { lists.priority = lists.wishes.values.contains(.playing) ? .playing : .upcoming }
            return (lists == before ? nil : lists.priority, !lists.wishes.isEmpty, lists.requestCount)
        }
        if let priority { mailbox.post { [core] in core.listed(isListed, priority) } }
        return count
    }

    /// Takes the asset out of a list whose player has no controller any more.
    func controllerIsGone(list: ObjectIdentifier) {
        prioritized(nil, in: list)
        mailbox.post { [core] in core.noteUncontrolled() }
    }

    /// Stops the delivery of bytes until the next request.
    ///
    /// - Parameter count: The number of requests when the asset left its list. Another reader has
    ///   asked since if there are more. It goes on, and so does the player of another list.
    func park(ifRequestCountIs count: Int? = nil) {
        let isParked = lists.withLock { lists in
            guard count == nil || (lists.wishes.isEmpty && lists.requestCount == count) else { return false }
            lists.priority = .parked
            return true
        }
        if isParked { mailbox.post { [core] in core.prioritized(.parked) } }
    }

    /// Sets the item's duration, once the player has it.
    func durationLearnt(seconds: Double) {
        guard seconds.isFinite, seconds > 0 else { return }
        mailbox.post { [core] in core.durationLearnt(seconds: seconds) }
    }

    /// Retries at once, because the network or the app came back.
    func tryAgain() {
        mailbox.post { [core] in core.tryAgain() }
    }

    // MARK: AVAssetResourceLoaderDelegate

    func resourceLoader(
        _ resourceLoader: AVAssetResourceLoader, shouldWaitForLoadingOfRequestedResource loadingRequest: AVAssetResourceLoadingRequest
    ) -> Bool {
        // Some systems ask the delegate also for the original URL, after a redirect to it. A second
        // redirect to itself would never end.
        if ["http", "https"].contains(loadingRequest.request.url?.scheme?.lowercased()) { return false }
        guard isOwn(loadingRequest) else { return onOtherRequest?(loadingRequest) == true }
        let request = Handed(loadingRequest)
        lists.withLock { $0.requestCount += 1 }
        mailbox.post { [core] in core.requested(request.value) }
        return true
    }

    /// Whether a request is for the bytes of the asset. Others are for keys, such as `skd:` URLs.
    private func isOwn(_ request: AVAssetResourceLoadingRequest) -> Bool {
        guard let scheme = request.request.url?.scheme?.lowercased() else { return true }
        return scheme == customScheme
    }

    /// A renewal is answered like the first request, after the app made a fresh URL.
    func resourceLoader(
        _ resourceLoader: AVAssetResourceLoader, shouldWaitForRenewalOfRequestedResource renewalRequest: AVAssetResourceRenewalRequest
    ) -> Bool {
        let request = Handed(renewalRequest)
        mailbox.post { [core] in core.renewalRequested(request.value) }
        return true
    }

    func resourceLoader(_ resourceLoader: AVAssetResourceLoader, didCancel loadingRequest: AVAssetResourceLoadingRequest) {
        let request = Handed(loadingRequest)
        mailbox.post { [core] in core.cancelled(request.value) }
    }

    /// Passes a challenge to the app's handler. Without one, the system applies its default.
    func resourceLoader(
        _ resourceLoader: AVAssetResourceLoader, shouldWaitForResponseTo authenticationChallenge: URLAuthenticationChallenge
    ) -> Bool {
        onChallenge?(authenticationChallenge) == true
    }
}

extension AVURLAsset {
    /// Makes an object the delegate of the resource loader, which then keeps it alive.
    func keep(_ delegate: some AVAssetResourceLoaderDelegate, on queue: DispatchQueue) {
        resourceLoader.setDelegate(delegate, queue: queue)
        Attachment.keep(delegate, by: resourceLoader)
    }
}

/// An object that another one keeps alive. An object has one at most.
final class Attachment: Sendable {
    private static let key = Attachment()
    private static var pointer: UnsafeRawPointer { UnsafeRawPointer(Unmanaged.passUnretained(key).toOpaque()) }

    static func keep(_ object: AnyObject, by owner: AnyObject) {
        objc_setAssociatedObject(owner, pointer, object, .OBJC_ASSOCIATION_RETAIN)
    }

    /// Returns the object that `owner` keeps, or nil.
    static func of(_ owner: AnyObject) -> Any? { objc_getAssociatedObject(owner, pointer) }
}
#endif
