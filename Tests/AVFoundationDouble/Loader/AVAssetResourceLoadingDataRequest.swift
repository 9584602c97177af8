public import Foundation

/// The bytes that an asset wants.
open class AVAssetResourceLoadingDataRequest: NSObject, @unchecked Sendable {
    // Safe to share: the transaction is.
    private let transaction: LoadingTransaction
    private let asked: LoadingAsk.Data

    init(_ transaction: LoadingTransaction, _ asked: LoadingAsk.Data) {
        self.transaction = transaction
        self.asked = asked
    }

    /// The first byte asked.
    open var requestedOffset: Int64 { asked.offset }

    /// How many bytes are asked; `Int.max` when it is all to an end that is not known yet. To be ignored when all data to the end is asked.
    open var requestedLength: Int { asked.length }

    /// Whether everything to the end of the resource is asked, wherever that is.
    open var requestsAllDataToEndOfResource: Bool { asked.toEnd }

    /// The byte that the next `respond(with:)` begins with.
    open var currentOffset: Int64 { transaction.currentOffset }

    /// Hands over the bytes from `currentOffset` on, which moves by their number. The system keeps them as long as it likes.
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
