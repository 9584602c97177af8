/// The part of a proxy's URL behind the proxy's address and token: a resource, or a page of the
/// proxy.
///
/// | text | meaning |
/// |---|---|
/// | `scheme/authority/path?query` | the resource of any origin |
/// | `scheme://authority/path?query` | the same, as people paste it |
/// | `?url=<percent-encoded>` | the same, for every URL, in any query |
/// | `?key=<percent-encoded>&url=<…>` | the resource under a key that its client chose |
/// | `path?query` | with a site: a path of the one origin that the proxy stands in for |
/// | `_spool/path` | a page of the proxy, or a resource that a manifest (`_spool/child/`) or a program names |
/// | nothing, `_spool` | the page of the proxy's state |
///
/// The parser reverses the printer: the text of a path has this path as its meaning.
package enum ProxiedPath: Hashable, Sendable {
    /// The URL of an origin's resource, without fragment, and the key that its client chose for it.
    case resource(MediaURL, key: String? = nil)
    /// A path of the proxy's own, without `ownPrefix`.
    case own(String)
    /// The page of the proxy's state.
    case page

    /// The beginning of the proxy's own paths.
    package static let ownPrefix = "\(ownSegment)/"
    /// The first segment of the proxy's own paths. A token differs from it.
    package static let ownSegment = "_spool"
    /// The beginning of the paths, below the proxy's own, of resources of other origins than the
    /// fixed one, or than the one whose manifest names them. They get no credentials of clients.
    package static let childPrefix = "child/"
    /// The beginning of the paths, below the proxy's own, by which programs with the proxy's secret
    /// get resources as origins send them. The secret follows, and then one of the general forms.
    package static let programPrefix = "program/"
    /// The longest key that a client may choose, in bytes. It allows any reasonable name and is far
    /// below the limit of a request line.
    package static let maxKeyBytes = 1024

    /// The reason why a text has no meaning at a proxy.
    package enum Failure: Error, Hashable, CustomStringConvertible {
        case unknownForm
        case brokenEscape
        /// The text in the place of a URL.
        case notMedia(String)
        case badKey

        /// A sentence for the client. It contains no secret of a URL, because pages show it to
        /// others.
        package var description: String {
            let form = "a proxied URL is /scheme/host/path, for example /https/example.com/song.mp3, or /?url=…"
            return switch self {
            case .unknownForm: form
            case .brokenEscape: "the value of url= is not percent-encoded UTF-8"
            case .notMedia(let text): "not an http or https URL\(Self.redacted(text).map { ": \($0)" } ?? ""); \(form)"
            case .badKey: "the value of key= is percent-encoded UTF-8 of 1 to \(ProxiedPath.maxKeyBytes) bytes without control characters"
            }
        }

        /// Returns a URL without its secrets, or nil for a text in which they cannot be found.
        private static func redacted(_ url: String) -> String? {
            guard let reference = try? URIReference(lenient: url), reference.host != nil else { return nil }
            return reference.redactedForLog
        }
    }
}

// MARK: - Parser

extension ProxiedPath {
    /// Parses the part of a path and query behind the proxy's token.
    ///
    /// - Parameter site: The origin that the proxy stands in for, or nil for a proxy of all.
    package init(_ text: Substring, site: URIReference.Origin? = nil) throws(Failure) {
        if text == Self.ownSegment || text.hasPrefix("\(Self.ownSegment)?") {
            self = .page
        } else if text.hasPrefix(Self.ownPrefix) {
            self = .own(String(text.dropFirst(Self.ownPrefix.count)))
        } else if let site {
            self = .resource(try Self.media("\(site)\(Self.pathThere(of: text))"))
        } else if text == "favicon.ico" {
            // Every browser requests it from every server.
            self = .own("icon.svg")
        } else if text.isEmpty {
            self = .page
        } else if text.hasPrefix("?") {
            self = try Self.query(text.dropFirst())
        } else {
            self = .resource(try Self.place(text))
        }
    }

    /// Returns the URL of `scheme/authority/path?query`, or of a URL as it is.
    package static func place(_ text: Substring) throws(Failure) -> MediaURL {
        var (scheme, rest) = firstSegment(of: text)
        if isPasted(text) {
            scheme = scheme.dropLast()
            // A browser or a proxy may have merged the two slashes.
            if rest.utf8.first == .slash { rest = rest.dropFirst() }
        }
        let authority = rest.utf8.prefix { $0 != .slash && $0 != .question && $0 != .hash }
        guard !authority.isEmpty else { throw .unknownForm }
        let target = rest[authority.endIndex...]
        return try media("\(scheme)://\(Substring(authority))\(target.utf8.first == .slash ? "" : "/")\(target)")
    }

    /// Whether a text is a URL as it is, in place of `scheme/authority/path`.
    package static func isPasted(_ text: Substring) -> Bool { firstSegment(of: text).segment.utf8.last == UInt8(ascii: ":") }

    private static func query(_ query: Substring) throws(Failure) -> ProxiedPath {
        guard let encoded = value(of: "url", in: query) else { return .page }
        guard let text = encoded.percentDecoded else { throw .brokenEscape }
        let url = try media(text)
        guard let encodedKey = value(of: "key", in: query) else { return .resource(url) }
        guard let key = encodedKey.percentDecoded, isKey(key) else { throw .badKey }
        return .resource(url, key: key)
    }

    /// Whether a client may choose this key.
    private static func isKey(_ key: String) -> Bool {
        (1...maxKeyBytes).contains(key.utf8.count)
            && !key.unicodeScalars.contains { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) }
    }

    /// Returns the value of the first query item with this name.
    private static func value(of name: String, in query: Substring) -> Substring? {
        query.split(separator: "&").first { $0.hasPrefix("\(name)=") }?.dropFirst(name.utf8.count + 1)
    }

    private static func media(_ text: String) throws(Failure) -> MediaURL {
        do { return try MediaURL(text).withoutFragment } catch { throw .notMedia(text) }
    }

    /// Splits a text behind its first slash, or before its query: the proxy's token and the path
    /// behind it, or a scheme and what belongs to it.
    package static func firstSegment(of text: Substring) -> (segment: Substring, rest: Substring) {
        let end = text.utf8.firstIndex { $0 == .slash || $0 == .question } ?? text.endIndex
        return (text[..<end], text[end...].utf8.first == .slash ? text[text.utf8.index(after: end)...] : text[end...])
    }
}

// MARK: - Printer

extension ProxiedPath {
    /// Returns the URL or path of this place.
    ///
    /// - Parameters:
    ///   - prefix: The address of the proxy with its token, or the path of it. A slash is its end.
    ///   - site: The origin that the proxy stands in for, or nil for a proxy of all.
    /// - Returns: Nil for a resource that such a proxy does not serve.
    package func text(below prefix: String, site: URIReference.Origin? = nil) -> String? {
        switch self {
        case .page: return prefix + Self.ownSegment
        case .own(let path): return prefix + Self.ownPrefix + path
        case .resource(let url, let key?): return site == nil && Self.isKey(key) ? prefix + Self.query(url, key: key) : nil
        case .resource(let url, nil):
            guard let site else { return prefix + (url.userinfo == nil ? Self.place(of: url) : Self.query(url)) }
            let isOwn = url.target.hasPrefix("/\(Self.ownPrefix)") || url.path == "/\(Self.ownSegment)"
            return url.origin == site && !isOwn ? Self.siteText(of: url.target, below: prefix) : nil
        }
    }

    /// Returns `?url=…` of a resource, which is its place for every URL.
    package static func query(_ url: MediaURL, key: String? = nil) -> String {
        "?" + (key.map { "key=\($0.percentEncoded)&" } ?? "") + "url=\(url.text.percentEncoded)"
    }

    /// Returns `scheme/authority/path?query` of a resource.
    package static func place(of url: MediaURL) -> String { authority(of: url) + url.target }

    /// Returns the scheme and the authority of a resource's place, with its user information.
    package static func authority(of url: MediaURL) -> String {
        "\(url.origin.scheme)/\(url.userinfo.map { "\($0)@" } ?? "")\(url.origin.authority)"
    }

    /// Returns the path at the proxy of a path of the site, with its query and fragment.
    ///
    /// The result never leads a client to another host. Two slashes at its beginning would (RFC
    /// 3986 §4.2), and browsers read a backslash as a slash. A dot segment in front keeps the path.
    package static func siteText(of target: String, below prefix: String) -> String {
        let rest = target.dropFirst()
        return prefix + (prefix == "/" && beginsWithSlash(rest) ? "./" : "") + rest
    }

    /// Returns the path at the site of the text behind the prefix: the reverse of `siteText`, for
    /// clients that keep the dot segment.
    private static func pathThere(of rest: Substring) -> String {
        "/" + (rest.utf8.starts(with: "./".utf8) && beginsWithSlash(rest.dropFirst(2)) ? rest.dropFirst(2) : rest)
    }

    private static func beginsWithSlash(_ text: Substring) -> Bool { text.utf8.first == .slash || text.utf8.first == .backslash }
}
