/// One version of a resource: its length, validator and fields, without its bytes.
public struct Representation: Hashable, Sendable {
    /// The status of the response: 200 for the bytes of the resource, also if they came in parts. A
    /// response with another status, such as 404 or 301, is stored as a whole, and its bytes are
    /// that response's own content.
    public var status = 200
    /// The number of bytes; nil until the origin has stated it or a fetch has reached the end.
    public var length: Int64?
    /// The validator that identifies this version.
    public var validator: Validator
    /// The fields of the origin's response that a cache stores and passes on (RFC 9111 §3.1).
    /// Fields of the message itself are left out: `Content-Length`, `Content-Range`, connection
    /// fields.
    public var fields: HTTPFields
    /// The time at which the request for this response was sent.
    public var requestTime: Timestamp
    /// The time at which the response arrived.
    public var responseTime: Timestamp
    /// The requests that this version answers, or nil for all.
    package var mark: VariantMark?

    /// Creates a representation.
    public init(
        status: Int = 200, length: Int64?, validator: Validator, fields: HTTPFields, requestTime: Timestamp, responseTime: Timestamp
    ) {
        self.status = status
        self.length = length
        self.validator = validator
        self.fields = fields
        self.requestTime = requestTime
        self.responseTime = responseTime
    }

    /// Whether these are bytes of the resource, of which parts may be requested (RFC 9110 §14.2).
    package var isContent: Bool { status == 200 }

    /// The media type with its parameters, as the origin sent it.
    public var contentType: String? { fields[.contentType] }
    /// The content coding; nil for identity. Ranges count coded bytes (RFC 9110 §14.1.2).
    public var contentCoding: String? { fields[.contentEncoding] }

    /// The mark, also for a version that was stored without one. If such a version varies, the
    /// request that fetched it is not known.
    package var knownMark: VariantMark? {
        mark ?? (fields[.vary] == nil ? nil : VariantMark(of: fields, for: nil, isShared: false))
    }
}
