extension ResourceKey {
    /// Creates the key of a URL in the default normal form.
    ///
    /// Scheme and host are in lower case. The default port of the scheme and the fragment are
    /// dropped, and an empty path becomes `/`. User information is dropped too, because credentials
    /// identify the user and not the resource. Percent-encoding, dot segments and the order of the
    /// query stay as they are, because an origin may distinguish them. Spaces and bytes outside
    /// ASCII are percent-encoded, as every client sends them.
    ///
    /// - Throws: `ParseError` for anything but an absolute `http` or `https` URL with a host.
    public init(url: String) throws(ParseError) {
        self.init(try KeyableURL(url))
    }

    init(_ url: KeyableURL) {
        self.init(normalized: "\(url.origin)\(url.path)" + (url.query.map { "?\($0)" } ?? ""))
    }
}

/// The parts of a URL that can distinguish resources.
struct KeyableURL {
    var origin: URIReference.Origin
    var path: String
    var query: String?

    init(_ url: String) throws(ParseError) {
        let uri = try URIReference(lenient: url)
        guard let scheme = uri.scheme, ["http", "https"].contains(scheme.asciiLowercased) else {
            throw ParseError(offset: 0, expected: "http or https")
        }
        guard let origin = uri.origin else {
            throw ParseError(offset: scheme.utf8.count + 1, expected: "two slashes and a host")
        }
        self.origin = origin
        path = uri.path.isEmpty ? "/" : String(uri.path)
        query = uri.query.map(String.init)
    }
}
