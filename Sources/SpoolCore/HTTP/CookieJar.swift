/// Cookies that a user hands in, and which of them go with a request (RFC 6265 §5.4).
///
/// The jar is read once and does not change: a `Set-Cookie` of an origin is not entered.
package struct CookieJar: Hashable, Sendable {
    /// One cookie, by the columns of its line.
    package struct Cookie: Hashable, Sendable {
        /// Without a leading dot, in lower case.
        package var domain: String
        package var includesSubdomains: Bool
        package var path: String
        package var isSecure: Bool
        /// Nil for a cookie that ends with a browser's session.
        package var expires: Timestamp?
        package var name: String
        package var value: String
    }

    /// The most cookies that go with one request. Browsers keep 180 for a domain.
    package static let mostCookies = 180
    /// The most bytes of one `Cookie` field; nginx and Apache take 8 KiB of a field.
    package static let mostBytes = 8192

    package private(set) var cookies: [Cookie] = []

    package init() {}

    /// Reads a file in the format of Netscape's `cookies.txt`, which curl, wget and yt-dlp write.
    ///
    /// A line has seven columns with a tab between two: domain, `TRUE` where subdomains get it, path, `TRUE` for HTTPS only, seconds
    /// since 1970 or 0, name, value. Lines that begin with `#` are comments, but for `#HttpOnly_` before a domain.
    ///
    /// - Throws: at the first line that is neither; `offset` is its number, from 1.
    package init(netscape text: String) throws(ParseError) {
        var number = 0
        for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            number += 1
            let prefix = "#HttpOnly_"
            let content = line.hasPrefix(prefix) ? line.dropFirst(prefix.count) : line
            guard content.contains(where: { $0 != " " && $0 != "\t" }), !content.hasPrefix("#") else { continue }
            guard let cookie = Self.cookie(content) else {
                throw ParseError(offset: number, expected: "seven columns with tabs between them in line \(number)")
            }
            cookies.append(cookie)
        }
    }

    private static func cookie(_ line: Substring) -> Cookie? {
        var columns = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        // Some programs leave the last column out when it is empty.
        if columns.count == 6 { columns.append("") }
        guard columns.count == 7, let seconds = Int64(columns[4]), columns[2].hasPrefix("/") else { return nil }
        guard let includesSubdomains = flag(columns[1]), let isSecure = flag(columns[3]) else { return nil }
        let domain = columns[0].hasPrefix(".") ? String(columns[0].dropFirst()) : columns[0]
        guard !domain.isEmpty, columns[5].utf8.allSatisfy(isPartOfCookie), columns[6].utf8.allSatisfy(isPartOfCookie) else { return nil }
        return Cookie(
            domain: domain.asciiLowercased, includesSubdomains: includesSubdomains, path: columns[2], isSecure: isSecure,
            expires: seconds > 0 ? Timestamp(seconds: seconds) : nil, name: columns[5], value: columns[6])
    }

    private static func flag(_ text: String) -> Bool? {
        text.equalsIgnoringCase("TRUE") ? true : text.equalsIgnoringCase("FALSE") ? false : nil
    }

    /// A semicolon would end the cookie, and a control character the field.
    private static func isPartOfCookie(_ byte: UInt8) -> Bool { byte > 0x1F && byte != 0x7F && byte != UInt8(ascii: ";") }

    /// The value of `Cookie` for a request, or nil when no cookie goes with it: longer paths first, otherwise as in the file.
    package func field(for url: String, now: Timestamp) -> String? {
        let reference: URIReference
        do { reference = try URIReference(lenient: url) } catch {
            // The transport refuses what can't be split.
            return nil
        }
        guard let origin = reference.origin else { return nil }
        let path = reference.path.isEmpty ? "/" : String(reference.path)
        let matching = cookies.enumerated()
            .filter { $0.element.matches(host: origin.host, path: path, isSecure: origin.scheme == "https", now: now) }
            .sorted { ($1.element.path.utf8.count, $0.offset) < ($0.element.path.utf8.count, $1.offset) }
        var value = ""
        for (_, cookie) in matching.prefix(Self.mostCookies) {
            let pair = cookie.name.isEmpty ? cookie.value : "\(cookie.name)=\(cookie.value)"
            guard value.utf8.count + pair.utf8.count + 2 <= Self.mostBytes else { break }
            value += value.isEmpty ? pair : "; \(pair)"
        }
        return value.isEmpty ? nil : value
    }
}

extension CookieJar.Cookie {
    /// Whether it goes with a request (RFC 6265 §5.1.3, §5.1.4).
    fileprivate func matches(host: String, path: String, isSecure: Bool, now: Timestamp) -> Bool {
        guard isSecure || !self.isSecure, expires.map({ $0 > now }) ?? true else { return false }
        let host = host.asciiLowercased
        // An address has no subdomains; none ends with a dot and a domain that is an address.
        guard host == domain || (includesSubdomains && host.hasSuffix("." + domain)) else { return false }
        return path == self.path
            || (path.hasPrefix(self.path) && (self.path.hasSuffix("/") || path.dropFirst(self.path.count).first == "/"))
    }
}
