/// Resolves references as a player does (RFC 3986 §5.2), written apart from the code under test.
enum PlayerURL {
    private struct Parts {
        var scheme: String?
        var authority: String?
        var path = ""
        var query: String?
    }

    /// Returns the absolute URL that a player requests: without fragment, with bytes outside ASCII
    /// and spaces escaped.
    ///
    /// - Parameter isBrowser: Whether the player reads the reference as browsers do (WHATWG URL
    ///   §4.4), and not to the letter of RFC 3986.
    static func resolve(_ reference: String, at base: String, isBrowser: Bool = false) -> String {
        let reference = split(escaped(isBrowser ? asInBrowser(reference) : reference)), base = split(base)
        var result = reference
        if reference.scheme == nil {
            result.scheme = base.scheme
            if reference.authority == nil {
                result.authority = base.authority
                if reference.path.isEmpty {
                    result.path = base.path
                    result.query = reference.query ?? base.query
                } else if !reference.path.hasPrefix("/") {
                    let directory = base.path.lastIndex(of: "/").map { base.path[...$0] } ?? "/"
                    result.path = directory + reference.path
                }
            }
        }
        let path = result.path.isEmpty ? "/" : withoutDots(result.path)
        return "\(result.scheme ?? "")://\(result.authority ?? "")\(path)" + (result.query.map { "?\($0)" } ?? "")
    }

    private static func asInBrowser(_ text: String) -> String {
        let path = text.prefix { $0 != "?" && $0 != "#" }
        let segments = path.replacing("\\", with: "/").split(separator: "/", omittingEmptySubsequences: false).map { segment in
            let dots = segment.lowercased().replacing("%2e", with: ".")
            return dots == "." || dots == ".." ? dots : String(segment)
        }
        return segments.joined(separator: "/") + text.dropFirst(path.count)
    }

    private static func escaped(_ text: String) -> String {
        text.utf8.map { byte in
            byte > 0x7F || byte == 0x20 ? "%" + String(byte, radix: 16, uppercase: true) : String(Unicode.Scalar(byte))
        }.joined()
    }

    private static func split(_ text: String) -> Parts {
        var rest = text[...]
        var parts = Parts()
        if let hash = rest.firstIndex(of: "#") { rest = rest[..<hash] }
        if let question = rest.firstIndex(of: "?") {
            parts.query = String(rest[rest.index(after: question)...])
            rest = rest[..<question]
        }
        if let colon = rest.firstIndex(of: ":"), !rest[..<colon].contains("/") {
            parts.scheme = String(rest[..<colon])
            rest = rest[rest.index(after: colon)...]
        }
        if rest.hasPrefix("//") {
            rest = rest.dropFirst(2)
            let end = rest.firstIndex(of: "/") ?? rest.endIndex
            parts.authority = String(rest[..<end])
            rest = rest[end...]
        }
        parts.path = String(rest)
        return parts
    }

    private static func withoutDots(_ path: String) -> String {
        var kept: [Substring] = []
        let segments = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        for (index, segment) in segments.enumerated() {
            let isLast = index == segments.count - 1
            if segment == "." || segment == ".." {
                if segment == ".." { _ = kept.popLast() }
                if isLast { kept.append("") }
            } else {
                kept.append(segment)
            }
        }
        return "/" + kept.joined(separator: "/")
    }
}
