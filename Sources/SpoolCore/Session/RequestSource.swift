/// The request by which a reader has the origin asked: all that may differ between two readers of
/// one resource, besides range and site.
package struct RequestSource: Hashable, Sendable {
    /// The URL that is asked; empty where the session's own is.
    package var url = ""
    /// The configured fields, and those that the reader adds.
    package var fields = HTTPFields()
    /// The fields of the client of a door; nil without one.
    package var clientFields: HTTPFields?
    /// Whether redirects are followed. If not, a redirect is the answer.
    package var followsRedirects = true
    /// Whether the request has credentials besides its fields, as user information in its URL.
    package var hasUserinfo = false

    /// Creates a request with `fields` to the session's URL.
    package init(fields: HTTPFields = HTTPFields()) { self.fields = fields }

    /// Whether the configured fields, those of the reader or the URL have credentials.
    var isAuthorized: Bool { hasUserinfo || fields[.authorization] != nil }
}

extension OriginError {
    /// Whether the origin refused one request and may grant another: by credentials, by a redirect
    /// that only some readers follow, or because the asker has the bytes (304).
    private var isRefusal: Bool {
        guard case .status(let status, _) = self else { return false }
        return [401, 403].contains(status) || (300..<400).contains(status)
    }

    /// Whether the error is no answer to this reader, because the fetch had another reader's
    /// request. The reader then has the origin asked by its own, once.
    func refuses(_ fetch: FetchState, instead reader: ReaderState) -> Bool {
        isRefusal && reader.id != fetch.askedBy && !reader.onlyStored && reader.asks != fetch.asks
    }
}
