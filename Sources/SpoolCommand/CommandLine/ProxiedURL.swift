import SpoolCore
import SpoolProxy
import SpoolSystem

/// The URLs by which players get resources through a proxy on this machine.
///
/// People copy such a URL from a player. A command takes it as the URL that it stands for, because
/// the store has no resource under the URL of the proxy.
package enum ProxiedURL {
    /// Returns the URL that a proxied URL stands for, or nil when `url` is not one.
    ///
    /// A proxied URL has a loopback address or `localhost` as its host. Its form is
    /// `/[token/]scheme/authority/path?query` or `/[token/]?url=<percent-encoded>`. Behind a
    /// token, an authority has a dot or a port, because `/files/http/guide/page.html` may be a path
    /// of any local server.
    package static func original(of url: String) -> String? {
        guard let proxy = try? URIReference(lenient: url), proxy.scheme?.asciiLowercased == "http", let host = proxy.host,
            isThisMachine(host), proxy.path.hasPrefix("/")
        else { return nil }
        let rest = proxy.path.dropFirst() + (proxy.query.map { "?\($0)" } ?? "")
        if let original = pathForm(rest) ?? queryForm(rest) { return original }
        guard let (token, path) = firstSegment(of: rest), !token.isEmpty, token != ownPages else { return nil }
        return pathForm(path, isAuthority: isUnmistakable) ?? queryForm(path)
    }

    /// The first segment of the paths of the proxy's own pages.
    private static let ownPages = "_spool"

    private static func isThisMachine(_ host: Substring) -> Bool {
        SocketAddress(literal: host.asciiLowercased, port: 0)?.isLoopback ?? (host.asciiLowercased == "localhost")
    }

    /// Parses `scheme/authority/path?query`.
    private static func pathForm(_ rest: Substring, isAuthority: (Substring) -> Bool = { _ in true }) -> String? {
        guard let (scheme, target) = firstSegment(of: rest), ["http", "https"].contains(scheme.asciiLowercased),
            let (authority, _) = firstSegment(of: target), !authority.isEmpty, !authority.contains("?"), isAuthority(authority)
        else { return nil }
        return media("\(scheme)://\(target)")
    }

    /// Parses `?url=<percent-encoded>`.
    private static func queryForm(_ rest: Substring) -> String? {
        guard rest.hasPrefix("?") else { return nil }
        let items = rest.dropFirst().split(separator: "&")
        // An item with a key of its own has no other name than that key.
        guard !items.contains(where: { $0.hasPrefix("key=") }), let item = items.first(where: { $0.hasPrefix("url=") }) else { return nil }
        return item.dropFirst("url=".count).percentDecoded.flatMap(media)
    }

    /// Splits the text at its first slash, or before its query.
    private static func firstSegment(of rest: Substring) -> (Substring, Substring)? {
        guard let end = rest.firstIndex(where: { $0 == "/" || $0 == "?" }) else { return nil }
        return (rest[..<end], rest[end] == "/" ? rest[rest.index(after: end)...] : rest[end...])
    }

    private static func isUnmistakable(_ authority: Substring) -> Bool {
        authority.contains(".") || authority.contains(":") || authority.asciiLowercased == "localhost"
    }

    /// Returns the text if it is an http or https URL.
    private static func media(_ text: String) -> String? {
        guard let url = try? MediaURL(text) else { return nil }
        return url.text
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
