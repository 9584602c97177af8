/// A URI or a relative reference, split into its components (RFC 3986 §4.1).
///
/// The components are parts of the given text: nothing is decoded, encoded or reordered. The
/// grammar is enforced for scheme, user information, host and port, which decide which server is
/// contacted. Path, query and fragment need only be visible ASCII, because origins accept more than
/// the grammar permits.
package struct URIReference: Hashable, Sendable {
    /// The whole text.
    package let text: String
    /// The name before the first colon; nil in a relative reference.
    package let scheme: Substring?
    /// The text before `@`; nil when there is no `@`.
    package let userinfo: Substring?
    /// A name, an IPv4 address, or an IPv6 address in its brackets. It may be empty, and is nil
    /// without `//`.
    package let host: Substring?
    /// The number after the host; nil when there is none, or nothing follows its colon.
    package let port: Int?
    /// The path, which may be empty.
    package let path: Substring
    /// The text after `?`; nil without one.
    package let query: Substring?
    /// The text after `#`; nil without one.
    package let fragment: Substring?

    /// The longest text that is read, in bytes.
    package static let maxBytes = 65_536

    /// Splits a URI or a relative reference into its components.
    /// - Throws: `ParseError` with the offset of the first byte that does not fit.
    package init(_ text: String) throws(ParseError) {
        var splitter = try URISplitter(text)
        scheme = try splitter.scheme()
        let authority = try splitter.authority()
        userinfo = authority.userinfo
        host = authority.host
        port = authority.port
        path = splitter.path()
        query = splitter.query()
        fragment = splitter.fragment()
        self.text = text
    }

    /// Splits a URI as people and servers write it. Spaces and bytes outside ASCII are
    /// percent-encoded first, as browsers do.
    /// - Throws: `ParseError`, whose offset counts the encoded text.
    package init(lenient text: String) throws(ParseError) {
        let isPlain = !text.utf8.contains { $0 == .space || $0 > 0x7F }
        try self.init(isPlain ? text : text.utf8.percentEncoded { $0 == .space || $0 > 0x7F })
    }
}

// MARK: - Components

extension URIReference {
    /// Scheme, host and port: the server that is contacted (RFC 9110 §4.3.1). Two URIs of one
    /// origin may share credentials.
    package struct Origin: Hashable, Sendable, CustomStringConvertible {
        /// The scheme in lower case.
        package let scheme: String
        /// The host in lower case; an IPv6 address keeps its brackets.
        package let host: String
        /// The port, even if it is the default of the scheme.
        package let port: Int

        /// Whether the port is the default of the scheme.
        package var hasDefaultPort: Bool { port == URIReference.defaultPort(ofScheme: scheme) }

        /// The value of `Host`: host and port, without a default port (RFC 9110 §7.2).
        package var authority: String { hasDefaultPort ? host : "\(host):\(port)" }

        /// The origin as a URL without path.
        package var description: String { "\(scheme)://\(authority)" }
    }

    /// The origin; nil without scheme or host, or when the port is neither given nor known from the
    /// scheme.
    package var origin: Origin? {
        guard let scheme = scheme?.asciiLowercased, let host, !host.isEmpty else { return nil }
        guard let port = port ?? Self.defaultPort(ofScheme: scheme) else { return nil }
        return Origin(scheme: scheme, host: host.asciiLowercased, port: port)
    }

    static func defaultPort(ofScheme scheme: String) -> Int? {
        switch scheme {
        case "http": 80
        case "https": 443
        default: nil
        }
    }

    /// The URI for logs: without user information, query and fragment, which may contain secrets.
    package var redactedForLog: String {
        guard let host else { return (scheme.map { "\($0):" } ?? "") + path }
        return (scheme.map { "\($0)://" } ?? "//") + host + (port.map { ":\($0)" } ?? "") + path
    }
}

extension String {
    /// The user information of a URL (`name:password`); nil if there is none or the text is not a
    /// URL.
    package var userinfo: Substring? {
        guard utf8.contains(.at) else { return nil }
        do { return try URIReference(lenient: self).userinfo } catch { return nil }
    }

    /// The URL without user information, which identifies the user and not the resource.
    package var withoutUserinfo: String {
        guard userinfo != nil, let slashes = utf8.firstIndex(of: .slash) else { return self }
        // `URIReference(lenient:)` changes no byte before the user information, and the bytes after
        // it are not read here.
        let start = utf8.index(slashes, offsetBy: 2)
        let end = utf8[start...].firstIndex { $0 == .slash || $0 == .question || $0 == .hash } ?? utf8.endIndex
        guard let at = utf8[start..<end].lastIndex(of: .at) else { return self }
        return String(self[..<start]) + self[utf8.index(after: at)...]
    }
}
