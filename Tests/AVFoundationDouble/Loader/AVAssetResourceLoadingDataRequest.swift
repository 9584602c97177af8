public import Foundation

/// The bytes that an asset requests.
open class AVAssetResourceLoadingDataRequest: NSObject {
    private let transaction: LoadingTransaction
    private let asked: LoadingAsk.Data

    init(_ transaction: LoadingTransaction, _ asked: LoadingAsk.Data) {
        self.transaction = transaction
        self.asked = asked
    }

    /// The first requested byte.
    open var requestedOffset: Int64 { asked.offset }

    /// The number of requested bytes, or `Int.max` for all bytes up to an unknown end. To be
    /// ignored when `requestsAllDataToEndOfResource` is true.
    open var requestedLength: Int { asked.length }

    /// Whether the request covers everything up to the end of the resource.
    open var requestsAllDataToEndOfResource: Bool { asked.toEnd }

    /// The offset of the first byte of the next `respond(with:)`.
    open var currentOffset: Int64 { transaction.currentOffset }

    /// Passes the bytes from `currentOffset` on, and advances the offset by their number. The
    /// system may keep them for any time.
    open func respond(with data: Data) {
        transaction.respond(with: data)
    }

    open override var description: String {
        """
        <AVAssetResourceLoadingDataRequest, requested offset = \(asked.offset), requested length = \(asked.length), \
        requests all data to end of resource = \(asked.toEnd ? "YES" : "NO"), current offset = \(currentOffset)>
        """
    }
}

@available(iOS 18, macOS 15, tvOS 18, visionOS 2, *)
extension AVAssetResourceLoadingDataRequest: @unchecked Sendable {
    // Safe to share: the transaction is.
}
