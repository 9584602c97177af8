import SpoolCore

/// How a response marks its end (RFC 9112 §6.3). It is decided before the head is written.
package struct ResponseFraming: Hashable, Sendable {
    /// The way in which the body's length is given.
    package enum Length: Hashable, Sendable {
        /// No body follows, because of the status or the method, and no length is given.
        case none
        /// The length in bytes, which `Content-Length` contains.
        case known(Int64)
        /// Chunked coding, for a body of unknown length to an HTTP/1.1 client.
        case chunked
        /// The end of the connection, for a body of unknown length to an HTTP/1.0 client.
        case untilClose
    }

    /// The way in which the body's length is given.
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
            // A handler that forwards another server's head may have any number here.
            return response.fields[.contentLength].flatMap { Int64($0) }.flatMap { $0 >= 0 ? .known($0) : nil } ?? .none
        case .bytes(let bytes): return .known(Int64(bytes.count))
        case .part(let bytes): return .known(Int64(bytes.count))
        case .source(_, let length?): return .known(max(0, length))
        // RFC 9110 §9.3.2: a response to HEAD may omit fields whose value requires making the body.
        case .source(_, nil): return isHead ? .none : version == .http11 ? .chunked : .untilClose
        }
    }
}
