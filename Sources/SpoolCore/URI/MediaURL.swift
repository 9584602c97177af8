/// The URL of a resource: absolute, `http` or `https`, and with a host.
///
/// A door parses the text of its client once. The rest of the program passes the value on, which
/// has its origin and the place of its path and query.
package struct MediaURL: Hashable, Sendable, CustomStringConvertible {
    /// The whole URL. Spaces and bytes outside ASCII are percent-encoded, and all else is as given.
    package let text: String
    /// The server that is asked.
    package let origin: URIReference.Origin
    /// The length of the user information in bytes, without `@`, if there is one.
    private let userinfoLength: Int?
    private let pathStart: Int
    private let pathEnd: Int
    private let queryEnd: Int

    /// Parses the text of a URL.
    ///
    /// - Throws: `ParseError` for anything but an absolute `http` or `https` URL with a host.
    package init(_ text: String) throws(ParseError) {
        try self.init(URIReference(lenient: text))
    }

    /// Creates the URL of a parsed reference.
    ///
    /// - Throws: `ParseError` for anything but an absolute `http` or `https` URL with a host.
    package init(_ reference: URIReference) throws(ParseError) {
        guard let scheme = reference.scheme, ["http", "https"].contains(scheme.asciiLowercased) else {
            throw ParseError(offset: 0, expected: "http or https")
        }
        guard let origin = reference.origin else {
            throw ParseError(offset: scheme.utf8.count + 1, expected: "two slashes and a host")
        }
        self.origin = origin
        text = reference.text
        userinfoLength = reference.userinfo?.utf8.count
        pathStart = text.utf8.distance(from: text.startIndex, to: reference.path.startIndex)
        let pathEnd = pathStart + reference.path.utf8.count
        self.pathEnd = pathEnd
        queryEnd = reference.query.map { pathEnd + 1 + $0.utf8.count } ?? pathEnd
    }

    /// The path, which may be empty.
    package var path: Substring { text[index(pathStart)..<index(pathEnd)] }

    /// The text after `?`; nil without one.
    package var query: Substring? { queryEnd == pathEnd ? nil : text[index(pathEnd + 1)..<index(queryEnd)] }

    /// The path, `/` in place of an empty one, and the query with its question mark.
    package var target: String { (pathEnd == pathStart ? "/" : "") + text[index(pathStart)..<index(queryEnd)] }

    /// The text before `@` (`name:password`), if there is one.
    package var userinfo: Substring? {
        userinfoLength.map { length in
            let start = origin.scheme.utf8.count + "://".utf8.count
            return text[index(start)..<index(start + length)]
        }
    }

    /// The URL without user information, which identifies the user and not the resource.
    package var withoutUserinfo: String { userinfoLength == nil ? text : text.withoutUserinfo }

    /// The URL without fragment, which is for the client alone and is never sent (RFC 9110 §7.1).
    package var withoutFragment: MediaURL {
        get throws(ParseError) {
            queryEnd == text.utf8.count ? self : try MediaURL(String(text[..<index(queryEnd)]))
        }
    }

    /// The URL for logs: without user information, query and fragment, which may contain secrets.
    package var redactedForLog: String { origin.description + path }

    /// Whether the query names a signature or an expiry. The signature may cover the range of the
    /// request, and a repetition after the expiry fails.
    package var isSigned: Bool {
        query?.split(separator: "&", maxSplits: Self.maxParameters).contains { parameter in
            Self.signatureNames.contains(parameter.prefix { $0 != "=" }.asciiLowercased)
        } ?? false
    }

    /// The most parameters of a query that are looked at for a signature.
    private static let maxParameters = 64
    /// The parameters of common signed URLs, in lower case.
    private static let signatureNames: Set<String> = [
        "x-amz-signature", "x-amz-expires", "x-goog-signature", "x-goog-expires", "signature", "sig", "policy", "key-pair-id", "expires",
        "expire", "hdnea", "hdnts", "hmac", "st", "se", "sign",
    ]

    /// The text of the URL.
    package var description: String { text }

    /// Whether both URLs have the same text, which all else follows from.
    package static func == (a: MediaURL, b: MediaURL) -> Bool { a.text == b.text }

    /// Hashes the text.
    package func hash(into hasher: inout Hasher) { hasher.combine(text) }

    private func index(_ offset: Int) -> String.Index { text.utf8.index(text.startIndex, offsetBy: offset) }
}
