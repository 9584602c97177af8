public import Foundation
public import FoundationNetworking

/// One ask of an asset: content information, data, or both.
///
/// The delegate that said it would answer keeps the request until it finishes or is cancelled; nobody else does.
open class AVAssetResourceLoadingRequest: NSObject, @unchecked Sendable {
    // Safe to share: the transaction is.
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

    /// What is asked, by the asset's own URL.
    open var request: URLRequest { transaction.ask.request }

    open var isFinished: Bool { transaction.isFinished }

    /// True from just before `didCancel` is sent.
    open var isCancelled: Bool { transaction.isCancelled }

    /// To be filled in before any data is answered; nil when nothing of it is asked.
    open var contentInformationRequest: AVAssetResourceLoadingContentInformationRequest? { information }

    /// nil when no data is asked.
    open var dataRequest: AVAssetResourceLoadingDataRequest? { data }

    /// The response that goes with a redirect.
    open var response: URLResponse? {
        get { transaction.response }
        set { transaction.response = newValue }
    }

    /// Where to load from instead; HTTP and HTTPS only, and only before content information was given.
    open var redirect: URLRequest? {
        get { transaction.redirect }
        set { transaction.redirect = newValue }
    }

    open var requestor: AVAssetResourceLoadingRequestor { AVAssetResourceLoadingRequestor() }

    /// Everything asked was answered, or the resource ends here.
    open func finishLoading() {
        transaction.finish()
    }

    /// It can't be answered.
    open func finishLoading(with error: (any Error)?) {
        transaction.finish(failing: error)
    }

    /// As the real class prints itself.
    open override var description: String {
        """
        <AVAssetResourceLoadingRequest: 0x\(String(UInt(bitPattern: ObjectIdentifier(self).hashValue), radix: 16)), \
        URL request = \(request), request ID = \(transaction.number), content information request = \
        \(information?.description ?? "(null)"), data request = \(data?.description ?? "(null)")>
        """
    }
}

/// An ask for content information whose renewal date has come.
open class AVAssetResourceRenewalRequest: AVAssetResourceLoadingRequest, @unchecked Sendable {
    // Safe to share: it adds nothing to the class above.
}

/// Who asked.
open class AVAssetResourceLoadingRequestor: NSObject, @unchecked Sendable {
    // Safe to share: it has no state.

    /// FairPlay only.
    open var providesExpiredSessionReports: Bool { false }
}
