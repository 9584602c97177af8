package import SpoolCore

/// The cookies that a user supplies, and the selection of those that belong to a request (RFC 6265
/// §5.4).
///
/// The jar is read once and never changes: a `Set-Cookie` of an origin is not added.
package struct CookieJar: Hashable, Sendable {
    /// One cookie, with the columns of its line in the file.
    package struct Cookie: Hashable, Sendable {
        /// The domain in lower case, without a leading dot.
        package var domain: String
        /// The only origin that gets the cookie, if the line names one in place of a domain.
        package var origin: URIReference.Origin?
        /// Whether subdomains get the cookie, too.
        package var includesSubdomains: Bool
        /// The path below which the cookie is sent.
        package var path: String
        /// Whether the cookie is sent over HTTPS only.
        package var isSecure: Bool
        /// The expiry; nil for a cookie that ends with a browser's session.
        package var expires: Timestamp?
        /// The name.
        package var name: String
        /// The value.
        package var value: String
    }

    /// The most cookies in one request. Browsers keep 180 for a domain.
    package static let mostCookies = 180
    /// The most bytes of one `Cookie` field. nginx and Apache accept 8 KiB for a field.
    package static let mostBytes = 8192

    /// The cookies in the order of the file.
    package private(set) var cookies: [Cookie] = []

    /// Creates a jar without cookies.
    package init() {}

    /// Reads a file in the format of Netscape's `cookies.txt`, which curl, wget and yt-dlp write.
    ///
    /// Only `https` origins get a cookie of a domain, on every port (RFC 6265 §8.5). An origin in
    /// place of the domain, such as `http://nas.local:8096`, permits that origin alone.
    ///
    /// A line has seven columns with tabs between them: domain, `TRUE` if subdomains get the
    /// cookie, path, `TRUE` for HTTPS only, expiry in seconds since 1970 or 0, name, value. Lines
    /// that begin with `#` are comments, except for `#HttpOnly_` before a domain.
    ///
    /// - Throws: `ParseError` at the first line that is neither a cookie nor a comment. Its
    ///   `offset` is the number of the line, counted from 1.
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
        // Some programs omit the last column when it is empty.
        if columns.count == 6 { columns.append("") }
        guard columns.count == 7, let seconds = Int64(columns[4]), columns[2].hasPrefix("/") else { return nil }
        guard let includesSubdomains = flag(columns[1]), let isSecure = flag(columns[3]) else { return nil }
        // The parser's error says only that the text is no origin.
        var origin: URIReference.Origin?
        if columns[0].contains("://"), let named = try? URIReference(columns[0]) { origin = named.origin }
        let domain = origin?.host ?? (columns[0].hasPrefix(".") ? String(columns[0].dropFirst()) : columns[0])
        guard !domain.isEmpty, columns[5].utf8.allSatisfy(isPartOfCookie), columns[6].utf8.allSatisfy(isPartOfCookie) else { return nil }
        return Cookie(
            domain: domain.asciiLowercased, origin: origin, includesSubdomains: includesSubdomains, path: columns[2], isSecure: isSecure,
            expires: seconds > 0 ? Timestamp(seconds: seconds) : nil, name: columns[5], value: columns[6])
    }

    private static func flag(_ text: String) -> Bool? {
        text.equalsIgnoringCase("TRUE") ? true : text.equalsIgnoringCase("FALSE") ? false : nil
    }

    /// Whether the byte may be part of a cookie. A semicolon would end the cookie, and a control
    /// character the field.
    private static func isPartOfCookie(_ byte: UInt8) -> Bool { byte > 0x1F && byte != 0x7F && byte != UInt8(ascii: ";") }

    /// The value of `Cookie` for a request to `url`: longer paths first, otherwise in the order of
    /// the file.
    /// - Returns: nil if no cookie belongs to the request.
    package func field(for url: String, now: Timestamp) -> String? {
        let reference: URIReference
        do { reference = try URIReference(lenient: url) } catch {
            // The transport rejects a URL that can't be split.
            return nil
        }
        guard let origin = reference.origin else { return nil }
        let path = reference.path.isEmpty ? "/" : String(reference.path)
        let matching = cookies.enumerated()
            .filter { $0.element.matches(origin, path: path, now: now) }
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
    /// Whether the cookie belongs to a request (RFC 6265 §5.1.3, §5.1.4).
    fileprivate func matches(_ asked: URIReference.Origin, path: String, now: Timestamp) -> Bool {
        guard asked.scheme == "https" || (!isSecure && origin == asked), now.isBelow(expires) else { return false }
        if let origin, origin != asked { return false }
        let host = asked.host.asciiLowercased
        // An address needs no special case, because no host ends with a dot and an address.
        guard host == domain || (includesSubdomains && host.hasSuffix("." + domain)) else { return false }
        return path == self.path
            || (path.hasPrefix(self.path) && (self.path.hasSuffix("/") || path.dropFirst(self.path.count).first == "/"))
    }
}
