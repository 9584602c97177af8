public import Foundation
public import FoundationNetworking

/// One request of an asset: content information, data, or both.
///
/// Only the delegate that accepted the request retains it, until it is finished or cancelled.
open class AVAssetResourceLoadingRequest: NSObject {
    /// The transaction behind this request.
    package let transaction: LoadingTransaction
    private let information: AVAssetResourceLoadingContentInformationRequest?
    private let data: AVAssetResourceLoadingDataRequest?

    init(_ transaction: LoadingTransaction) {
        self.transaction = transaction
        information = transaction.ask.wantsInformation ? AVAssetResourceLoadingContentInformationRequest(transaction) : nil
        data = transaction.ask.data.map { AVAssetResourceLoadingDataRequest(transaction, $0) }
    }

    deinit {
        transaction.requestWasReleased()
    }

    /// The request, with the asset's own URL.
    open var request: URLRequest { transaction.ask.request }

    open var isFinished: Bool { transaction.isFinished }

    /// True from just before `didCancel` is sent.
    open var isCancelled: Bool { transaction.isCancelled }

    /// The information to fill in before any data, or nil if the asset needs none of it.
    open var contentInformationRequest: AVAssetResourceLoadingContentInformationRequest? { information }

    /// The requested data, or nil for information only.
    open var dataRequest: AVAssetResourceLoadingDataRequest? { data }

    /// The response for a redirect.
    open var response: URLResponse? {
        get { transaction.response }
        set { transaction.response = newValue }
    }

    /// The URL to load from instead. HTTP and HTTPS only, and only before content information is
    /// given.
    open var redirect: URLRequest? {
        get { transaction.redirect }
        set { transaction.redirect = newValue }
    }

    open var requestor: AVAssetResourceLoadingRequestor { AVAssetResourceLoadingRequestor() }

    /// Finishes the request: everything is answered, or the resource ends here.
    open func finishLoading() {
        transaction.finish()
    }

    /// Fails the request.
    open func finishLoading(with error: (any Error)?) {
        transaction.finish(failing: error)
    }

    /// The same text as the real class prints.
    open override var description: String {
        """
        <AVAssetResourceLoadingRequest: 0x\(String(UInt(bitPattern: ObjectIdentifier(self).hashValue), radix: 16)), \
        URL request = \(request), request ID = \(transaction.number), content information request = \
        \(information?.description ?? "(null)"), data request = \(data?.description ?? "(null)")>
        """
    }
}

/// A request for content information whose renewal date has come.
open class AVAssetResourceRenewalRequest: AVAssetResourceLoadingRequest {}

/// The source of a request.
open class AVAssetResourceLoadingRequestor: NSObject {
    /// For FairPlay only.
    open var providesExpiredSessionReports: Bool { false }
}

@available(iOS 18, macOS 15, tvOS 18, visionOS 2, *)
extension AVAssetResourceLoadingRequest: @unchecked Sendable {
    // Safe to share: the transaction is.
}

@available(iOS 18, macOS 15, tvOS 18, visionOS 2, *)
extension AVAssetResourceLoadingRequestor: @unchecked Sendable {
    // Safe to share: it has no state.
}

@available(iOS 18, macOS 15, tvOS 18, visionOS 2, *)
extension AVAssetResourceRenewalRequest: @unchecked Sendable {
    // Safe to share: it adds nothing to its superclass.
}
