import SpoolCore
import SpoolOrigin
import SpoolServer

/// Decides which web sites may make a browser send requests to this proxy.
///
/// A page of any site can point a browser at an address of this machine. Browsers name the
/// requesting page in fields that the page cannot forge: `Origin` (RFC 6454), else
/// `Sec-Fetch-Site`, else `Referer`. Players send neither of the first two. A player may send the
/// `Referer` that its user gives it, and is served.
struct SitePolicy: Sendable {
    private let allowsAll: Bool
    /// The allowed sites in the form of `Origin`, in lower case.
    private let allowed: Set<String>

    /// Creates a policy.
    ///
    /// - Throws: `.configuration` for an invalid site.
    init(allowsAll: Bool, allowed sites: [String]) throws(CacheError) {
        self.allowsAll = allowsAll
        var allowed = Set<String>()
        for site in sites {
            // Browsers send `null` for a file, and for a page that hides its origin.
            if site == "null" {
                allowed.insert(site)
            } else {
                allowed.insert(try ProxyTargetRules.origin(site).description)
            }
        }
        self.allowed = allowed
    }

    /// Returns the reason why a browser's request is refused, or nil when it is allowed.
    ///
    /// Call it only for a request whose `Host` is this proxy. Pages of that host are allowed.
    func refusal(of request: RequestHead) -> String? {
        guard !allowsAll else { return nil }
        guard request.has(.origin) else {
            guard let site = request[.secFetchSite] else { return refusalByReferer(of: request) }
            let isForeign = site.equalsIgnoringCase("cross-site")
            return isForeign ? "a browser asks on behalf of a foreign site; allow the site with --allow-site" : nil
        }
        guard let origin = request.fields.single(.origin).value, isAllowed(origin, request) else {
            return "a browser asks on behalf of \(Self.shown(request[.origin])); allow that with --allow-site"
        }
        return nil
    }

    /// Whether a refused request is one of a player to which its user gave an `Origin`.
    ///
    /// Current browsers send `Sec-Fetch-*` to this machine, and older ones the page or its cookies
    /// with most requests. A page that comes through all the same cannot read the answer, which
    /// grants it nothing.
    static func isOfPlayer(_ request: RequestHead) -> Bool {
        let fields = request.fields
        return ["GET", "HEAD"].contains(request.method) && request.has(.origin) && !request.has(.cookie) && !request.has(.referer)
            && !RequestFields.isFromBrowser(fields) && !fields.lines.contains { $0.name.asciiLowercased.hasPrefix("sec-fetch-") }
    }

    /// Checks the `Referer`. It is the most that browsers without Fetch Metadata send, and that any
    /// browser sends to a plain network address.
    private func refusalByReferer(of request: RequestHead) -> String? {
        guard request.has(.referer), let referer = request[.referer], mayComeFromPage(request.fields) else { return nil }
        guard let origin = Self.origin(referer), isAllowed(origin.description, request) else {
            return "the Referer names a foreign site, \(Self.shown(referer)); allow it with --allow-site"
        }
        return nil
    }

    private static func origin(_ text: String) -> URIReference.Origin? {
        do { return try URIReference(lenient: text).origin } catch { return nil }
    }

    /// Returns a site for a sentence that the page shows to others, without the rest of its URL.
    private static func shown(_ text: String?) -> String {
        guard let text, text != "null" else { return "'\(text ?? "")'" }
        return origin(text)?.description ?? "an unknown page"
    }

    /// Whether a page may have caused the request. Safari leaves media to a player of the system.
    private func mayComeFromPage(_ fields: HTTPFields) -> Bool {
        RequestFields.isFromBrowser(fields) || fields[.userAgent]?.hasPrefix("AppleCoreMedia/") == true
    }

    private func isAllowed(_ text: String, _ request: RequestHead) -> Bool {
        if text == "null" { return allowed.contains(text) }
        guard let reference = try? URIReference(text), let origin = reference.origin else { return false }
        if allowed.contains(origin.description) || Loopback.isHost(origin.host) { return true }
        return [request.authority, request.publicAuthority].contains { $0?.asciiLowercased == origin.authority }
    }
}
