package import SpoolCore

/// A handler's response to a request.
package struct Response {
    /// The status code.
    package var status: Int
    /// The handler's fields. The server writes framing and connection fields itself and drops those
    /// given here.
    package var fields: HTTPFields
    /// Fields that go before `fields`. No name may be in both.
    package let prepared: PreparedFields?
    /// The body.
    package var body: Body

    /// The body of a response.
    package enum Body {
        /// No body. A handler's `Content-Length` counts in the response to HEAD only.
        case none
        case bytes([UInt8])
        /// A part of bytes in memory, which is not copied.
        case part(ArraySlice<UInt8>)
        /// Bytes that are pulled from a source. With a known length, exactly that many bytes are
        /// sent, or the connection is cut.
        case source(any BodySource, length: Int64?)

        /// The bytes of a body in memory, or nil for others.
        var inMemory: ArraySlice<UInt8>? {
            switch self {
            case .bytes(let bytes): bytes[...]
            case .part(let bytes): bytes
            case .none, .source: nil
            }
        }
    }

    /// Creates a response from fields and a body.
    package init(_ status: Int, fields: HTTPFields = HTTPFields(), prepared: PreparedFields? = nil, body: Body = .none) {
        self.status = status
        self.fields = fields
        self.prepared = prepared
        self.body = body
    }

    /// Returns a plain-text error response, with an explanation of what happened and what to do.
    ///
    ///     .error(502, "the origin example.org does not answer; try again later")
    package static func error(_ status: Int, _ explanation: String, fields: HTTPFields = HTTPFields()) -> Response {
        var fields = fields
        fields[.contentType] = "text/plain; charset=utf-8"
        fields[.xContentTypeOptions] = "nosniff"
        return Response(status, fields: fields, body: .bytes(Array("\(status) \(Status.reason(status)): \(explanation)\n".utf8)))
    }

    /// Closes the source of a body that will not be sent.
    func discard() {
        if case .source(let source, _) = body { source.close() }
    }
}

/// The reason phrases of RFC 9110 §15. Clients ignore them, but they help people who read a trace.
enum Status {
    static func reason(_ status: Int) -> StaticString {
        switch status {
        case 200: "OK"
        case 201: "Created"
        case 202: "Accepted"
        case 203: "Non-Authoritative Information"
        case 204: "No Content"
        case 205: "Reset Content"
        case 206: "Partial Content"
        case 300: "Multiple Choices"
        case 301: "Moved Permanently"
        case 302: "Found"
        case 303: "See Other"
        case 304: "Not Modified"
        case 307: "Temporary Redirect"
        case 308: "Permanent Redirect"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 406: "Not Acceptable"
        case 408: "Request Timeout"
        case 409: "Conflict"
        case 410: "Gone"
        case 411: "Length Required"
        case 412: "Precondition Failed"
        case 413: "Content Too Large"
        case 414: "URI Too Long"
        case 415: "Unsupported Media Type"
        case 416: "Range Not Satisfiable"
        case 421: "Misdirected Request"
        case 422: "Unprocessable Content"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 501: "Not Implemented"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        case 504: "Gateway Timeout"
        case 505: "HTTP Version Not Supported"
        case 507: "Insufficient Storage"
        case 508: "Loop Detected"
        default: "Status"
        }
    }
}
