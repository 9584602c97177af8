/// The status and the fields of a final response, as a transport delivers them.
public struct ResponseHead: Hashable, Sendable {
    /// The status code.
    public var status: Int
    /// The field lines.
    public var fields: HTTPFields
    /// The URL at the end of a chain of redirects; nil when the requested URL itself responded.
    public var url: String?
    /// The requests that the response answers, or nil for all. A session sets it, because it has
    /// sent the request.
    package var mark: VariantMark?
    /// Whether the end of the connection ends the body (RFC 9112 §6.3, item 8). A transport that
    /// does not know reports false.
    package var endsByClose = false
    /// Whether a transport left the condition of the request out, because the origin refuses it. A
    /// part without a validator then says nothing about its version.
    package var omitsCondition = false

    /// Creates a head.
    public init(status: Int, fields: HTTPFields, url: String? = nil) {
        self.status = status
        self.fields = fields
        self.url = url
    }
}
