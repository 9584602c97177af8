package import SpoolCore

/// What one loading request asks for: to know what the resource is, some of its bytes, or both.
package struct LoadingAsk: Hashable, Sendable {
    /// The part that asks for bytes.
    package struct Bytes: Hashable, Sendable {
        /// The offset of the first byte that is wanted.
        package let start: Int64
        /// The offset after the last one; nil for the end of the resource.
        package let end: Int64?

        /// The bytes `[start, end)`; an end before the start asks for none.
        package init(start: Int64, end: Int64?) {
            self.start = max(0, start)
            self.end = end.map { max($0, max(0, start)) }
        }

        /// What a data request of AVFoundation says.
        ///
        /// - Parameters:
        ///   - length: not looked at when `toEnd` is set: the header says to deliver until the resource ends. `Int.max` stands for a
        ///     length that the player does not know yet.
        package init(offset: Int64, length: Int, toEnd: Bool) {
            let start = max(0, offset)
            let (end, overflow) = start.addingReportingOverflow(Int64(max(0, length)))
            self.init(start: start, end: toEnd || overflow || length == .max ? nil : end)
        }
    }

    /// Content information is asked for.
    package var wantsInformation: Bool
    /// The bytes that are asked for, if any.
    package var bytes: Bytes?

    package init(wantsInformation: Bool, bytes: Bytes?) {
        self.wantsInformation = wantsInformation
        self.bytes = bytes
    }
}

/// One loading request, as long as it is open. Requests are told apart by this alone: all of an asset have the same URL.
package struct LoadingRequestID: Hashable, Comparable, Sendable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }
    package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// One reader of the cache, which serves one request or several that stand at the same byte.
package struct LoadingFeedID: Hashable, Comparable, Sendable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }
    package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// Why a loading request ends without what it asked for. Two are equal when they say the same.
package struct LoadingFailure: Error, Hashable, Sendable {
    package let error: CacheError

    package init(_ error: CacheError) {
        self.error = error
    }

    package static func == (a: Self, b: Self) -> Bool {
        a.error.code == b.error.code && a.error.message == b.error.message && a.error.status == b.error.status
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(error.code)
        hasher.combine(error.message)
    }

    /// Whether another reader, opened in a while, may go on where this one failed.
    ///
    /// A resource that was removed is fetched again; whether it is the same version is for the shell to see.
    package var isWorthAnotherTry: Bool {
        error.isRetryable || error.code == .removed
    }
}

/// Why the player is sent to the original URL instead of being served.
package enum FallbackReason: Hashable, Sendable {
    /// The origin does not tell how long the resource is: endless, live or chunked. AVFoundation has no word for that in content information.
    case unknownLength
    /// It is a playlist; segments can't be given through the loader.
    case playlist
    /// The bytes are in a content coding, which the player would have to undo.
    case contentCoding(String)
    /// The cache can't serve it, whatever the origin says: it is closed, its store fails, or the origin speaks in a way that we don't take.
    case trouble(CacheError.Code)
    /// An earlier asset of the resource was sent to the original.
    case remembered
}
