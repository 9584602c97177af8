/// One version of a resource: its length, validator and fields, without its bytes.
public struct Representation: Hashable, Sendable {
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

    /// Creates a representation.
    public init(length: Int64?, validator: Validator, fields: HTTPFields, requestTime: Timestamp, responseTime: Timestamp) {
        self.length = length
        self.validator = validator
        self.fields = fields
        self.requestTime = requestTime
        self.responseTime = responseTime
    }

    /// The media type with its parameters, as the origin sent it.
    public var contentType: String? { fields["Content-Type"] }
    /// The content coding; nil for identity. Ranges count coded bytes (RFC 9110 §14.1.2).
    public var contentCoding: String? { fields["Content-Encoding"] }
}
