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
    /// The secret of programs of the same user, or nil for none.
    let programToken: String?
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
        return refused(403, "\(url.origin) is for this machine only; \(reach.advice(for: url.origin))")
    }

    private func read(path: String, host: String?) -> ProxyTarget {
        guard isAllowed(host: host) else {
            return refused(421, "the Host '\(host ?? "")' is not this proxy; use its address, or allow the name with --allow-host")
        }
        guard path.hasPrefix("/") else { return refused(400, "the request target is not a path") }
        guard let rest = withoutToken(path.dropFirst()) else {
            return refused(403, "the URL lacks this proxy's token, which is its first path segment")
        }
        do throws(ProxiedPath.Failure) {
            switch try ProxiedPath(rest, site: fixedOrigin) {
            case .page: return .page
            case .own(let path): return .own(path)
            case .resource(let url, let key): return served(url, key: key)
            }
        } catch { return refused(error) }
    }

    private func served(_ url: MediaURL, key: String? = nil) -> ProxyTarget {
        guard mayAsk(url.origin) else { return refused(403, "this proxy does not ask \(url.origin); allow it with --allow-origin") }
        // A client that chooses keys can put bytes in the place of another resource.
        guard key == nil || token != nil else { return refused(403, "a key of its own takes a proxy with a token (--token)") }
        return .resource(url, key: key)
    }

    /// Returns the meaning of `scheme/authority/path?query`.
    func place(_ text: Substring) -> ProxyTarget {
        do throws(ProxiedPath.Failure) { return served(try ProxiedPath.place(text)) } catch { return refused(error) }
    }

    /// Returns the meaning of a path of programs, whose beginning is `ProxiedPath.programPrefix`.
    /// Nil for any other path of the proxy's own.
    func program(_ path: String, isFromNetwork: Bool) -> ProxyTarget? {
        guard path.hasPrefix(ProxiedPath.programPrefix) else { return nil }
        let (secret, rest) = ProxiedPath.firstSegment(of: path.dropFirst(ProxiedPath.programPrefix.count))
        guard !isFromNetwork, let programToken, constantTimeEqual(secret, programToken) else {
            return refused(403, "the token is that of another server; see serve.json in the store's directory")
        }
        do throws(ProxiedPath.Failure) {
            guard case .resource(let url, key: nil) = try ProxiedPath(rest) else { return refused(.unknownForm) }
            return served(url)
        } catch { return refused(error) }
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
        let (segment, rest) = ProxiedPath.firstSegment(of: path)
        return constantTimeEqual(segment, token) ? rest : nil
    }

    private func refused(_ failure: ProxiedPath.Failure) -> ProxyTarget {
        refused(failure == .unknownForm ? 404 : 400, failure.description)
    }

    private func refused(_ status: Int, _ explanation: String) -> ProxyTarget {
        .refused(.init(status: status, explanation: explanation))
    }
}

extension ProxyTargetRules {
    /// Returns the URL below `prefix` by which a client gets the resource `original`. This is the
    /// reverse of `read`.
    ///
    /// - Parameter key: The key for the resource, if it is not the URL's own.
    /// - Returns: The URL, or nil for a resource that the proxy does not serve.
    package func proxied(_ original: String, key: ResourceKey? = nil, prefix: String) -> String? {
        guard let url = try? MediaURL(original).withoutFragment, case .resource = served(url, key: key?.string) else { return nil }
        return ProxiedPath.resource(url, key: key?.string).text(below: prefix, site: fixedOrigin)
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
        if fixedOrigin == nil, case .own(let own) = target, own.hasPrefix(ProxiedPath.childPrefix) {
            target = place(own.dropFirst(ProxiedPath.childPrefix.count))
        }
        if case .own(let own) = target { target = program(own, isFromNetwork: false) ?? target }
        switch target {
        case .resource(let url, _): return url.redactedForLog
        case .own(let own):
            // Where the pages have a secret, it is the first segment.
            let name = own.prefix { $0 != "?" && $0 != "#" }
            let shown = fixedOrigin == nil || name.hasPrefix("api/") ? String(name) : "…"
            return "/\(ProxiedPath.ownPrefix)\(shown)"
        case .page: return "/"
        case .refused: return "(refused)"
        }
    }
}

/// Compares two strings in a time that does not depend on the position of a difference.
package func constantTimeEqual(_ a: some StringProtocol, _ b: some StringProtocol) -> Bool {
    let a = Array(a.utf8), b = Array(b.utf8)
    var difference = UInt8(a.count == b.count ? 0 : 1)
    for index in b.indices { difference |= b[index] ^ (index < a.count ? a[index] : 0) }
    return difference == 0
}
