import SpoolCore
import SpoolOrigin
import SpoolProxy
import SpoolSystem
import SpoolTiers

/// The flags of `serve` and `demo`: how the HTTP proxy listens, and which clients it serves.
struct ProxySettings {
    private(set) var options = ProxyOptions()

    static let listen = Flag(
        "listen", takes: "HOST:PORT", environment: "SPOOL_LISTEN",
        help:
            "Where to listen; 127.0.0.1:8080 by default, port 0 takes one that is free. An address that other machines reach demands --token."
    )
    static let token = Flag(
        "token", takes: "@FILE|TOKEN", environment: "SPOOL_TOKEN",
        help: "The first path segment that every request must have: letters, digits, '-', '.', '_' and '~'. With @FILE the first line of a"
            + " file that only you may read: a command line can be read by every user of the machine.")
    static let origin = Flag(
        "origin", takes: "URL", help: "Answer as if the proxy were this site, for example https://example.com.")
    static let allowHost = Flag(
        "allow-host", takes: "NAME", environment: "SPOOL_ALLOW_HOST",
        help: "A name or address besides its own that clients may call the proxy by; may be repeated. '*' is any, for containers."
    ).repeatable
    static let allowOrigin = Flag(
        "allow-origin", takes: "URL",
        help: "An origin that may be asked, by redirects too, for example https://example.com; may be repeated. All by default."
            + " An origin that is named may be anywhere: on this machine for clients of other machines, or behind a private address."
    ).repeatable

    static let allowSite = Flag(
        "allow-site", takes: "URL",
        help: "A web site whose pages may play through this proxy, for example https://player.example; may be repeated. 'null' is files."
    ).repeatable
    static let allowForeignSites = Flag("allow-foreign-sites", help: "Serve browsers on behalf of every web site.")
    static let allowPrivate = Flag(
        "allow-private", takes: "NAME",
        help: "A public name that may lead to a private address, '*.example.com' for all below that, '*' for all; may be repeated."
            + " Literal addresses and local names are always allowed."
    ).repeatable

    static let users = Flag(
        "users", takes: "one|many",
        help: "Whether several people share what is stored: then responses for one user are not kept. 'many' by default on an address that"
            + " other machines reach, else 'one'.")

    static let parent = Flag(
        "parent", takes: "@FILE|URL", environment: "SPOOL_PARENT",
        help: "Another Spool that is asked before origins, such as http://10.0.0.5:8080/TOKEN/; not with --origin. Origins are asked"
            + " themselves while it does not serve, for requests with credentials, and for playlists. With @FILE the first line of a file"
            + " that only you may read.")

    static let behindProxy = Flag(
        "behind-proxy", takes: "COUNT", environment: "SPOOL_BEHIND_PROXY", usual: "1",
        help: "Clients come through COUNT proxies in turn, such as nginx with TLS, 1 by default. They count as clients of the network, and"
            + " X-Forwarded-For, -Proto and -Host of a proxy on this machine are believed. Demands --token, --origin or --allow-origin.")
    static let trustedProxy = Flag(
        "trusted-proxy", takes: "ADDRESS",
        help: "With --behind-proxy: a proxy on another machine that is believed too, such as 10.0.0.5 or 10.0.0.0/8; may be repeated."
    ).repeatable

    static let unixSocket = Flag(
        "unix-socket", takes: "PATH",
        help: "With --behind-proxy: listen on a Unix socket as well, for a proxy on this machine, which needs this server's group."
    )

    static let perClient = Flag(
        "connections-per-client", takes: "COUNT",
        help: "The most connections from one address of the network, 128 by default. Behind a proxy, the most requests at once.")

    /// The flags about clients, those about sites, and all.
    static let clients = [listen, token, allowHost, users, perClient, behindProxy, trustedProxy, unixSocket]
    static let sites = [origin, allowOrigin, allowSite, allowForeignSites, allowPrivate]
    static let all = clients + sites + [parent]

    /// The bounds of `--connections-per-client`. The server has no more connections in all.
    private static let perClientBounds = 1...16_384

    /// The Spool that is asked before origins, or nil.
    let asksParent: ParentProxy?
    /// The path of the Unix socket for the proxies before this one, or nil for none.
    let unixPath: String?
    /// Whether several people share the stored media.
    let hasManyUsers: Bool
    /// The names that may resolve to private addresses. The rule matters here because clients
    /// choose the URLs.
    let privateNames: PrivateNames

    /// Reads the flags.
    ///
    /// - Parameter listener: The address of the listener that the process has inherited, in place
    ///   of the one of the flags, or nil.
    init(_ arguments: Arguments, listener: SocketAddress? = nil) throws(UsageError) {
        let address = try arguments.value(Self.listen, expected: "HOST:PORT, for example 127.0.0.1:8080") { ListenAddress($0) }
        let inherited = listener.map { ListenAddress(host: $0.host, port: $0.port) }
        let place = inherited ?? address ?? ListenAddress(host: "127.0.0.1", port: 8080)
        options.host = place.host
        options.port = place.port
        options.token = try Self.token(arguments)
        options.fixedOrigin = try arguments.value(Self.origin, expected: "a URL like https://example.com", Self.origin)
        options.allowedHosts = arguments.all(Self.allowHost)
        if arguments.has(Self.allowOrigin) { options.allowedOrigins = arguments.all(Self.allowOrigin) }
        options.allowedSites = arguments.all(Self.allowSite)
        options.allowsForeignSites = arguments.has(Self.allowForeignSites)
        let names = arguments.all(Self.allowPrivate)
        privateNames = names.contains("*") ? .allowed : .refused(except: names)
        let users = try arguments.choice(Self.users, among: ["one": false, "many": true])
        options.fronts = try Self.fronts(arguments)
        hasManyUsers = users ?? (!place.isLoopback || options.fronts != nil)
        unixPath = arguments[Self.unixSocket]
        if unixPath != nil, options.fronts == nil {
            throw arguments.invalid(Self.unixSocket, "has no effect without \(Self.behindProxy.spelling)")
        }
        options.connectionsPerClient = try arguments.number(Self.perClient, in: Self.perClientBounds)
        asksParent = try Self.parent(arguments)
        if asksParent != nil, options.fixedOrigin != nil {
            throw arguments.invalid(Self.parent, "is for a proxy of any origin; leave out \(Self.origin.spelling)")
        }
        if options.fronts != nil, options.token == nil, options.fixedOrigin == nil, options.allowedOrigins == nil {
            throw arguments.invalid(
                Self.behindProxy,
                "lets strangers reach every origin: give --token @FILE, or --origin URL for one site, or --allow-origin URL for some")
        }
        if !place.isLoopback && options.token == nil {
            throw arguments.invalid(Self.listen, "names an address that other machines reach, which needs --token @FILE")
        }
    }

    /// Returns the proxies before the server, or nil without them.
    private static func fronts(_ arguments: Arguments) throws(UsageError) -> FrontProxies? {
        let hops = try arguments.number(behindProxy, in: FrontProxies.hopCounts)
        var named: [AddressRange] = []
        for text in arguments.all(trustedProxy) {
            guard let range = AddressRange(text) else {
                throw arguments.invalid(
                    trustedProxy, "can't be '\(text)'; it is an address such as 10.0.0.5, or a network such as 10.0.0.0/8")
            }
            named.append(range)
        }
        guard let hops else {
            if !named.isEmpty { throw arguments.invalid(trustedProxy, "has no effect without \(behindProxy.spelling)") }
            return nil
        }
        return FrontProxies(hops: hops, named: named)
    }

    /// Returns 128 random bits in hexadecimal.
    static func randomToken() -> String { SystemRandom().word() }

    /// Returns the given parent, or the one in the first line of the named file.
    private static func parent(_ arguments: Arguments) throws(UsageError) -> ParentProxy? {
        guard let text = try secret(parent, "the parent's URL", arguments) else { return nil }
        guard let proxy = ParentProxy(text) else {
            // The text may contain a token.
            throw arguments.invalid(parent, "is not a URL like http://10.0.0.5:8080/TOKEN/")
        }
        return proxy
    }

    /// Returns the value of a flag, or the first line of the file that it names.
    private static func secret(_ flag: Flag, _ what: String, _ arguments: Arguments) throws(UsageError) -> String? {
        guard let given = arguments[flag], given.hasPrefix("@") else { return arguments[flag] }
        do throws(Failure) { return try SecretFile.readLine(String(given.dropFirst()), holding: what) } catch {
            throw arguments.invalid(flag, "can't be read: \(error.message)")
        }
    }

    /// Returns the given token, or the first line of the named file.
    private static func token(_ arguments: Arguments) throws(UsageError) -> String? {
        guard let given = arguments[token], let text = try secret(token, "the token", arguments) else { return nil }
        guard isToken(text) else {
            let what = text == given ? "can't be '\(text)'" : "names a file whose first line is not a token"
            throw arguments.invalid(token, "\(what); a token is letters, digits, '-', '.', '_' and '~'")
        }
        return text
    }

    /// Whether the text has only characters that need no escape in a path (RFC 3986 §2.3), and is
    /// not the name of the proxy's own pages.
    private static func isToken(_ text: String) -> Bool {
        text.percentEncoded.utf8.elementsEqual(text.utf8) && !["", ProxiedPath.ownSegment, ".", ".."].contains(text)
    }

    private static func origin(_ text: String) -> String? {
        text.hasPrefix("http://") || text.hasPrefix("https://") ? text : nil
    }
}
