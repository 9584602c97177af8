/// One version of a resource: what is known of it besides its bytes.
public struct Representation: Hashable, Sendable {
    /// The number of bytes, or nil while the origin has not told and the end was not seen.
    public var length: Int64?
    /// What identifies this version.
    public var validator: Validator
    /// The fields of the origin's response that a cache keeps and passes on (RFC 9111 §3.1),
    /// without those of the message itself (`Content-Length`, `Content-Range`, connection fields).
    public var fields: HTTPFields
    /// When the request was sent whose response this is.
    public var requestTime: Timestamp
    /// When that response came.
    public var responseTime: Timestamp

    public init(length: Int64?, validator: Validator, fields: HTTPFields, requestTime: Timestamp, responseTime: Timestamp) {
        self.length = length
        self.validator = validator
        self.fields = fields
        self.requestTime = requestTime
        self.responseTime = responseTime
    }

    /// The media type with its parameters, as the origin gave it.
    public var contentType: String? { fields["Content-Type"] }
    /// The content coding, nil for identity. Ranges count coded bytes (RFC 9110 §14.1.2).
    public var contentCoding: String? { fields["Content-Encoding"] }
}
