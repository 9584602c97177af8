// The names that decide which fields of a client go to an origin, to another origin, and which may
// identify a user. All names are in lower case.

extension RequestFields {
    /// Whether a client's field of this name may go to an origin at all.
    package static func isForwarded(_ name: String) -> Bool {
        !ofConnection.contains(name) && !ofCache.contains(name) && !changingBodies.contains(name) && !isOfGateway(name)
            && !name.hasPrefix("proxy-") && !name.hasPrefix("content-") && !name.isEmpty
    }

    /// Whether an origin may trust the field because only its own gateway sets it: the client, the
    /// user, the host or path before a rewrite, the method. A client could write anything there, so
    /// no client's field of such a name reaches an origin.
    ///
    /// Servers that hand fields to programs as variables (CGI, WSGI) do not distinguish `_` from
    /// `-`.
    package static func isOfGateway(_ name: String) -> Bool {
        let name = name.contains("_") ? String(name.map { $0 == "_" ? "-" : $0 }) : name
        return ofGateway.contains(name) || beginningsOfGateway.contains { name.hasPrefix($0) }
    }

    /// Fields of one connection (RFC 9110 §7.6.1), and those that the transport sets.
    private static let ofConnection: Set<String> = [
        "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "host", "expect", "max-forwards", "via",
        "http2-settings",
    ]

    /// Fields that the cache decides for each of its requests: ranges, conditions, codings, the
    /// directives of caching, and the web site of a page.
    private static let ofCache: Set<String> = [
        "range", "if-range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "if", "accept-encoding",
        "cache-control", "pragma", "origin", "upgrade-insecure-requests",
    ]

    /// Fields by which servers change the body without a `Vary` field: a place and a speed in time
    /// (DLNA), and differences to other versions (RFC 3229).
    private static let changingBodies: Set<String> = ["timeseekrange.dlna.org", "playspeed.dlna.org", "a-im"]

    /// The fields of a request that asks for another body than the resource's, and for what part of
    /// it. Empty for a usual request. Only the client itself can use the answer.
    package static func askingForOtherBody(_ request: HTTPFields) -> HTTPFields {
        var fields = HTTPFields(request.lines.filter { changingBodies.contains($0.name.asciiLowercased) })
        // RFC 9110 §14.1: an origin may know other units than bytes.
        guard let range = request[.range] else { return fields }
        let unit = range.prefix { $0 != "=" }
        let isUnit = unit.count < range.count && !unit.isEmpty && unit.utf8.allSatisfy(\.isTokenByte)
        if !fields.lines.isEmpty || (isUnit && !unit.equalsIgnoringCase("bytes")) { fields[.range] = range }
        return fields
    }

    private static let ofGateway: Set<String> = [
        "forwarded", "x-forwarded", "x-real-ip", "x-host", "x-client-ip", "client-ip", "true-client-ip", "cf-connecting-ip",
        "fastly-client-ip", "x-cluster-client-ip", "x-azure-clientip", "x-envoy-external-address", "x-remote-user", "remote-user",
        "x-authenticated-user", "x-webauth-user", "x-http-method-override", "x-http-method", "x-method-override", "x-proxyuser-ip",
        "x-appengine-user-ip", "front-end-https", "cf-access-jwt-assertion",
        // CGI would hand it to programs as `HTTP_PROXY`, the proxy of their own requests.
        "proxy",
    ]

    /// The beginnings of further such names: addresses and places before a rewrite, client
    /// certificates, and users whom a gateway has checked.
    private static let beginningsOfGateway = [
        "x-forwarded-", "x-original-", "x-rewrite-", "x-remote-", "x-auth-request-", "x-ssl-client-", "ssl-client-", "x-client-cert",
        "x-goog-authenticated-user-", "x-ms-client-principal", "tailscale-user-", "x-amzn-oidc-",
    ]

    /// Whether a browser ties the field to the address of the proxy, which all origins share in a
    /// general proxy. The metadata of the browser's request describes that address, too.
    ///
    /// Scripts send bearer tokens and the like themselves. A browser adds the listed schemes by
    /// itself, to every path of the proxy.
    static func belongsToBrowserOrigin(_ name: String, _ value: String) -> Bool {
        if name == "authorization" {
            let scheme = value.prefix { $0 != " " }.asciiLowercased
            return ["basic", "digest", "negotiate", "ntlm"].contains(scheme)
        }
        return name == "cookie" || name.hasPrefix("sec-")
    }

    /// Whether another origin may see the field after a redirect, or at another host of the same
    /// resource.
    package static func mayCrossOrigins(_ name: String) -> Bool {
        name.hasPrefix("accept") || name == "user-agent" || name == "icy-metadata"
    }

    /// Whether the field may identify a user.
    ///
    /// Credentials have many names. For several users, every field that is not known to be harmless
    /// counts. For one user, the field has to look like credentials.
    package static func mayIdentifyUser(_ name: String, isShared: Bool) -> Bool {
        guard !name.hasPrefix("accept"), !name.hasPrefix("sec-"), !name.hasPrefix("cmcd-"), !name.hasSuffix(".dlna.org"),
            !harmless.contains(name)
        else { return false }
        return isShared || partsOfCredentials.contains { name.contains($0) }
    }

    /// Whether a request with these fields may identify a user, by a field of any name.
    package static func mayIdentifyUser(_ fields: HTTPFields) -> Bool {
        fields.lines.contains { field in
            let name = field.name.asciiLowercased
            return isForwarded(name) && mayIdentifyUser(name, isShared: true)
        }
    }

    private static let partsOfCredentials = [
        "auth", "cookie", "credential", "jwt", "key", "passw", "secret", "session", "signature", "token",
    ]

    private static let harmless: Set<String> = [
        "user-agent", "referer", "dnt", "save-data", "priority", "purpose", "x-purpose", "x-playback-session-id", "x-requested-with",
        "device-memory", "downlink", "dpr", "ect", "rtt", "viewport-width", "width", "early-data", "icy-metadata",
    ]
}
