public import Foundation

/// The facts about a resource that an asset needs before its data.
open class AVAssetResourceLoadingContentInformationRequest: NSObject {
    private let transaction: LoadingTransaction

    init(_ transaction: LoadingTransaction) {
        self.transaction = transaction
    }

    /// A uniform type identifier, not a MIME type.
    open var contentType: String? {
        get { transaction.information.contentType }
        set { transaction.setContentType(newValue) }
    }

    /// The types that the delegate may set. Nil allows all.
    open var allowedContentTypes: [String]? { transaction.ask.allowedContentTypes }

    /// The length of the whole resource in bytes.
    open var contentLength: Int64 {
        get { transaction.information.contentLength }
        set { transaction.setInformation { $0.contentLength = newValue } }
    }

    open var isByteRangeAccessSupported: Bool {
        get { transaction.information.isByteRangeAccessSupported }
        set { transaction.setInformation { $0.isByteRangeAccessSupported = newValue } }
    }

    /// The time at which this information has to be asked for again, or nil for never.
    open var renewalDate: Date? {
        get { transaction.information.renewalDate }
        set { transaction.setInformation { $0.renewalDate = newValue } }
    }

    /// Whether every byte is available at once, so that the player need not read ahead.
    open var isEntireLengthAvailableOnDemand: Bool {
        get { transaction.information.isEntireLengthAvailableOnDemand }
        set { transaction.setInformation { $0.isEntireLengthAvailableOnDemand = newValue } }
    }

    open override var description: String {
        let information = transaction.information
        return """
            <AVAssetResourceLoadingContentInformationRequest, content type = "\(information.contentType ?? "(null)")", \
            content length = \(information.contentLength), \
            byte range access supported = \(information.isByteRangeAccessSupported ? "YES" : "NO"), \
            disk caching permitted = NO, renewal date = \(information.renewalDate.map { "\($0)" } ?? "(null)")>
            """
    }
}

@available(iOS 18, macOS 15, tvOS 18, visionOS 2, *)
extension AVAssetResourceLoadingContentInformationRequest: @unchecked Sendable {
    // Safe to share: the transaction is.
}
