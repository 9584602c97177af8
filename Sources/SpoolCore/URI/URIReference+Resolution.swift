// Resolution of relative references against a base (RFC 3986 §5), as redirects and playlists need
// it.

extension URIReference {
    /// The URI that `reference` names when this URI is the base (RFC 3986 §5.2).
    ///
    /// Dot segments are removed from the result; other text stays as it was. A base without scheme
    /// gives a result without one.
    /// - Throws: `ParseError` if the result is longer than `maxBytes`.
    package func resolving(_ reference: URIReference) throws(ParseError) -> URIReference {
        if reference.scheme != nil {
            return try URIReference(
                components: (reference.scheme, reference.authority, reference.path.removingDotSegments, reference.query, reference.fragment)
            )
        }
        if reference.host != nil {
            return try URIReference(
                components: (scheme, reference.authority, reference.path.removingDotSegments, reference.query, reference.fragment))
        }
        let target = path(for: reference)
        let query = reference.path.isEmpty ? reference.query ?? query : reference.query
        return try URIReference(components: (scheme, authority, target, query, reference.fragment))
    }

    /// The URI that a reference in a manifest or in the `Location` of a redirect names, as browsers
    /// read it (WHATWG URL §4.4). Spaces and bytes outside ASCII, which many servers send there, are
    /// percent-encoded first.
    /// - Throws: `ParseError` if the text is not a URI reference.
    package func resolving(lenient text: String) throws(ParseError) -> URIReference {
        try resolving(URIReference(lenient: text.withPlainDotSegments))
    }

    private func path(for reference: URIReference) -> String {
        if reference.path.isEmpty { return String(path) }
        if reference.path.utf8.first == .slash { return reference.path.removingDotSegments }
        return merged(with: reference.path).removingDotSegments
    }

    /// This path up to its last slash, followed by `relative` (RFC 3986 §5.2.3).
    private func merged(with relative: Substring) -> String {
        if host != nil && path.isEmpty { return "/" + relative }
        guard let slash = path.utf8.lastIndex(of: .slash) else { return String(relative) }
        return String(path[...slash]) + relative
    }

    /// User information, host and port as they appear in the text.
    fileprivate var authority: String? {
        host.map { (userinfo.map { "\($0)@" } ?? "") + $0 + (port.map { ":\($0)" } ?? "") }
    }

    private typealias Components = (scheme: Substring?, authority: String?, path: String, query: Substring?, fragment: Substring?)

    /// Assembles a URI from its components (RFC 3986 §5.3).
    private init(components: Components) throws(ParseError) {
        var text = components.scheme.map { "\($0):" } ?? ""
        if let authority = components.authority {
            text += "//" + authority
        } else if components.path.hasPrefix("//") {
            // Without an authority, a path that begins with two slashes would be read as one.
            text += "/."
        }
        text += components.path
        if let query = components.query { text += "?\(query)" }
        if let fragment = components.fragment { text += "#\(fragment)" }
        try self.init(text)
    }
}

extension String {
    /// The reference with the slashes and the dot segments that browsers read in it (WHATWG URL
    /// §4.4), so that it means the same to a client that follows RFC 3986 to the letter.
    ///
    /// Before the query of `http` and `https`, a backslash becomes a slash, and `%2e` a dot where it
    /// makes up a segment `.` or `..`.
    package var withPlainDotSegments: String {
        let path = utf8.prefix { $0 != .question && $0 != .hash }
        guard path.contains(where: { $0 == .backslash || $0 == .percent }) else { return self }
        if let end = path.firstIndex(where: { $0 == .colon || $0 == .slash || $0 == .backslash }), path[end] == .colon,
            !["http", "https"].contains(self[..<end].asciiLowercased)
        {
            return self
        }
        let segments = path.split(omittingEmptySubsequences: false) { $0 == .slash || $0 == .backslash }.map { segment in
            let dots = Substring(segment).percentDecodedLeniently
            return dots == "." || dots == ".." ? dots : String(Substring(segment))
        }
        return segments.joined(separator: "/") + self[path.endIndex...]
    }
}

extension StringProtocol {
    /// The path without `.` and `..` segments, by the steps of RFC 3986 §5.2.4.
    /// - Complexity: O(*n*) in the length of the path.
    fileprivate var removingDotSegments: String {
        var input = Array(utf8)[...], output: [UInt8] = []
        while let first = input.first {
            if input.starts(with: "../".utf8) || input.starts(with: "./".utf8) {
                input = input.dropFirst(input.starts(with: "../".utf8) ? 3 : 2)
            } else if input.starts(with: "/./".utf8) || input.elementsEqual("/.".utf8) {
                input = input.replacingPrefix(of: 2)
            } else if input.starts(with: "/../".utf8) || input.elementsEqual("/..".utf8) {
                input = input.replacingPrefix(of: 3)
                output.removeLastSegment()
            } else if input.elementsEqual(".".utf8) || input.elementsEqual("..".utf8) {
                input = []
            } else {
                output.append(first)
                let rest = input.dropFirst()
                let segment = rest.prefix { $0 != .slash }
                output += segment
                input = rest.dropFirst(segment.count)
            }
        }
        return String(decoding: output, as: UTF8.self)
    }
}

extension ArraySlice<UInt8> {
    /// The bytes after the first `count`, or a single slash if there are none.
    fileprivate func replacingPrefix(of count: Int) -> ArraySlice {
        self.count > count ? dropFirst(count) : [.slash]
    }
}

extension [UInt8] {
    /// Removes the last slash and everything after it.
    fileprivate mutating func removeLastSegment() {
        removeSubrange((lastIndex(of: .slash) ?? 0)...)
    }
}
