public import Foundation
package import SpoolSystem

/// The key of a Boolean option: whether durations and seeks have to be precise.
public let AVURLAssetPreferPreciseDurationAndTimingKey = "AVURLAssetPreferPreciseDurationAndTimingKey"
/// The key of an option: the restrictions on references to other media.
public let AVURLAssetReferenceRestrictionsKey = "AVURLAssetReferenceRestrictionsKey"
/// The key of an option: the cookies that requests may send.
public let AVURLAssetHTTPCookiesKey = "AVURLAssetHTTPCookiesKey"
/// The key of a Boolean option: whether requests may use cellular networks.
public let AVURLAssetAllowsCellularAccessKey = "AVURLAssetAllowsCellularAccessKey"
/// The key of a Boolean option: whether requests may use expensive networks.
public let AVURLAssetAllowsExpensiveNetworkAccessKey = "AVURLAssetAllowsExpensiveNetworkAccessKey"
/// The key of a Boolean option: whether requests may use constrained networks.
public let AVURLAssetAllowsConstrainedNetworkAccessKey = "AVURLAssetAllowsConstrainedNetworkAccessKey"
/// The key of an option: the attribution of requests: the developer or the user.
public let AVURLAssetURLRequestAttributionKey = "AVURLAssetURLRequestAttributionKey"
/// The key of an option: the `User-Agent` of requests.
public let AVURLAssetHTTPUserAgentKey = "AVURLAssetHTTPUserAgentKey"
/// The key of an option: the identifier of the primary playback session.
public let AVURLAssetPrimarySessionIdentifierKey = "AVURLAssetPrimarySessionIdentifierKey"
/// The key of an option: the MIME type that replaces the server's.
@available(iOS 17, macOS 14, tvOS 17, watchOS 10, visionOS 1, *)
public let AVURLAssetOverrideMIMETypeKey = "AVURLAssetOverrideMIMETypeKey"

/// Timed media behind a URL.
open class AVURLAsset: AVAsset, @unchecked Sendable {
    // Safe to share: nothing changes after the initialiser. The loader and the table of associated
    // objects have locks.
    private let assetURL: URL
    private let loader: AVAssetResourceLoader
    /// The options of the initialiser.
    package let options: [String: Any]

    /// The number of calls of `cancelLoading()` on the main thread, which wait there for work in
    /// progress.
    package let cancelledOnMain = Locked(0)

    /// Makes an asset for a URL.
    public init(url URL: URL, options: [String: Any]? = nil) {
        assetURL = URL
        loader = AVAssetResourceLoader()
        self.options = options ?? [:]
        super.init()
        loader.assetWasMade()
    }

    /// Makes an asset for a URL, as the overlay of the SDK does.
    public convenience init(url URL: URL) {
        self.init(url: URL, options: nil)
    }

    /// Makes a copy that shares the loader.
    private init(copying other: AVURLAsset) {
        assetURL = other.assetURL
        loader = other.loader
        options = other.options
        super.init()
        loader.assetWasMade()
    }

    deinit {
        loader.assetIsGone(ObjectIdentifier(self))
    }

    open var url: URL { assetURL }

    /// The loader that asks a delegate for URLs that this asset cannot load itself.
    open var resourceLoader: AVAssetResourceLoader { loader }

    /// The system's own requests send it as `X-Playback-Session-Id`.
    open var httpSessionIdentifier: UUID { UUID(uuid: (0, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 0)) }

    open override func cancelLoading() {
        isLoadingCancelled.withLock { $0 = true }
        if Thread.isMainThread { cancelledOnMain.withLock { $0 += 1 } }
        loader.cancelAll(of: ObjectIdentifier(self))
    }

    /// Returns a plain asset with the same loader, also for a subclass.
    open override func copy(with zone: NSZone? = nil) -> Any { AVURLAsset(copying: self) }

    /// The types of systems before iOS 18.4, which do not open Ogg.
    open class func audiovisualTypes() -> [AVFileType] {
        let named: [AVFileType] = [
            .mov, .mp4, .m4v, .m4a, .mobile3GPP, .mobile3GPP2, .caf, .wav, .aiff, .aifc, .amr, .mp3, .au, .ac3, .eac3,
        ]
        let others = ["com.apple.protected-mpeg-4-audio-b", "org.xiph.flac", "public.aac-audio", "public.avi"]
        return named + others.map { AVFileType(rawValue: $0) }
    }
}
