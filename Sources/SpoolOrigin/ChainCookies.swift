import SpoolCore

/// The cookies that the redirects of one request set for its later hops, as in a browser (RFC 6265
/// §5.3, §5.4). They end with the request.
///
/// A checker in front of a stream sets a cookie and redirects back to the stream.
struct ChainCookies: Sendable {
    private struct Cookie {
        var name: Substring
        var value: Substring
        var host: String
        /// Whether the hosts below `host` get the cookie, too.
        var includesSubdomains = false
        var path: String
        var isSecure = false
    }

    /// The most cookies of one request.
    private static let capacity = 64
    /// The most bytes of a name and its value, as in browsers.
    private static let maxBytes = 4_096

    private var cookies: [Cookie] = []
    /// Whether a redirect has set a cookie, also one that has ended.
    private(set) var wereSet = false

    /// Takes the cookies of a redirect.
    mutating func take(_ head: ResponseHead, from url: MediaURL) {
        for line in head.fields.values(of: .setCookie) { take(line, date: head.fields[.date], from: url) }
    }

    private mutating func take(_ line: String, date: String?, from url: MediaURL) {
        var parts = line.split(separator: ";", omittingEmptySubsequences: false)[...]
        guard line.utf8.count <= Self.maxBytes, let pair = parts.popFirst().map(Self.pair), let value = pair.value, !pair.name.isEmpty
        else { return }
        let path = url.path.lastIndex(of: "/").map { String(url.path[..<$0]) } ?? ""
        var cookie = Cookie(name: pair.name, value: value, host: url.origin.host, path: path.isEmpty ? "/" : path)
        var isOver = false, maxAge: Substring?
        for part in parts {
            let (name, value) = Self.pair(part)
            switch name.asciiLowercased {
            case "path": if let value, value.hasPrefix("/") { cookie.path = String(value) }
            case "secure": cookie.isSecure = true
            case "max-age": maxAge = value
            case "expires": isOver = value.flatMap { Self.isPast(String($0), date) } ?? isOver
            case "domain":
                let domain = (value?.drop { $0 == "." } ?? "").asciiLowercased
                if domain.isEmpty { continue }
                guard domain.contains("."), Self.isHost(cookie.host, below: domain) else { return }
                (cookie.host, cookie.includesSubdomains) = (domain, true)
            default: break
            }
        }
        // `Max-Age` takes precedence over `Expires`.
        if let maxAge, let seconds = Int64(maxAge) { isOver = seconds <= 0 }
        guard !cookie.isSecure || url.origin.scheme == "https" else { return }
        wereSet = true
        cookies.removeAll { ($0.name, $0.host, $0.path) == (cookie.name, cookie.host, cookie.path) }
        if !isOver, cookies.count < Self.capacity { cookies.append(cookie) }
    }

    /// Returns the value of `Cookie` for a request, or nil without a cookie. The cookies of the chain
    /// replace the given ones with their names.
    func field(for url: MediaURL, besides given: String?) -> String? {
        let path = url.path.isEmpty ? "/" : url.path
        let own = cookies.filter { cookie in
            let isHost = cookie.includesSubdomains ? Self.isHost(url.origin.host, below: cookie.host) : url.origin.host == cookie.host
            let isBelow = cookie.path.hasSuffix("/") || [nil, "/"].contains(path.dropFirst(cookie.path.count).first)
            return isHost && path.hasPrefix(cookie.path) && isBelow && (!cookie.isSecure || url.origin.scheme == "https")
        }
        guard !own.isEmpty else { return given }
        let others = (given ?? "").split(separator: ";").map(Self.pair).filter { pair in !own.contains { $0.name == pair.name } }
        let kept = others.map { pair in pair.value.map { "\(pair.name)=\($0)" } ?? String(pair.name) }
        return (kept + own.map { "\($0.name)=\($0.value)" }).joined(separator: "; ")
    }

    /// Returns a name and its value without white space around them.
    private static func pair(_ text: Substring) -> (name: Substring, value: Substring?) {
        let end = text.firstIndex(of: "=")
        return (text[..<(end ?? text.endIndex)].withoutBlanks, end.map { text[text.index(after: $0)...].withoutBlanks })
    }

    private static func isHost(_ host: String, below domain: String) -> Bool { host == domain || host.hasSuffix("." + domain) }

    /// Whether a date is not later than that of the response, or nil for a text that is no date.
    private static func isPast(_ expires: String, _ date: String?) -> Bool? {
        guard let end = HTTPDate.parse(expires) else { return nil }
        return end <= (date.flatMap { HTTPDate.parse($0) } ?? Timestamp(seconds: 0))
    }
}
