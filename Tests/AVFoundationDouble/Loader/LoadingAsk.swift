package import Foundation
package import FoundationNetworking

/// The contents of one loading request.
package struct LoadingAsk: Sendable {
    /// The data part.
    package struct Data: Hashable, Sendable {
        /// The first requested byte.
        package var offset: Int64
        /// `Int.max` for all bytes up to an unknown end.
        package var length: Int
        /// Whether the range reaches to the end of the resource.
        package var toEnd: Bool

        /// Makes a range of bytes.
        package init(offset: Int64, length: Int, toEnd: Bool = false) {
            self.offset = offset
            self.length = length
            self.toEnd = toEnd
        }

        /// Returns the end of the range in a resource of `total` bytes, or nil while it is unknown.
        package func end(total: Int64?) -> Int64? {
            if toEnd { return total }
            let (end, overflow) = offset.addingReportingOverflow(Int64(length))
            if overflow { return total }
            return total.map { min($0, max(offset, end)) } ?? end
        }
    }

    /// The request with the asset's own URL.
    package var request: URLRequest
    /// Whether content information is requested.
    package var wantsInformation: Bool
    /// The requested bytes, or nil for information only.
    package var data: Data?
    /// The content types that the delegate may set. Nil allows all.
    package var allowedContentTypes: [String]?
    /// Whether it renews earlier content information.
    package var isRenewal = false
    /// The length of the resource, if an earlier request of the asset brought it.
    package var knownLength: Int64?

    /// Makes the contents of a request.
    package init(url: URL, wantsInformation: Bool = false, data: Data? = nil) {
        request = URLRequest(url: url)
        self.wantsInformation = wantsInformation
        self.data = data
    }
}

/// A delegate's statements about a resource.
package struct ContentInformation: Sendable {
    /// The uniform type identifier.
    package var contentType: String?
    /// The length of the resource in bytes.
    package var contentLength: Int64 = 0
    /// Whether ranges can be requested.
    package var isByteRangeAccessSupported = false
    /// The time at which the information has to be renewed, or nil for never.
    package var renewalDate: Date?
    /// Whether every byte is available at once.
    package var isEntireLengthAvailableOnDemand = false
    /// Whether any property was set.
    package var isTouched = false
}

/// The events of a loading request, in order.
package enum LoadingEvent: Sendable {
    /// The delegate will answer.
    case accepted
    /// The delegate refuses, so the load fails (D4, C19).
    case refused
    /// The delegate was released, so no answer will come (D7).
    case unanswered
    /// Bytes from `at` on, never more than requested.
    case data(Data, at: Int64)
    /// The request succeeded, with the content information if it was requested.
    case finished(ContentInformation?)
    /// Load from this request instead.
    case redirected(URLRequest)
    case failed(NSError)
    /// The asset was released, or its loading was cancelled.
    case cancelled
}
