/// Status and fields of a final response, as a transport hands them over.
public struct ResponseHead: Hashable, Sendable {
    public var status: Int
    public var fields: HTTPFields
    /// The URL that answered, when it is another than the one that was asked: the end of a chain of redirects.
    public var url: String?

    public init(status: Int, fields: HTTPFields, url: String? = nil) {
        self.status = status
        self.fields = fields
        self.url = url
    }
}
