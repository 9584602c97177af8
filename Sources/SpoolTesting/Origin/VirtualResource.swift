package import SpoolCore

/// A resource that a test origin serves. Its bytes are computed and not kept.
package struct VirtualResource: Hashable, Sendable {
    /// The absolute URL of the resource. A server on a socket uses only the part after the
    /// authority.
    package var url: String
    /// The bytes of the resource.
    package var content: OriginContent
    /// The number of bytes.
    package var length: Int64
    /// The value of `ETag` with its quotes and `W/`, or nil for no such field.
    package var entityTag: String?
    /// The value of `Last-Modified`, or nil for no such field.
    package var lastModified: Timestamp?
    /// The value of `Content-Type`, or nil for no such field.
    package var contentType: String?
    /// Whether `Range` is answered with 206.
    package var supportsRanges: Bool
    /// Further fields of every 200, 206 and 304.
    package var fields: HTTPFields

    /// Creates a resource with a strong entity tag made from its seed.
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

    /// Returns the same resource with other bytes and their entity tag.
    package func version(seed: UInt64, length: Int64? = nil) -> VirtualResource {
        var new = self
        new.content = OriginContent(seed: seed)
        new.length = length ?? self.length
        if entityTag != nil { new.entityTag = "\"v\(seed)\"" }
        return new
    }
}
