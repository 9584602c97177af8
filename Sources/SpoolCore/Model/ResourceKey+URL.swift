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
        self.init(try MediaURL(url))
    }

    /// Creates the key of a URL in the default normal form.
    package init(_ url: MediaURL) {
        self.init(origin: url.origin, path: url.path, query: url.query)
    }

    init(origin: URIReference.Origin, path: some StringProtocol, query: (some StringProtocol)?) {
        self.init(normalized: "\(origin)\(path.isEmpty ? "/" : String(path))" + (query.map { "?\($0)" } ?? ""))
    }
}
