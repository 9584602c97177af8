import Spool
import SpoolCore
import SpoolServer

/// Decides the fields of every answer about a resource: hits, misses and errors.
///
/// A general proxy serves all origins from one browser origin, its own. Were an origin's page run there, its script could read what every
/// other origin stored and reach the private networks of the proxy. So a general proxy takes all power from content that a browser runs:
/// it appends a policy of its own (several policies all hold), and drops the fields by which an origin acts on more than its response.
/// A proxy that stands in for one site passes on that site's fields.
struct ResourceFields: Sendable {
    /// Whether the proxy stands in for the resource's site.
    let isSite: Bool

    /// The fields of an answer with content of `representation`; the caller adds `Age` and `Content-Range`.
    func content(of representation: Representation, _ source: CacheStatus.Source, cookies: [String] = []) -> HTTPFields {
        var fields = withoutPower(representation.fields)
        fields["Accept-Ranges"] = "bytes"
        for cookie in cookies { fields.append("Set-Cookie", cookie) }
        // Caches before us come first in the list (RFC 9211 §2).
        fields.append("Cache-Status", CacheStatus(source: source).fieldValue)
        return fields
    }

    /// The fields of an error's answer, whose text is the proxy's own.
    func error(_ fields: HTTPFields) -> HTTPFields { withoutPower(fields) }

    /// Why a browser does not get this content for what it wants to do with it, or nil.
    func refusal(of request: RequestHead, _ representation: Representation) -> String? {
        guard !isSite, BrowserDestination(request["Sec-Fetch-Dest"]) == .document, BrowserContent(representation.fields) == .active else {
            return nil
        }
        let type = representation.contentType ?? ""
        return
            "a browser would run this resource ('\(type)') as a page of this proxy; open it at its origin, or serve the site with --origin"
    }

    /// Why a browser does not get anything for what it wants to do with it, or nil.
    func refusal(of request: RequestHead) -> String? {
        guard !isSite, request.has("Sec-Fetch-Dest"), BrowserDestination(request["Sec-Fetch-Dest"]) == .code else { return nil }
        return "a browser would run this resource as code; this proxy serves media, and a whole site with --origin"
    }

    /// Whether a browser wants a document, whose type decides whether it gets one.
    func wantsDocument(_ request: RequestHead) -> Bool {
        !isSite && request.has("Sec-Fetch-Dest") && BrowserDestination(request["Sec-Fetch-Dest"]) == .document
    }

    // MARK: Power

    private func withoutPower(_ fields: HTTPFields) -> HTTPFields {
        guard !isSite else { return fields }
        let kind = BrowserContent(fields)
        var result = HTTPFields(
            fields.lines.compactMap { field in
                if Self.isDropped(field.name) { return nil }
                guard field.name.equalsIgnoringCase(Self.policy) else { return field }
                return Self.withoutReports(field.value).map { .init(name: field.name, value: $0) }
            })
        result.append(Self.policy, kind == .inactive ? Self.mediaPolicy : Self.sandboxPolicy)
        result["Referrer-Policy"] = "no-referrer"
        // Content that may be mistyped media keeps the type that a player finds by looking at its bytes.
        if kind != .unknown { result["X-Content-Type-Options"] = "nosniff" }
        return result
    }

    private static let policy = "Content-Security-Policy"
    /// A document of its own without origin, scripts or parts.
    private static let sandboxPolicy = "sandbox; default-src 'none'"
    /// Without `sandbox`: a browser's media document asks for its own URL, and from a sandbox that would come from a foreign site.
    private static let mediaPolicy = "default-src 'none'; media-src 'self'; img-src 'self'; style-src 'unsafe-inline'"

    private static func isDropped(_ name: String) -> Bool {
        let name = name.asciiLowercased
        return droppedNames.contains(name) || name.hasPrefix("attribution-reporting-")
    }

    /// Fields that act on the browser's origin, on other resources of it, on later requests, or that report its URLs to a third party.
    private static let droppedNames: Set<String> = [
        "accept-ch", "activate-storage-access", "alt-svc", "clear-site-data", "content-security-policy-report-only", "critical-ch",
        "expect-ct", "link", "nel", "observe-browsing-topics", "origin-trial", "public-key-pins", "public-key-pins-report-only", "refresh",
        "report-to", "reporting-endpoints", "secure-session-registration", "service-worker-allowed", "set-cookie", "set-cookie2",
        "set-login", "sourcemap", "speculation-rules", "strict-transport-security", "use-as-dictionary", "x-sourcemap",
    ]

    /// An origin's policy without the directives that would send this proxy's URLs, token included, elsewhere; nil when nothing is left.
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
