public import Foundation

/// Reads the samples of a local asset. The double only checks the asset.
open class AVAssetReader: NSObject {
    /// The asset that it reads.
    public let asset: AVAsset

    /// Makes a reader.
    ///
    /// The real class was seen to refuse each asset whose URL is not local, with this code and the
    /// words "Cannot initialize an instance of AVAssetReader with an asset at non-local URL".
    public init(asset: AVAsset) throws {
        if let asset = asset as? AVURLAsset, !asset.url.isFileURL { throw AVError(.operationNotSupportedForAsset) }
        self.asset = asset
        super.init()
    }
}
