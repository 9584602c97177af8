/// The fields of a client's request that go to an origin.
///
/// A cache sends the end-to-end fields of the client that causes a fetch (RFC 9110 §7.6.1), except
/// those that it decides itself and those that would change the body without a `Vary` field. A
/// general proxy also holds back fields that a browser sends to the proxy's own address, because
/// every origin has that address for a browser (docs/http-fields.md).
///
/// The value belongs to one origin. `fields(for:)` returns what another origin may see.
package struct RequestFields: Hashable, Sendable {
    /// The fields for the origin, in the order in which the client sent them.
    package let fields: HTTPFields
    /// The origin for which the client sent them.
    package let origin: URIReference.Origin

    /// The place in which a proxy stands for its clients.
    package enum Place: Sendable {
        /// The proxy stands in for one site. Its address is the site's address for every client.
        case site
        /// The proxy serves every origin under one address.
        ///
        /// - Parameters:
        ///   - authority: The authority by which the client calls the proxy.
        ///   - prefix: The beginning of every path at the proxy: a slash, or `/TOKEN/` with a
        ///     token.
        ///   - original: Returns the origin's URL for a path of the proxy, or nil.
        case general(authority: String?, prefix: String = "/", original: @Sendable (String) -> String?)
    }

    /// Selects the fields of a request.
    ///
    /// - Parameters:
    ///   - request: All fields of the client's request.
    ///   - origin: The origin of the requested resource.
    ///   - place: The place of the proxy.
    ///   - configured: The fields that the operator sends. They replace the client's, so that they
    ///     never select a response.
    package init(_ request: HTTPFields, to origin: URIReference.Origin, at place: Place, configured: HTTPFields = HTTPFields()) {
        let dropped = Set(request.names(listedIn: .connection)).union(configured.lines.map { $0.name.asciiLowercased })
        let isBrowser = Self.isFromBrowser(request)
        var fields = HTTPFields()
        for line in request.lines {
            let name = line.name.asciiLowercased
            guard Self.isForwarded(name), !dropped.contains(name) else { continue }
            guard case .general(let authority, let prefix, let original) = place else {
                if !name.hasPrefix("sec-") { fields.lines.append(line) }
                continue
            }
            if isBrowser, Self.belongsToBrowserOrigin(name, line.value) { continue }
            if name == "referer" {
                guard let value = Self.referer(line.value, to: origin, authority: authority, prefix: prefix, original: original) else {
                    continue
                }
                fields.lines.append(HTTPFields.Field(name: line.name, value: value))
            } else {
                fields.lines.append(line)
            }
        }
        self.fields = fields
        self.origin = origin
    }

    /// Creates the value for fields that were selected before.
    package init(selected fields: HTTPFields, origin: URIReference.Origin) {
        self.fields = fields
        self.origin = origin
    }

    /// Returns the fields for a request to `other`: all of them for their own origin, and only
    /// those that never carry credentials for another one.
    package func fields(for other: URIReference.Origin) -> HTTPFields {
        origin == other ? fields : HTTPFields(fields.lines.filter { Self.mayCrossOrigins($0.name.asciiLowercased) })
    }

    /// The fields without those that may identify a user, for a resource of an origin that the
    /// client did not choose: a manifest of another origin names it.
    ///
    /// - Parameter isShared: Whether several users share the cache. A single user's player sends its
    ///   plain fields to every host that it asks.
    package func withoutCredentials(isShared: Bool) -> RequestFields {
        let harmless = fields.lines.filter { !Self.mayIdentifyUser($0.name.asciiLowercased, isShared: isShared) }
        return RequestFields(selected: HTTPFields(harmless), origin: origin)
    }

    /// Returns the lines that may identify a user, in a canonical form. Empty when there are none.
    package func credentialText(isShared: Bool) -> String {
        let lines = fields.lines.map { (name: $0.name.asciiLowercased, value: $0.value) }
            .filter { Self.mayIdentifyUser($0.name, isShared: isShared) }
        // A stable order of names; lines of one name keep their order.
        let sorted = lines.enumerated().sorted { ($0.element.name, $0.offset) < ($1.element.name, $1.offset) }
        return sorted.map { "\($0.element.name):\($0.element.value)\n" }.joined()
    }

    /// The names of the fields that may change the response for all that is known about them, each
    /// once and sorted.
    func unknownNames(besides known: Set<String>) -> [String] {
        let names = fields.lines.map { $0.name.asciiLowercased }
        return Set(names.filter { Self.mayIdentifyUser($0, isShared: true) && !known.contains($0) }).sorted()
    }

    /// The names of the fields that differ in two requests and are no credentials, in lower case.
    func differingNames(from other: RequestFields) -> Set<String> {
        Set((fields.lines + other.fields.lines).map { $0.name.asciiLowercased }).filter {
            !Self.mayIdentifyUser($0, isShared: false) && fields.selectingValue(of: $0) != other.fields.selectingValue(of: $0)
        }
    }

    // MARK: Browsers

    /// Whether a browser sent the request.
    ///
    /// Browsers send `Sec-Fetch-Site` and `Sec-Fetch-Dest` to this machine and to TLS addresses. To
    /// a plain network address they send neither. There a Mozilla `User-Agent` with a list of
    /// languages and of codings tells them from players. Some players copy a browser's `User-Agent`
    /// and `Sec-Fetch-Mode`, and are no browsers.
    package static func isFromBrowser(_ request: HTTPFields) -> Bool {
        if request[.secFetchSite] != nil || request[.secFetchDest] != nil { return true }
        return request[.userAgent]?.hasPrefix("Mozilla/") == true && request[.acceptLanguage] != nil
            && request[.acceptEncoding] != nil
    }

    /// Returns the `Referer` for the origin: a page of the proxy becomes the URL behind it if that
    /// is at the same origin. Returns nil for other pages of the proxy, whose URLs may contain its
    /// token.
    ///
    /// A path that begins with the token is the proxy's, whatever the authority: a server before
    /// the proxy may have another name and TLS.
    private static func referer(
        _ value: String, to origin: URIReference.Origin, authority: String?, prefix: String, original: (String) -> String?
    ) -> String? {
        guard let page = try? URIReference(lenient: value), let place = page.origin else { return nil }
        let hasToken = prefix != "/" && "\(page.path)/".hasPrefix(prefix)
        guard hasToken || place.authority == authority?.asciiLowercased else { return value }
        guard let url = original(page.path + (page.query.map { "?\($0)" } ?? "")), let behind = try? URIReference(lenient: url) else {
            return nil
        }
        return behind.origin == origin ? url : nil
    }
}
