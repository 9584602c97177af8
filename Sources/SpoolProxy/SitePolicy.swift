import Spool
import SpoolCore
import SpoolServer
import SpoolSystem

/// Which web sites may make a browser ask this proxy.
///
/// A page of any site can point a browser at an address of this machine. What a browser says of the page that asks can't be forged by the
/// page: `Origin` (RFC 6454), `Sec-Fetch-Site` where there is none, and `Referer` where there is neither. Players say nothing, and are served.
struct SitePolicy: Sendable {
    private let allowsAll: Bool
    /// As `Origin` has them, in lower case.
    private let allowed: Set<String>

    /// - Throws: `.configuration` for a site that is none.
    init(allowsAll: Bool, allowed sites: [String]) throws(CacheError) {
        self.allowsAll = allowsAll
        var allowed = Set<String>()
        for site in sites {
            // What browsers say for a file, and for a page that may not tell.
            if site == "null" {
                allowed.insert(site)
            } else {
                allowed.insert(try ProxyTargetRules.origin(site).description)
            }
        }
        self.allowed = allowed
    }

    /// Why a browser's request is refused, or nil when it is not.
    ///
    /// Only for a request whose `Host` was found to be this proxy: a page that comes from there may ask there.
    func refusal(of request: RequestHead) -> String? {
        guard !allowsAll else { return nil }
        guard request.has("Origin") else {
            guard let site = request["Sec-Fetch-Site"] else { return refusalByReferer(of: request) }
            let isForeign = site.equalsIgnoringCase("cross-site")
            return isForeign ? "a browser asks on behalf of a foreign site; allow the site with --allow-site" : nil
        }
        guard let origin = request.fields.single("Origin").value, isAllowed(origin, request.authority) else {
            return "a browser asks on behalf of '\(request["Origin"] ?? "")'; allow that with --allow-site"
        }
        return nil
    }

    /// Browsers without Fetch Metadata, and all of them on a plain network address, say where they come from in `Referer` at most.
    private func refusalByReferer(of request: RequestHead) -> String? {
        guard request.has("Referer"), let referer = request["Referer"] else { return nil }
        let origin: URIReference.Origin?
        do { origin = try URIReference(lenient: referer).origin } catch { origin = nil }
        guard let origin, isAllowed(origin.description, request.authority) else {
            let site = origin?.description ?? "a page that can't be told"
            return "the Referer names a foreign site, \(site); allow it with --allow-site"
        }
        return nil
    }

    private func isAllowed(_ text: String, _ authority: String?) -> Bool {
        if text == "null" { return allowed.contains(text) }
        guard let reference = try? URIReference(text), let origin = reference.origin else { return false }
        if allowed.contains(origin.description) || origin.host.isLoopbackHost { return true }
        return authority?.asciiLowercased == origin.authority
    }
}

extension String {
    /// Whether a URL's host means this machine: `localhost` and what lies below it (RFC 6761 §6.3), or a loopback address.
    var isLoopbackHost: Bool {
        self == "localhost" || hasSuffix(".localhost") || SocketAddress(literal: self, port: 0)?.isLoopback ?? false
    }
}
