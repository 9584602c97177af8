package import SpoolCore

/// A resource that a test origin serves: its bytes are computed, not kept.
package struct VirtualResource: Hashable, Sendable {
    /// The absolute URL it is asked by. A server on a socket looks at the part after the authority only.
    package var url: String
    /// What its bytes are.
    package var content: OriginContent
    /// How many there are.
    package var length: Int64
    /// The value of `ETag`, quotes and `W/` included; nil sends none.
    package var entityTag: String?
    /// The value of `Last-Modified`; nil sends none.
    package var lastModified: Timestamp?
    /// The value of `Content-Type`; nil sends none.
    package var contentType: String?
    /// Whether `Range` is answered with 206.
    package var supportsRanges: Bool
    /// Fields of every 200, 206 and 304, besides those above.
    package var fields: HTTPFields

    /// A resource with a strong entity tag made from its seed.
    package init(
        url: String, seed: UInt64, length: Int64, contentType: String? = "video/mp4", supportsRanges: Bool = true, fields: HTTPFields = [:]
    ) {
        precondition(length >= 0, "a length is not negative: \(length)")
        self.url = url
        self.content = OriginContent(seed: seed)
        self.length = length
        self.entityTag = "\"v\(seed)\""
        self.lastModified = nil
        self.contentType = contentType
        self.supportsRanges = supportsRanges
        self.fields = fields
    }

    /// The same resource with other bytes and the entity tag that goes with them.
    package func version(seed: UInt64, length: Int64? = nil) -> VirtualResource {
        var new = self
        new.content = OriginContent(seed: seed)
        new.length = length ?? self.length
        if entityTag != nil { new.entityTag = "\"v\(seed)\"" }
        return new
    }
}
