import SpoolCore
import SpoolServer

/// A cookie of an origin, in the form in which a general proxy gives it to a player.
///
/// A player has one place for all cookies of the proxy, and sends those whose path fits. So the path
/// becomes the proxy's path of the origin, and the cookie reaches the children of a manifest at that
/// origin and no other origin.
enum ProxiedCookie {
    /// Returns the values of `Set-Cookie` for the client of a request. A browser gets none: for it,
    /// all programs of this machine share one place for cookies.
    static func values(_ values: [String], from url: MediaURL, for request: RequestHead, path: (String) -> String?) -> [String] {
        guard !values.isEmpty, !isBrowser(request) else { return [] }
        return values.compactMap { value($0, from: url, path: path) }
    }

    private static func isBrowser(_ request: RequestHead) -> Bool {
        request.has(.secFetchSite) || request.has(.secFetchDest) || request.has(.origin)
            || (request[.userAgent]?.hasPrefix("Mozilla/") ?? false) && request.has(.acceptLanguage)
    }

    /// Returns the value for a player, or nil for a cookie that the origin may not set.
    private static func value(_ value: String, from url: MediaURL, path: (String) -> String?) -> String? {
        let parts = value.split(separator: ";", omittingEmptySubsequences: false).map(\.withoutBlanks)
        guard var kept = parts.first.map(String.init), kept.contains("=") else { return nil }
        var place = directory(of: url.path)
        for part in parts.dropFirst() {
            let pieces = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let argument = pieces.count > 1 ? String(pieces[1].withoutBlanks) : ""
            switch pieces[0].withoutBlanks.asciiLowercased {
            case "path": place = argument.hasPrefix("/") ? argument : place
            case "domain":
                // Other hosts of the domain have another path at the proxy, and get no cookie.
                let domain = argument.drop { $0 == "." }.asciiLowercased
                guard domain.isEmpty || url.origin.host == domain || url.origin.host.hasSuffix(".\(domain)") else { return nil }
            // The connection to the proxy has no encryption, so these would stop the cookie.
            case "secure", "samesite", "partitioned", "priority": continue
            default: kept += "; \(part)"
            }
        }
        return path(url.origin.description + place).map { "\(kept); Path=\($0)" }
    }

    /// The directory of a path (RFC 6265 §5.1.4).
    private static func directory(of path: Substring) -> String {
        guard let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return "/" }
        return String(path[..<slash])
    }
}
