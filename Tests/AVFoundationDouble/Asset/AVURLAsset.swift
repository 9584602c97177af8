public import Foundation

public let AVURLAssetPreferPreciseDurationAndTimingKey = "AVURLAssetPreferPreciseDurationAndTimingKey"
public let AVURLAssetReferenceRestrictionsKey = "AVURLAssetReferenceRestrictionsKey"
public let AVURLAssetHTTPCookiesKey = "AVURLAssetHTTPCookiesKey"
public let AVURLAssetAllowsCellularAccessKey = "AVURLAssetAllowsCellularAccessKey"
public let AVURLAssetAllowsExpensiveNetworkAccessKey = "AVURLAssetAllowsExpensiveNetworkAccessKey"
public let AVURLAssetAllowsConstrainedNetworkAccessKey = "AVURLAssetAllowsConstrainedNetworkAccessKey"
public let AVURLAssetURLRequestAttributionKey = "AVURLAssetURLRequestAttributionKey"
public let AVURLAssetHTTPUserAgentKey = "AVURLAssetHTTPUserAgentKey"
public let AVURLAssetPrimarySessionIdentifierKey = "AVURLAssetPrimarySessionIdentifierKey"
public let AVURLAssetOverrideMIMETypeKey = "AVURLAssetOverrideMIMETypeKey"

/// Timed media behind a URL.
open class AVURLAsset: AVAsset, @unchecked Sendable {
    // Safe to share: nothing changes after the initialiser, and the loader has a lock.
    private let assetURL: URL
    private let loader: AVAssetResourceLoader
    /// The options of the initialiser.
    package let options: [String: Any]

    public init(url URL: URL, options: [String: Any]? = nil) {
        assetURL = URL
        loader = AVAssetResourceLoader()
        self.options = options ?? [:]
        super.init()
        loader.assetWasMade()
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
        loader.cancelAll(of: ObjectIdentifier(self))
    }

    /// Returns a plain asset with the same loader, also for a subclass.
    open override func copy(with zone: NSZone? = nil) -> Any { AVURLAsset(copying: self) }

    open class func audiovisualTypes() -> [AVFileType] {
        [.mov, .mp4, .m4v, .m4a, .mobile3GPP, .mobile3GPP2, .caf, .wav, .aiff, .aifc, .amr, .mp3, .au, .ac3, .eac3]
    }
}
