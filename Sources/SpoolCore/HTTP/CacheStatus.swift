/// How the cache handled a request, for the field `Cache-Status` (RFC 9211).
package struct CacheStatus: Hashable, Sendable {
    /// The source of a response.
    package enum Source: Hashable, Sendable {
        /// The store, without a request to the origin.
        case hit
        /// The origin, for this reason.
        case forwarded(Reason)
    }

    /// The reason why a request was forwarded to the origin (RFC 9211 §2.2).
    package enum Reason: String, Hashable, Sendable {
        /// The cache is configured not to handle the request.
        case bypass
        /// The method can't be served from a cache.
        case method
        /// The cache has no response for this URI.
        case uriMiss = "uri-miss"
        /// The cache has no suitable response, for no more specific reason.
        case miss
        /// The request asked for a fresh response.
        case request
        /// The stored response is stale.
        case stale
        /// Only some of the bytes are stored.
        case partial
    }

    /// The source of the response.
    package let source: Source
    /// The status of the origin's response.
    package let forwardStatus: Int?
    /// Whether this request shared the origin request of another one.
    package let isCollapsed: Bool
    /// An explanation for people.
    package let detail: String?

    /// Creates the status.
    package init(_ source: Source, forwardStatus: Int? = nil, isCollapsed: Bool = false, detail: String? = nil) {
        (self.source, self.forwardStatus, self.isCollapsed, self.detail) = (source, forwardStatus, isCollapsed, detail)
    }

    /// The field value to send: one member of a structured list (RFC 8941 §4.1.1).
    package var fieldValue: String {
        var parameters: [String] = []
        switch source {
        case .hit: parameters.append("hit")
        case .forwarded(let reason): parameters.append("fwd=\(reason.rawValue)")
        }
        if let forwardStatus { parameters.append("fwd-status=\(forwardStatus)") }
        if isCollapsed { parameters.append("collapsed") }
        if let detail { parameters.append("detail=\(Self.quoted(detail))") }
        return (["spool"] + parameters).joined(separator: "; ")
    }

    /// The longest detail that is sent, in bytes.
    package static let maxDetailBytes = 256

    /// The text as a structured string (RFC 8941 §3.3.3). Such a string permits only printable
    /// ASCII, so every other byte becomes a question mark.
    static func quoted(_ text: String) -> String {
        var bytes: [UInt8] = [.quote]
        for byte in text.utf8.prefix(maxDetailBytes) {
            if byte == .quote || byte == .backslash { bytes.append(.backslash) }
            bytes.append(byte.isVisible || byte == .space ? byte : .question)
        }
        bytes.append(.quote)
        return String(decoding: bytes, as: UTF8.self)
    }
}
