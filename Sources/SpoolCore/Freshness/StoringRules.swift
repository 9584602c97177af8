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
    /// The most bytes that are stored of one resource; nil for unlimited.
    package var maxResourceBytes: Int64?

    /// Creates the rules.
    package init(policy: CachePolicy = .preferStored, isShared: Bool = false, isAuthorized: Bool = false, pathExtension: String = "") {
        self.policy = policy
        self.isShared = isShared
        self.isAuthorized = isAuthorized
        self.pathExtension = pathExtension
    }

    /// The reason why a response with this status and these fields, of a resource of this length,
    /// must not be stored; nil when it may be.
    package func passReason(status: Int = 200, for fields: HTTPFields, length: Int64? = nil) -> NotStoredReason? {
        if let maxResourceBytes, let length, length > maxResourceBytes { return .tooLarge(limit: maxResourceBytes) }
        if let page = unexpectedPage(fields) { return .unexpectedType(page) }
        let control = CacheControl(response: fields, isShared: isShared)
        if let reason = passReason(status: status, fields, control) { return reason }
        if fields.contains(.icyMetaInt) { return .titlesBetweenBytes }
        guard policy != .storeEverything else { return nil }
        // A cache that understands the status follows `must-understand` in place of `no-store` (RFC
        // 9111 §5.2.2.3).
        if control.noStore, !control.mustUnderstand || !StatusRules.isUnderstood(status) { return .noStore }
        if isShared, control.private == .response { return .privateResponse }
        // RFC 9111 §3.5.
        if isShared, isAuthorized, !control.public, control.sMaxAge == nil, !control.mustRevalidate { return .authorizedRequest }
        // RFC 9110 §12.5.5.
        if fields.names(listedIn: .vary).contains("*") { return .varyAny }
        return nil
    }

    /// The reason why the status forbids storing; nil for 200, 206 and 416, which are about the
    /// bytes of the resource.
    ///
    /// Other responses are stored if they can be reused later: they state a lifetime, or a
    /// heuristic or a validator may apply (RFC 9111 §3).
    private func passReason(status: Int, _ fields: HTTPFields, _ control: CacheControl) -> NotStoredReason? {
        guard ![200, 206, 416].contains(status) else { return nil }
        guard StatusRules.isFinal(status), !control.mustUnderstand || StatusRules.isUnderstood(status) else { return .status(status) }
        if Freshness.isStated(fields, control, isShared: isShared) { return nil }
        let isKnown = StatusRules.isHeuristicallyCacheable(status) || control.public
        return isKnown && (fields.contains(.lastModified) || fields.contains(.entityTag)) ? nil : .status(status)
    }

    /// The type of a page that comes where media were requested, as a captive portal or a login
    /// form sends it with status 200 for every URL.
    private func unexpectedPage(_ fields: HTTPFields) -> String? {
        expectsMedia ? page(fields) : nil
    }

    /// Whether the URL names media.
    var expectsMedia: Bool { MediaKind.isMediaExtension(pathExtension) }

    /// The media type of a web page; nil if the response is not one.
    func page(_ fields: HTTPFields) -> String? {
        guard let type = fields[.contentType].flatMap(MediaType.init) else { return nil }
        return type.essence == "text/html" || type.essence == "application/xhtml+xml" ? type.essence : nil
    }
}
