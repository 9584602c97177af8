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

    /// Creates a head.
    public init(status: Int, fields: HTTPFields, url: String? = nil) {
        self.status = status
        self.fields = fields
        self.url = url
    }
}
