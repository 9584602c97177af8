package import SpoolCore
import SpoolOrigin
import SpoolSystem

/// The meaning of a request's target at this proxy: a resource of an origin, or a page of the
/// proxy.
///
/// It depends on the target, the `Host` field and the rules alone. `ProxyServer` lists the URL
/// forms.
package enum ProxyTarget: Hashable {
    /// The URL of an origin's resource, and the key that the client chose for it, or nil for the
    /// URL's own key.
    case resource(MediaURL, key: String? = nil)
    /// A path under `/_spool/`, without that prefix.
    case own(String)
    /// The status page. The proxy redirects to it.
    case page
    case refused(Refusal)

    /// The reason why a request is not served.
    package struct Refusal: Hashable {
        /// The status code of the response.
        package var status: Int
        /// The text for the client: what is wrong, and what to do.
        package var explanation: String
    }
}

/// The rules that give a target its meaning.
package struct ProxyTargetRules: Sendable {
    /// The first path segment that every request must have.
    var token: String?
    /// The site that the proxy stands in for, or nil.
    let fixedOrigin: URIReference.Origin?
    /// Whether only programs on this machine reach the proxy.
    let listensOnLoopback: Bool
    /// The names allowed in `Host` besides addresses of the proxy and `localhost`, in lower case.
    /// `*` allows all.
    let allowedHosts: Set<String>
    /// The origins that the proxy may contact, or nil for all.
    let allowedOrigins: Set<URIReference.Origin>?
    /// The same rule for redirects and connections.
    let reach: OriginReach

    /// Returns the rules for requests with another token.
    func with(token: String) -> ProxyTargetRules {
        var rules = self
        rules.token = token
        return rules
    }

    static let ownPrefix = "_spool/"
    /// The longest key that a client may choose, in bytes. It allows any reasonable name and is far
    /// below the limit of a request line.
    package static let maxKeyBytes = 1024

    /// Returns the meaning of a request's path and query, given the authority of the request (RFC
    /// 9112 §3.2, §3.3).
    ///
    /// - Parameter isFromNetwork: Whether the client is on another machine. Such a client gets no
    ///   services of this machine, except origins that the rules name.
    package func read(path: String, host: String?, isFromNetwork: Bool = false) -> ProxyTarget {
        withinReach(read(path: path, host: host), isFromNetwork: isFromNetwork)
    }

    /// Returns `target`, or a refusal when a client on another machine may not have it.
    func withinReach(_ target: ProxyTarget, isFromNetwork: Bool) -> ProxyTarget {
        guard isFromNetwork, case .resource(let url, _) = target else { return target }
        guard OriginReach.isThisMachine(url.origin.host), !reach.named.contains(url.origin) else { return target }
        return refused(403, "\(url.origin) is for this machine only; allow it for others with --allow-origin \(url.origin)")
    }

    private func read(path: String, host: String?) -> ProxyTarget {
        guard isAllowed(host: host) else {
            return refused(421, "the Host '\(host ?? "")' is not this proxy; use its address, or allow the name with --allow-host")
        }
        guard path.hasPrefix("/") else { return refused(400, "the request target is not a path") }
        guard let rest = withoutToken(path.dropFirst()) else {
            return refused(403, "the URL lacks this proxy's token, which is its first path segment")
        }
        if rest == "_spool" || rest.hasPrefix("_spool?") { return .page }
        if rest.hasPrefix(Self.ownPrefix) { return .own(String(rest.dropFirst(Self.ownPrefix.count))) }
        if let fixedOrigin { return checked("\(fixedOrigin)\(Self.pathThere(of: rest))") }
        // Every browser requests it from every server.
        if rest == "favicon.ico" { return .own("icon.svg") }
        if rest.isEmpty { return .page }
        if rest.hasPrefix("?") { return query(rest.dropFirst()) }
        return pathForm(rest)
    }

    // MARK: Forms

    /// Parses `scheme/authority/path?query`.
    func pathForm(_ rest: Substring) -> ProxyTarget {
        let bytes = rest.utf8
        let afterScheme = bytes.firstIndex(of: UInt8(ascii: "/")).map { bytes.index(after: $0) }
        guard let afterScheme, let first = bytes[afterScheme...].first, first != UInt8(ascii: "/") else {
            return refused(404, "a proxied URL is /scheme/host/path, for example /https/example.com/song.mp3, or /?url=…")
        }
        let hasPath = bytes[afterScheme...].contains(UInt8(ascii: "/"))
        return checked("\(rest[..<bytes.index(before: afterScheme)])://\(rest[afterScheme...])\(hasPath ? "" : "/")")
    }

    /// Parses `?url=<percent-encoded>`, with `key=<percent-encoded>` before or behind it for an
    /// item with a key of its own.
    private func query(_ query: Substring) -> ProxyTarget {
        guard let encoded = Self.value(of: "url", in: query) else { return .page }
        guard let url = encoded.percentDecoded else { return refused(400, "the value of url= is not percent-encoded UTF-8") }
        let target = checked(url)
        guard let encodedKey = Self.value(of: "key", in: query), case .resource(let url, _) = target else { return target }
        // A client that chooses keys can put bytes in the place of another resource.
        guard token != nil else { return refused(403, "a key of its own takes a proxy with a token (--token)") }
        guard let key = encodedKey.percentDecoded, (1...Self.maxKeyBytes).contains(key.utf8.count),
            !key.unicodeScalars.contains(where: { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) })
        else {
            return refused(400, "the value of key= is percent-encoded UTF-8 of 1 to \(Self.maxKeyBytes) bytes without control characters")
        }
        return .resource(url, key: key)
    }

    /// Returns the value of the first query item with this name.
    private static func value(of name: String, in query: Substring) -> Substring? {
        query.split(separator: "&").first { $0.hasPrefix("\(name)=") }?.dropFirst(name.utf8.count + 1)
    }

    private func checked(_ url: String) -> ProxyTarget {
        guard let url = try? MediaURL(url).withoutFragment else {
            return refused(400, "not an http or https URL" + (Self.redacted(url).map { ": \($0)" } ?? ""))
        }
        guard mayAsk(url.origin) else { return refused(403, "this proxy does not ask \(url.origin); allow it with --allow-origin") }
        return .resource(url)
    }

    /// Returns a URL without its secrets, for a sentence that the page shows to others. Nil for a
    /// text in which they cannot be found.
    private static func redacted(_ url: String) -> String? {
        guard let reference = try? URIReference(lenient: url), reference.host != nil else { return nil }
        return reference.redactedForLog
    }

    /// Whether the rules allow the proxy to contact an origin.
    func mayAsk(_ origin: URIReference.Origin) -> Bool { allowedOrigins?.contains(origin) ?? true }

    // MARK: Guards

    /// Whether the request's host is one to which no foreign page can lead a browser: a name that
    /// foreign DNS cannot rebind, or an address that browsers can distinguish.
    ///
    /// Browsers also reach a loopback listener by `0.0.0.0` and by mapped addresses, and then do
    /// not name the requesting site. Those are never allowed. On loopback, other addresses belong
    /// to other machines. In a network, a port may be forwarded from an address that is not this
    /// machine's.
    private func isAllowed(host: String?) -> Bool {
        guard let host else { return true }
        guard let reference = try? URIReference("http://\(host)/"), let name = reference.host?.asciiLowercased else { return false }
        guard let address = SocketAddress(literal: name, port: 0) else {
            return name == "localhost" || allowedHosts.contains(name) || allowedHosts.contains("*")
        }
        if address.isUnspecified || address.isMappedIPv4 { return false }
        return address.isLoopback || !listensOnLoopback || allowedHosts.contains(name) || allowedHosts.contains("*")
    }

    private func withoutToken(_ path: Substring) -> Substring? {
        guard let token else { return path }
        let end = path.firstIndex { $0 == "/" || $0 == "?" } ?? path.endIndex
        guard constantTimeEqual(path[..<end], token) else { return nil }
        let rest = path[end...]
        return rest.hasPrefix("/") ? rest.dropFirst() : rest
    }

    private func refused(_ status: Int, _ explanation: String) -> ProxyTarget {
        .refused(.init(status: status, explanation: explanation))
    }
}

extension ProxyTargetRules {
    /// Returns the URL below `prefix` by which a client gets the resource `original`. This is the
    /// reverse of `read`.
    ///
    /// The form is `scheme/authority/path?query`, or the query form for a URL with parts that the
    /// first form cannot carry. For a fixed origin it is the plain path.
    ///
    /// - Parameter key: The key for the resource, if it is not the URL's own.
    /// - Returns: The URL, or nil for a resource that the proxy does not serve.
    package func proxied(_ original: String, key: ResourceKey? = nil, prefix: String) -> String? {
        guard case .resource(let url, _) = checked(original) else { return nil }
        if let key {
            guard fixedOrigin == nil, token != nil, (1...Self.maxKeyBytes).contains(key.string.utf8.count) else { return nil }
            return "\(prefix)?key=\(key.string.percentEncoded)&url=\(url.text.percentEncoded)"
        }
        if let fixedOrigin { return url.origin == fixedOrigin ? Self.pathHere(of: url.target, prefix: prefix) : nil }
        guard url.userinfo == nil else { return "\(prefix)?url=\(url.text.percentEncoded)" }
        return "\(prefix)\(url.origin.scheme)/\(url.origin.authority)\(url.target)"
    }
}

// MARK: - Paths of the fixed origin

extension ProxyTargetRules {
    /// Returns the path at this proxy of a path of the fixed origin, with its query and fragment.
    ///
    /// The result never leads a client to another host. Two slashes at its beginning would (RFC
    /// 3986 §4.2), and browsers read a backslash as a slash. A dot segment in front keeps the path.
    static func pathHere(of target: String, prefix: String) -> String {
        let rest = target.dropFirst()
        return prefix + (prefix == "/" && beginsWithSlash(rest) ? "./" : "") + rest
    }

    /// Returns the path at the fixed origin of the text behind the prefix: the reverse of
    /// `pathHere`, for clients that keep the dot segment.
    private static func pathThere(of rest: Substring) -> String {
        "/" + (rest.utf8.starts(with: "./".utf8) && beginsWithSlash(rest.dropFirst(2)) ? rest.dropFirst(2) : rest)
    }

    private static func beginsWithSlash(_ text: Substring) -> Bool {
        text.utf8.first == UInt8(ascii: "/") || text.utf8.first == UInt8(ascii: "\\")
    }
}

extension ProxyTargetRules {
    /// Returns a request's target in a form for logs: the resource or page, without token, user
    /// information, query and fragment.
    package func logged(_ target: String) -> String {
        let isAbsolute = !target.hasPrefix("/")
        let path: String
        do { path = try isAbsolute ? String(URIReference(lenient: target).path) : target } catch { return "(unreadable)" }
        var target = read(path: path, host: nil)
        if fixedOrigin == nil, case .own(let own) = target, own.hasPrefix(Self.foreignPrefix) {
            target = pathForm(own.dropFirst(Self.foreignPrefix.count))
        }
        switch target {
        case .resource(let url, _): return url.redactedForLog
        case .own(let own):
            // Where the pages have a secret, it is the first segment.
            let name = own.prefix { $0 != "?" && $0 != "#" }
            let shown = fixedOrigin == nil || name.hasPrefix("api/") ? String(name) : "…"
            return "/\(Self.ownPrefix)\(shown)"
        case .page: return "/"
        case .refused: return "(refused)"
        }
    }
}

/// Compares two strings in a time that does not depend on the position of a difference.
func constantTimeEqual(_ a: some StringProtocol, _ b: some StringProtocol) -> Bool {
    let a = Array(a.utf8), b = Array(b.utf8)
    var difference = UInt8(a.count == b.count ? 0 : 1)
    for index in b.indices { difference |= b[index] ^ (index < a.count ? a[index] : 0) }
    return difference == 0
}

extension StringProtocol {
    /// The text with `%XX` decoded and `+` unchanged, or nil when an escape is broken or the bytes
    /// are not UTF-8.
    package var percentDecoded: String? {
        var bytes: [UInt8] = []
        var rest = Substring(self).utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst()?.hexValue, let low = rest.popFirst()?.hexValue else { return nil }
            bytes.append(high << 4 | low)
        }
        let text = String(decoding: bytes, as: UTF8.self)
        return Array(text.utf8) == bytes ? text : nil
    }

    /// The text with all characters except unreserved ones (RFC 3986 §2.3) escaped.
    var percentEncoded: String {
        var result = ""
        let digits = Array("0123456789ABCDEF")
        for byte in utf8 {
            if byte.isUnreserved {
                result.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                result += "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
            }
        }
        return result
    }
}

extension UInt8 {
    /// The value of a hexadecimal digit, or nil for another byte.
    var hexValue: UInt8? {
        switch self {
        case 0x30...0x39: self - 0x30
        case 0x41...0x46: self - 0x41 + 10
        case 0x61...0x66: self - 0x61 + 10
        default: nil
        }
    }

    fileprivate var isUnreserved: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"): true
        default: false
        }
    }
}
