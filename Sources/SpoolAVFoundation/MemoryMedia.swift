#if !os(watchOS)
public import AVFoundation
import Spool
public import SpoolCore
import SpoolSystem

// Media that an app has in memory. No network and no store take part.

extension CachingAssetFactory {
    /// The most bytes of media that an asset plays from memory: 256 MiB. The app's memory holds
    /// them all, so larger media belong in a file.
    public static let maximumDataBytes = 256 << 20

    /// Returns an asset that plays bytes from memory.
    ///
    /// The asset keeps the bytes. It uses neither the network nor the store, and a receiver of
    /// AirPlay video cannot play it.
    /// - Parameters:
    ///   - data: The whole file.
    ///   - mimeType: Its type, as a MIME type such as `audio/mpeg`, or as a type identifier.
    ///   - name: A name for the asset's URL, without an extension.
    /// - Throws: `.unsupportedMedia` for an empty file, for one with more than `maximumDataBytes`,
    ///   and for a playlist, an unknown type, or a container that the system does not open.
    public func asset(data: Data, mimeType: String, name: String = "media") throws(CacheError) -> AVURLAsset {
        guard !data.isEmpty, data.count <= Self.maximumDataBytes else {
            throw CacheError(
                .unsupportedMedia, "media in memory has 1 to \(Self.maximumDataBytes) bytes, and not \(data.count); use a file")
        }
        let kind = try Self.kind(mimeType, data)
        var components = URLComponents()
        (components.scheme, components.host) = (customScheme, "memory")
        components.path = "/" + name.replacing("/", with: "-") + "." + kind.fileExtension
        guard let url = components.url else {
            throw CacheError(.unsupportedURL, "'\(name)' can't be part of a URL; use another name")
        }
        let queue = makeQueue()
        let asset = AVURLAsset(url: url)
        asset.keep(MemoryLoader(data: data, contentType: kind.identifier, mailbox: queue.mailbox), on: queue.queue)
        return asset
    }

    private static func kind(_ mimeType: String, _ data: Data) throws(CacheError) -> MediaKind {
        var evidence = ContentTypeDecision.Evidence(
            hint: mimeType.contains("/") ? nil : mimeType, contentType: mimeType, firstBytes: Array(data.prefix(ContentSniffer.byteCount)))
        evidence.isOpenable = OpenableTypes.contains
        if case .identifier(let identifier) = ContentTypeDecision(evidence), let kind = MediaKind.ofIdentifier(identifier) { return kind }
        throw CacheError(.unsupportedMedia, "'\(mimeType)' is not a type of media that plays from memory on this system")
    }
}

extension MediaCache {
    /// Returns an item that plays bytes from memory, for an app that has them already.
    ///
    /// The parameters and errors are those of `CachingAssetFactory.asset(data:mimeType:name:)`.
    @MainActor public func playerItem(data: Data, mimeType: String, name: String = "media") throws(CacheError) -> AVPlayerItem {
        AVPlayerItem(asset: try CachingAssetFactory(cache: self).asset(data: data, mimeType: mimeType, name: name))
    }
}

/// Answers the loading requests of an asset with bytes from memory.
final class MemoryLoader: NSObject, AVAssetResourceLoaderDelegate, Sendable {
    /// The most bytes of one piece. A cancel takes effect between two pieces.
    private static let pieceBytes = 512 << 10

    private let data: Data
    private let contentType: String
    private let mailbox: any Mailbox

    init(data: Data, contentType: String, mailbox: any Mailbox) {
        self.data = data
        self.contentType = contentType
        self.mailbox = mailbox
    }

    func resourceLoader(
        _ resourceLoader: AVAssetResourceLoader, shouldWaitForLoadingOfRequestedResource loadingRequest: AVAssetResourceLoadingRequest
    ) -> Bool {
        let request = Handed(loadingRequest)
        // Answered after this call returned. Some versions lose answers that come within it.
        mailbox.post { [self] in
            inform(request.value)
            send(request, from: request.value.dataRequest?.currentOffset ?? 0)
        }
        return true
    }

    private func inform(_ request: AVAssetResourceLoadingRequest) {
        guard !request.isCancelled, let information = request.contentInformationRequest else { return }
        information.contentType = OpenableTypes.allowed(contentType, among: information.allowedContentTypes)
        information.contentLength = Int64(data.count)
        information.isByteRangeAccessSupported = true
        information.isEntireLengthAvailableOnDemand = true
    }

    private func send(_ request: Handed<AVAssetResourceLoadingRequest>, from offset: Int64) {
        let loading = request.value
        guard !loading.isCancelled, !loading.isFinished else { return }
        guard let wanted = loading.dataRequest else { return loading.finishLoading() }
        let end = min(LoadingAsk(loading).bytes?.end ?? .max, Int64(data.count))
        let lower = max(0, offset)
        guard lower < end else { return loading.finishLoading() }
        let upper = min(end, lower + Int64(Self.pieceBytes))
        let start = data.startIndex + Int(lower)
        wanted.respond(with: data.subdata(in: start..<start + Int(upper - lower)))
        mailbox.post { [self] in send(request, from: upper) }
    }
}
#endif
