package import SpoolCore
package import SpoolServer
package import SpoolSystem

/// The one site that a proxy stands in for: decides which requests go to the origin, and translates
/// fields in both directions.
package struct FixedSite: Sendable {
    /// `scheme://authority`
    let origin: String
    /// The beginning of every path at this proxy: a slash, or `/TOKEN/` with a token.
    let prefix: String
    /// The name of this proxy in `Via`.
    let via: String

    /// Creates the rules of a site.
    package init(origin: String, prefix: String, via: String) {
        (self.origin, self.prefix, self.via) = (origin, prefix, via)
    }

    /// Whether the request goes to the origin itself, without an answer from the cache.
    func tunnels(_ request: RequestHead) -> Bool {
        switch request.method {
        // A client must not open a tunnel through a site, and an echo would show fields that a page
        // must not see (RFC 9110 §9.3.8).
        case "CONNECT", "TRACE": false
        case "GET", "HEAD": (request.has(.authorization) || request.has(.cookie)) && !Self.isForMedia(request)
        default: true
        }
    }

    /// Whether the request is for media, which are stored whatever the credentials are. A player
    /// asks for a range, and a page does not.
    private static func isForMedia(_ request: RequestHead) -> Bool {
        request.has(.range) || MediaKind.isMediaExtension(pathExtension(url: request.path))
    }

    /// Whether a method changes nothing at the origin (RFC 9110 §9.2.1).
    static func isSafe(_ method: String) -> Bool { ["GET", "HEAD", "OPTIONS", "TRACE"].contains(method) }

    // MARK: Fields

    /// Fields that belong to one connection, or that the transport sets (RFC 9110 §7.6.1).
    private static let ofConnection: Set<String> = [
        "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "proxy-connection", "proxy-authorization",
        "proxy-authenticate", "content-length", "expect", "host", "via", "accept-encoding",
    ]

    /// The request's fields in the form for the origin. A page that was loaded from this proxy
    /// names it in `Origin` and `Referer`. For the origin, these become its own site. Fields by
    /// which an origin trusts its gateway stay here; `X-Forwarded-For` is this proxy's own.
    ///
    /// - Parameter client: The address of the client that alone gets the response, or nil when
    ///   several clients may get it.
    package func fieldsForOrigin(_ request: RequestHead, from client: SocketAddress?) -> HTTPFields {
        let fields = request.fields
        let dropped = Self.ofConnection.union(fields.names(listedIn: .connection))
        var result = HTTPFields(
            fields.lines.compactMap { field in
                let name = field.name.asciiLowercased
                guard !dropped.contains(name), !RequestFields.isOfGateway(name) else { return nil }
                guard field.isNamed(.origin) || field.isNamed(.referer), let path = ownPath(of: field.value, request) else { return field }
                return .init(name: field.name, value: origin + withoutPrefix(path))
            })
        if let client { result[.xForwardedFor] = client.unmapped.literal }
        // One list. Its last member is the last proxy that forwarded the message (RFC 9110 §7.6.3).
        result.append(.via, (fields.values(of: .via) + [via]).joined(separator: ", "))
        return result
    }

    /// The response's fields in the form for the client. `Set-Cookie` stays, because the response
    /// is for this client alone. A `Location` at the origin becomes a path at this proxy.
    func fieldsForClient(_ head: ResponseHead) -> HTTPFields { withLocationsHere(Self.endToEnd(head.fields)) }

    /// Returns the fields of a response that are for its client, not for this connection.
    static func endToEnd(_ fields: HTTPFields) -> HTTPFields {
        let dropped = ofConnection.union(fields.names(listedIn: .connection))
        return HTTPFields(fields.lines.filter { !dropped.contains($0.name.asciiLowercased) })
    }

    /// Returns the fields with locations at the origin as paths at this proxy.
    func withLocationsHere(_ fields: HTTPFields) -> HTTPFields {
        guard fields.contains(.location) || fields.contains(.contentLocation) else { return fields }
        return HTTPFields(
            fields.lines.map { field in
                guard field.isNamed(.location) || field.isNamed(.contentLocation) else { return field }
                return .init(name: field.name, value: pathHere(field.value) ?? field.value)
            })
    }

    /// Returns the path of an origin's URL at this proxy, or nil for a URL of another site or a
    /// relative one, which stays unchanged.
    private func pathHere(_ url: String) -> String? {
        guard let reference = try? URIReference(lenient: url), reference.origin?.description == origin else { return nil }
        let query = reference.query.map { "?\($0)" } ?? "", fragment = reference.fragment.map { "#\($0)" } ?? ""
        return ProxiedPath.siteText(of: "\(reference.path)\(query)\(fragment)", below: prefix)
    }

    /// Returns the path of a URL at this proxy, or nil for a URL elsewhere. A path that begins with
    /// the token is this proxy's whatever the authority: a server before it may have another name.
    private func ownPath(of url: String, _ request: RequestHead) -> Substring? {
        if let path = request.ownPath(of: url) { return path }
        guard prefix != "/", let scheme = url.firstRange(of: "://") else { return nil }
        let path = url[scheme.upperBound...].drop { $0 != "/" }
        return "\(path.prefix { $0 != "?" && $0 != "#" })/".hasPrefix(prefix) ? path : nil
    }

    /// Returns a path at this proxy as a path at the origin, without the token.
    private func withoutPrefix(_ path: Substring) -> Substring {
        if path.hasPrefix(prefix) { return path.dropFirst(prefix.count - 1) }
        return !path.isEmpty && path + "/" == prefix ? "/" : path
    }

    // MARK: Invalidation

    /// Returns the URLs that a change with this response invalidates: the requested one, and those
    /// of the same site that the response names.
    func changedURLs(by head: ResponseHead, to url: MediaURL) -> [MediaURL] {
        guard let base = try? URIReference(url.text) else { return [url] }
        var changed = [url]
        for name in [HTTPFields.Name.location, .contentLocation] {
            // A location that cannot be parsed names no URL.
            guard let location = head.fields[name], let place = try? MediaURL(base.resolving(lenient: location)) else {
                continue
            }
            if place.origin == url.origin { changed.append(place) }
        }
        return changed
    }
}
