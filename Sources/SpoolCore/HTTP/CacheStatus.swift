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
        /// The cache has a response for this URI, but not for these request fields.
        case varyMiss = "vary-miss"
        /// The cache has no suitable response, for no more specific reason.
        case miss
        /// The request asked for a fresh response.
        case request
        /// The stored response is stale.
        case stale
        /// Only some of the bytes are stored.
        case partial
    }

    /// The name of the cache, which is a token.
    package var cache: String
    /// The source of the response.
    package var source: Source
    /// The status of the origin's response.
    package var forwardStatus: Int?
    /// Whether the response is being stored.
    package var isStored = false
    /// Whether this request shared the origin request of another one.
    package var isCollapsed = false
    /// The remaining seconds of freshness; negative when stale.
    package var timeToLive: Int64?
    /// An explanation for people.
    package var detail: String?

    /// Creates the status of a cache whose name is a token.
    package init(cache: String = "spool", source: Source) {
        precondition(!cache.isEmpty && cache.utf8.allSatisfy(\.isTokenByte), "the name of a cache is a token, not \(cache)")
        self.cache = cache
        self.source = source
    }

    /// The field value to send: one member of a structured list (RFC 8941 §4.1.1).
    package var fieldValue: String {
        var parameters: [String] = []
        switch source {
        case .hit: parameters.append("hit")
        case .forwarded(let reason): parameters.append("fwd=\(reason.rawValue)")
        }
        if let forwardStatus { parameters.append("fwd-status=\(forwardStatus)") }
        if let timeToLive { parameters.append("ttl=\(timeToLive)") }
        if isStored { parameters.append("stored") }
        if isCollapsed { parameters.append("collapsed") }
        if let detail { parameters.append("detail=\(Self.quoted(detail))") }
        return ([cache] + parameters).joined(separator: "; ")
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
