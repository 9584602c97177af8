/// The rules by which responses are stored (RFC 9111 §3).
package struct StoringRules: Hashable, Sendable {
    package var policy: CachePolicy
    /// Whether the cache serves several users.
    package var isShared: Bool
    /// Whether the requests carry credentials.
    package var isAuthorized: Bool
    /// The extension of the URL's path, which tells what the bytes ought to be.
    package var pathExtension: String
    /// By what versions of the resource are told apart.
    package var identity = Identity.validator
    /// The most bytes that are kept of one resource; nil for no limit.
    package var maxResourceBytes: Int64?

    package init(policy: CachePolicy = .preferStored, isShared: Bool = false, isAuthorized: Bool = false, pathExtension: String = "") {
        self.policy = policy
        self.isShared = isShared
        self.isAuthorized = isAuthorized
        self.pathExtension = pathExtension
    }

    /// Why a response with these fields, of a resource of this length, is not to be stored, or nil.
    package func passReason(for fields: HTTPFields, length: Int64? = nil) -> PassReason? {
        if let maxResourceBytes, let length, length > maxResourceBytes { return .tooLarge(limit: maxResourceBytes) }
        if let page = unexpectedPage(fields) { return .unexpectedType(page) }
        guard policy != .storeEverything else { return nil }
        let control = CacheControl(fields)
        if control.noStore { return .noStore }
        if isShared, control.private == .response { return .privateResponse }
        // RFC 9111 §3.5.
        if isShared, isAuthorized, !control.public, control.sMaxAge == nil, !control.mustRevalidate { return .authorizedRequest }
        if fields.variesByAnything { return .varyAny }
        return nil
    }

    /// A page where media were asked for: what a captive portal or a login form answers, with 200, for everything.
    private func unexpectedPage(_ fields: HTTPFields) -> String? {
        expectsMedia ? page(fields) : nil
    }

    /// Whether the URL names media.
    var expectsMedia: Bool { isMediaExtension(pathExtension) }

    /// The media type of a web page; nil when the response is none.
    func page(_ fields: HTTPFields) -> String? {
        guard let type = fields["Content-Type"].flatMap(MediaType.init) else { return nil }
        return type.essence == "text/html" || type.essence == "application/xhtml+xml" ? type.essence : nil
    }
}

extension HTTPFields {
    /// Whether `Vary` has a `*`: no other request is answered by this response (RFC 9110 §12.5.5).
    fileprivate var variesByAnything: Bool {
        values(of: "Vary").contains { $0.utf8.split(separator: .comma).contains { $0.filter { !$0.isWhitespace } == [.asterisk] } }
    }
}
