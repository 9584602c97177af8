/// What the cache did with a request, for the field `Cache-Status` (RFC 9211).
package struct CacheStatus: Hashable, Sendable {
    /// Where the answer came from.
    package enum Source: Hashable, Sendable {
        /// From the store, without asking the origin.
        case hit
        /// From the origin, for this reason.
        case forwarded(Reason)
    }

    /// Why a request went on to the origin (RFC 9211 §2.2).
    package enum Reason: String, Hashable, Sendable {
        /// The cache was told to keep out.
        case bypass
        /// The method can't be answered from a cache.
        case method
        /// Nothing is stored for this URI.
        case uriMiss = "uri-miss"
        /// Something is stored for this URI, but not for these request fields.
        case varyMiss = "vary-miss"
        /// Nothing fitting is stored; no closer reason.
        case miss
        /// The request asked for a fresh answer.
        case request
        /// What is stored is stale.
        case stale
        /// Some of the bytes are stored, not all.
        case partial
    }

    /// The name of the cache: a token.
    package var cache: String
    package var source: Source
    /// The status with which the origin answered.
    package var forwardStatus: Int?
    /// Whether the answer is being stored.
    package var isStored = false
    /// Whether this request shared another one to the origin.
    package var isCollapsed = false
    /// Seconds of freshness that are left; negative when stale.
    package var timeToLive: Int64?
    /// What happened, for people.
    package var detail: String?

    /// The status of a cache whose name is a token.
    package init(cache: String = "spool", source: Source) {
        precondition(!cache.isEmpty && cache.utf8.allSatisfy(\.isTokenByte), "the name of a cache is a token, not \(cache)")
        self.cache = cache
        self.source = source
    }

    /// The value to send: one member of a structured list (RFC 8941 §4.1.1).
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

    /// A structured string (RFC 8941 §3.3.3): printable ASCII only, so every other byte becomes a question mark.
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
