import Spool
import SpoolCore
import SpoolServer

/// Decides the fields of every response about a resource: hits, misses and errors.
///
/// A general proxy serves all origins from one browser origin, its own. If a page of an origin ran
/// there, its script could read the stored bytes of every other origin and reach the private
/// networks of the proxy. So a general proxy removes all rights from content that a browser runs.
/// It appends a policy of its own (a browser enforces all policies), and drops the fields by which
/// an origin acts on more than its response. A proxy that stands in for one site forwards that
/// site's fields.
struct ResourceFields: Sendable {
    /// The site that the proxy stands in for, or nil for a general proxy.
    let site: FixedSite?
    /// Whether the answer grants other sites nothing, because a page may have sent the request.
    var grantsNothing = false

    /// Whether the proxy stands in for the resource's site.
    var isSite: Bool { site != nil }

    /// Returns the rules for a response. One that came from another origin, by redirects of the
    /// site, has none of the site's rights.
    func of(_ representation: Representation) -> ResourceFields {
        guard let site, let final = representation.finalOrigin, final != site.origin else { return self }
        return ResourceFields(site: nil)
    }

    /// Returns the fields of a response with content of `representation`, which these rules are
    /// for. The caller adds `Age` and `Content-Range`.
    ///
    /// - Parameter own: The origin's fields for this client alone, without its cookies.
    func content(
        of representation: Representation, _ source: CacheStatus.Source, isCollapsed: Bool = false, own: HTTPFields = [:],
        cookies: [String] = [], forwardStatus: Int? = nil
    ) -> HTTPFields {
        var all = representation.fieldsForClient
        if !own.lines.isEmpty { all = HTTPFields(all.lines + own.lines) }
        var fields = site?.withLocationsHere(all) ?? withoutPower(all)
        if representation.isContent {
            fields[.acceptRanges] = "bytes"
        } else if !isSite {
            // The content of an error is no media whose type a player has to detect.
            fields[.xContentTypeOptions] = "nosniff"
        }
        for cookie in cookies { fields.append(.setCookie, cookie) }
        // Caches nearer to the origin come first in the list (RFC 9211 §2).
        fields.append(.cacheStatus, CacheStatus(source, forwardStatus: forwardStatus, isCollapsed: isCollapsed).fieldValue)
        return fields
    }

    /// Returns the fields of a response that is passed on as it comes.
    func forwarded(_ head: ResponseHead) -> HTTPFields {
        site?.fieldsForClient(head) ?? withoutPower(FixedSite.endToEnd(head.fields))
    }

    /// Returns the fields of an error response, whose text is the proxy's own.
    func error(_ fields: HTTPFields) -> HTTPFields { withoutPower(fields) }

    /// Returns the reason why a browser does not get this content for its purpose, or nil.
    func refusal(of request: RequestHead, _ representation: Representation) -> String? {
        let type = representation.contentType ?? ""
        if grantsNothing, !Self.isForPlayer(representation, url: request.path) {
            return "a web page could have asked for this content ('\(type)'), which is no media; allow the site with --allow-site"
        }
        guard !isSite, BrowserDestination(request[.secFetchDest]) == .document, BrowserContent(representation.fields) == .active else {
            return nil
        }
        return
            "a browser would run this resource ('\(type)') as a page of this proxy; open it at its origin, or serve the site with --origin"
    }

    /// Whether content is what players ask for: media or a manifest, by its type, or by its URL where
    /// the type says nothing.
    private static func isForPlayer(_ representation: Representation, url: String) -> Bool {
        let kind = MediaKind.ofFileExtension(fileExtension(url: url, contentType: representation.contentType))
        return kind.map { $0.isPlaylist || BrowserContent(representation.fields) != .active } ?? false
    }

    /// Returns the reason why a browser gets no content at all for its purpose, or nil.
    func refusal(of request: RequestHead) -> String? {
        guard !isSite, request.has(.secFetchDest), BrowserDestination(request[.secFetchDest]) == .code else { return nil }
        return "a browser would run this resource as code; this proxy serves media, and a whole site with --origin"
    }

    /// Whether a browser requests a document. The content's type then decides whether it gets one.
    func wantsDocument(_ request: RequestHead) -> Bool {
        !isSite && request.has(.secFetchDest) && BrowserDestination(request[.secFetchDest]) == .document
    }

    // MARK: Restrictions

    private func withoutPower(_ fields: HTTPFields) -> HTTPFields {
        guard !isSite else { return fields }
        let kind = BrowserContent(fields)
        var result = HTTPFields(
            fields.lines.compactMap { field in
                if Self.isDropped(field.name) || (grantsNothing && Self.isGrant(field.name)) { return nil }
                guard field.isNamed(.contentSecurityPolicy) else { return field }
                return Self.withoutReports(field.value).map { .init(name: field.name, value: $0) }
            })
        result.append(.contentSecurityPolicy, kind == .inactive ? Self.mediaPolicy : Self.sandboxPolicy)
        result[.referrerPolicy] = "no-referrer"
        // Content that may be mistyped media is sent without `nosniff`, so that a player can detect
        // its type from the bytes.
        if kind != .unknown { result[.xContentTypeOptions] = "nosniff" }
        return result
    }

    /// The policy for a document: its own opaque origin, no scripts and no parts.
    private static let sandboxPolicy = "sandbox; default-src 'none'"
    /// The policy for media, without `sandbox`. A browser's media document requests its own URL,
    /// and from a sandbox that request would come from a foreign site.
    private static let mediaPolicy = "default-src 'none'; media-src 'self'; img-src 'self'; style-src 'unsafe-inline'"

    private static func isGrant(_ name: String) -> Bool {
        let name = name.asciiLowercased
        return name.hasPrefix("access-control-") || name == "timing-allow-origin"
    }

    private static func isDropped(_ name: String) -> Bool {
        let name = name.asciiLowercased
        return droppedNames.contains(name) || name.hasPrefix("attribution-reporting-")
    }

    /// Fields that act on the browser's origin, on its other resources or on later requests, or
    /// that report its URLs to a third party.
    private static let droppedNames: Set<String> = [
        "accept-ch", "activate-storage-access", "alt-svc", "clear-site-data", "content-security-policy-report-only", "critical-ch",
        "expect-ct", "link", "nel", "observe-browsing-topics", "origin-trial", "public-key-pins", "public-key-pins-report-only", "refresh",
        "report-to", "reporting-endpoints", "secure-session-registration", "service-worker-allowed", "set-cookie", "set-cookie2",
        "set-login", "sourcemap", "speculation-rules", "strict-transport-security", "use-as-dictionary", "x-sourcemap",
    ]

    /// Returns an origin's policy without the directives that would send this proxy's URLs, and so
    /// the token, elsewhere. Returns nil when nothing is left.
    private static func withoutReports(_ policy: String) -> String? {
        guard policy.asciiLowercased.contains("report-") else { return policy }
        // A comma separates policies.
        let policies = policy.split(separator: ",").map { policy in
            policy.split(separator: ";").filter { directive in
                let name = directive.drop { $0 == " " || $0 == "\t" }.asciiLowercased
                return !name.hasPrefix("report-uri") && !name.hasPrefix("report-to")
            }.joined(separator: ";")
        }.filter { $0.contains { $0 != " " } }
        return policies.isEmpty ? nil : policies.joined(separator: ",")
    }
}
