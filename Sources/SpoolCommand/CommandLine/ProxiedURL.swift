import SpoolCore
import SpoolSystem

/// The URLs by which players get resources through a proxy on this machine.
///
/// People copy such a URL from a player. A command takes it as the URL that it stands for, because
/// the store has no resource under the URL of the proxy.
package enum ProxiedURL {
    /// Returns the URL that a proxied URL stands for, or nil when `url` is not one.
    ///
    /// A proxied URL has a loopback address or `localhost` as its host. Its form is
    /// `/[token/]scheme/authority/path?query`, `/[token/]scheme://authority/path?query` or
    /// `/[token/]?url=<percent-encoded>`. Behind a
    /// token, an authority has a dot or a port, because `/files/http/guide/page.html` may be a path
    /// of any local server.
    package static func original(of url: String) -> String? {
        guard let proxy = try? URIReference(lenient: url), proxy.scheme?.asciiLowercased == "http", let host = proxy.host,
            isThisMachine(host), proxy.path.hasPrefix("/")
        else { return nil }
        let text = proxy.path.dropFirst() + (proxy.query.map { "?\($0)" } ?? "")
        if let original = resource(text) { return original }
        let (token, rest) = ProxiedPath.firstSegment(of: text)
        return token.isEmpty || token == ProxiedPath.ownSegment ? nil : resource(rest, isBehindToken: true)
    }

    private static func isThisMachine(_ host: Substring) -> Bool {
        SocketAddress(literal: host.asciiLowercased, port: 0)?.isLoopback ?? (host.asciiLowercased == "localhost")
    }

    /// Returns the URL of a resource that has no other name. An item with a key of its own has its
    /// key as its name.
    private static func resource(_ text: Substring, isBehindToken: Bool = false) -> String? {
        guard case .resource(let url, key: nil)? = try? ProxiedPath(text) else { return nil }
        if text.hasPrefix("?") || ProxiedPath.isPasted(text) { return url.text }
        // A path with two segments, such as `/http/page.html`, may be one of any server.
        let (authority, rest) = ProxiedPath.firstSegment(of: ProxiedPath.firstSegment(of: text).rest)
        let hasPath = !rest.isEmpty || text.hasSuffix("/")
        return hasPath && (!isBehindToken || isUnmistakable(authority)) ? url.text : nil
    }

    private static func isUnmistakable(_ authority: Substring) -> Bool {
        authority.contains(".") || authority.contains(":") || authority.asciiLowercased == "localhost"
    }
}

extension Arguments {
    /// Returns the URL that a proxied URL stands for, and any other text as it is. A note names the
    /// URL that is meant.
    func meant(_ url: String) -> String {
        guard !has(KeySettings.asGiven), let original = ProxiedURL.original(of: url) else { return url }
        // The key has no user information.
        guard let name = try? ResourceKey(url: original).string else { return url }
        Message(.notice, "spool: the URL of a proxy on this machine stands for \(name)", url: name).say(as: messageFormat)
        return original
    }
}
