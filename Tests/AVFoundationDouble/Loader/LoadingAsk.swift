package import Foundation
package import FoundationNetworking

/// What one loading request asks.
package struct LoadingAsk: Sendable {
    /// The data part.
    package struct Data: Hashable, Sendable {
        package var offset: Int64
        /// `Int.max` when all to an end that is not known yet.
        package var length: Int
        package var toEnd: Bool

        package init(offset: Int64, length: Int, toEnd: Bool = false) {
            self.offset = offset
            self.length = length
            self.toEnd = toEnd
        }

        /// One past the last byte asked in a resource of `total` bytes; nil while the end is not known.
        package func end(total: Int64?) -> Int64? {
            if toEnd { return total }
            let (end, overflow) = offset.addingReportingOverflow(Int64(length))
            if overflow { return total }
            return total.map { min($0, max(offset, end)) } ?? end
        }
    }

    package var request: URLRequest
    package var wantsInformation: Bool
    package var data: Data?
    package var allowedContentTypes: [String]?
    package var isRenewal = false
    /// The length of the resource where it is known from an earlier request of the asset.
    package var knownLength: Int64?

    package init(url: URL, wantsInformation: Bool = false, data: Data? = nil) {
        request = URLRequest(url: url)
        self.wantsInformation = wantsInformation
        self.data = data
    }
}

/// What a delegate said of a resource.
package struct ContentInformation: Sendable {
    package var contentType: String?
    package var contentLength: Int64 = 0
    package var isByteRangeAccessSupported = false
    package var renewalDate: Date?
    package var isEntireLengthAvailableOnDemand = false
    /// Whether anything was set at all.
    package var isTouched = false
}

/// What becomes of a loading request, in the order in which it happened.
package enum LoadingEvent: Sendable {
    /// The delegate will answer.
    case accepted
    /// The delegate won't; the load fails (D4, C19).
    case refused
    /// The delegate is gone; nothing will come (D7).
    case unanswered
    /// Bytes from `at` on, never more than asked.
    case data(Data, at: Int64)
    /// It ended well; with what was said of the resource, when that was asked.
    case finished(ContentInformation?)
    /// Load from there instead.
    case redirected(URLRequest)
    case failed(NSError)
    /// Its asset is gone, or was told to cancel.
    case cancelled
}
