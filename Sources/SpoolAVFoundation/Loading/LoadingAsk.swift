package import SpoolCore

/// The content of one loading request: content information, some bytes, or both.
package struct LoadingAsk: Hashable, Sendable {
    /// The requested bytes.
    package struct Bytes: Hashable, Sendable {
        /// The offset of the first requested byte.
        package let start: Int64
        /// The offset after the last requested byte, or nil for the end of the resource.
        package let end: Int64?

        /// Creates the range `[start, end)`. It is empty when the end is before the start.
        package init(start: Int64, end: Int64?) {
            self.start = max(0, start)
            self.end = end.map { max($0, max(0, start)) }
        }

        /// Creates the range from the values of an AVFoundation data request.
        ///
        /// - Parameters:
        ///   - offset: The offset of the first byte.
        ///   - length: The number of bytes. It is ignored when `toEnd` is set, because
        ///     AVFoundation's header then asks for all data to the end. `Int.max` stands for a
        ///     length that the player does not have yet.
        ///   - toEnd: Whether the request is for all data to the end of the resource.
        package init(offset: Int64, length: Int, toEnd: Bool) {
            let start = max(0, offset)
            let (end, overflow) = start.addingReportingOverflow(Int64(max(0, length)))
            self.init(start: start, end: toEnd || overflow || length == .max ? nil : end)
        }
    }

    /// Whether the request asks for content information.
    package var wantsInformation: Bool
    /// The requested bytes, or nil.
    package var bytes: Bytes?

    /// Creates an ask.
    package init(wantsInformation: Bool, bytes: Bytes?) {
        self.wantsInformation = wantsInformation
        self.bytes = bytes
    }
}

/// The identity of one open loading request. Requests have no other distinction, because all of an
/// asset have the same URL.
package struct LoadingRequestID: Hashable, Comparable, Sendable {
    /// The number of the request, in order of arrival.
    package let rawValue: UInt64
    /// Creates the identity with a number.
    package init(rawValue: UInt64) { self.rawValue = rawValue }
    /// Compares by order of arrival.
    package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// The identity of one reader of the cache, which serves one request or several at the same
/// position.
package struct LoadingFeedID: Hashable, Comparable, Sendable {
    /// The number of the feed, in order of creation.
    package let rawValue: UInt64
    /// Creates the identity with a number.
    package init(rawValue: UInt64) { self.rawValue = rawValue }
    /// Compares by order of creation.
    package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// The error with which a loading request ends. Two failures are equal when their code, message and
/// status are equal.
package struct LoadingFailure: Error, Hashable, Sendable {
    /// The error of the cache.
    package let error: CacheError

    /// Creates a failure.
    package init(_ error: CacheError) {
        self.error = error
    }

    /// Compares code, message and status.
    package static func == (a: Self, b: Self) -> Bool {
        a.error.code == b.error.code && a.error.message == b.error.message && a.error.status == b.error.status
    }

    /// Hashes code and message.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(error.code)
        hasher.combine(error.message)
    }

    /// Whether another reader may succeed later where this one failed.
    ///
    /// A resource that was removed is fetched again. The shell then checks that it is the same
    /// version. A refusal by the network policy comes after the cache has waited for the
    /// permission.
    package var isWorthAnotherTry: Bool {
        (error.isRetryable && error.code != .networkRefused) || error.code == .removed
    }
}

/// The reason why the player is sent to the original URL.
package enum FallbackReason: Hashable, Sendable {
    /// The origin does not state the length: the resource is endless, live or chunked. Content
    /// information cannot express that.
    case unknownLength
    /// The origin does not state the length of a body that is not a live stream. The proxy stores
    /// it while it passes it on.
    case openEnded
    /// The resource is a playlist. The loader cannot supply its segments.
    case playlist
    /// The bytes have a content coding, which the player would have to decode.
    case contentCoding(String)
    /// The cache cannot serve the resource at all: it is closed, its store fails, or the origin's
    /// response is unusable.
    case trouble(CacheError.Code)
    /// The cache is bypassed.
    case bypassed
    /// The original replaced an earlier item of the resource, and played.
    case rescued
}
