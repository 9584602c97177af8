import SpoolCore

/// How the end of a response is told (RFC 9112 §6.3), decided before its head is written.
package struct ResponseFraming: Hashable, Sendable {
    package enum Length: Hashable, Sendable {
        /// The status or the method says that no body follows, and no length is told.
        case none
        case known(Int64)
        /// Chunked coding: the length is not known and the client speaks HTTP/1.1.
        case chunked
        /// The end of the connection: the length is not known and the client speaks HTTP/1.0.
        case untilClose
    }

    package var length: Length
    /// Whether body bytes follow the head.
    package var sendsBody: Bool
    /// Whether the connection can take a further request.
    package var keepAlive: Bool

    /// The framing of `response` as the answer to a request.
    package init(of response: Response, method: String, version: HTTPVersion, keepAlive: Bool) {
        let isHead = method == "HEAD"
        switch response.status {
        case 204, 304:
            length = .none
        default:
            length = Self.length(of: response, version: version, isHead: isHead)
        }
        sendsBody = !isHead && length != .none && length != .known(0)
        self.keepAlive = keepAlive && length != .untilClose
    }

    private static func length(of response: Response, version: HTTPVersion, isHead: Bool) -> Length {
        switch response.body {
        case .none:
            guard isHead else { return .known(0) }
            // A handler that passes on the head of another server may have any number here.
            return response.fields["Content-Length"].flatMap { Int64($0) }.flatMap { $0 >= 0 ? .known($0) : nil } ?? .none
        case .bytes(let bytes): return .known(Int64(bytes.count))
        case .source(_, let length?): return .known(max(0, length))
        // RFC 9110 §9.3.2: a HEAD answer may leave out what only making the body would tell.
        case .source(_, nil): return isHead ? .none : version == .http11 ? .chunked : .untilClose
        }
    }
}
