/// The rules by which responses are stored (RFC 9111 §3).
package struct StoringRules: Hashable, Sendable {
    /// The cache policy.
    package var policy: CachePolicy
    /// Whether the cache serves several users.
    package var isShared: Bool
    /// Whether the requests carry credentials.
    package var isAuthorized: Bool
    /// The extension of the URL's path, which indicates the expected kind of bytes.
    package var pathExtension: String
    /// The rule that distinguishes versions of the resource.
    package var identity = Identity.validator
    /// The most bytes that are stored of one resource; nil for no limit.
    package var maxResourceBytes: Int64?

    /// Creates the rules.
    package init(policy: CachePolicy = .preferStored, isShared: Bool = false, isAuthorized: Bool = false, pathExtension: String = "") {
        self.policy = policy
        self.isShared = isShared
        self.isAuthorized = isAuthorized
        self.pathExtension = pathExtension
    }

    /// The reason why a response with these fields, of a resource of this length, must not be
    /// stored; nil when it may be.
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

    /// The type of a page that comes where media were requested, as a captive portal or a login
    /// form sends it with status 200 for every URL.
    private func unexpectedPage(_ fields: HTTPFields) -> String? {
        expectsMedia ? page(fields) : nil
    }

    /// Whether the URL names media.
    var expectsMedia: Bool { isMediaExtension(pathExtension) }

    /// The media type of a web page; nil if the response is not one.
    func page(_ fields: HTTPFields) -> String? {
        guard let type = fields["Content-Type"].flatMap(MediaType.init) else { return nil }
        return type.essence == "text/html" || type.essence == "application/xhtml+xml" ? type.essence : nil
    }
}

extension HTTPFields {
    /// Whether `Vary` contains `*`, so that the response answers no other request (RFC 9110
    /// §12.5.5).
    fileprivate var variesByAnything: Bool {
        values(of: "Vary").contains { $0.utf8.split(separator: .comma).contains { $0.filter { !$0.isWhitespace } == [.asterisk] } }
    }
}
