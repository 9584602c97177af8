public import SpoolCore

/// A resource that a test origin serves. Its bytes are computed and not kept.
public struct VirtualResource: Hashable, Sendable {
    /// The absolute URL of the resource. A server on a socket uses only the part after the
    /// authority.
    public var url: String
    /// The bytes of the resource.
    public var content: OriginContent
    /// The number of bytes.
    public var length: Int64
    /// The value of `ETag` with its quotes and `W/`, or nil for no such field.
    public var entityTag: String?
    /// The value of `Last-Modified`, or nil for no such field.
    public var lastModified: Timestamp?
    /// The value of `Content-Type`, or nil for no such field.
    public var contentType: String?
    /// Whether `Range` is answered with 206.
    public var supportsRanges: Bool
    /// Further fields of every 200, 206 and 304.
    public var fields: HTTPFields

    /// Creates a resource with a strong entity tag made from its seed.
    public init(
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
    public func version(seed: UInt64, length: Int64? = nil) -> VirtualResource {
        var new = self
        new.content = OriginContent(seed: seed)
        new.length = length ?? self.length
        if entityTag != nil { new.entityTag = "\"v\(seed)\"" }
        return new
    }
}
