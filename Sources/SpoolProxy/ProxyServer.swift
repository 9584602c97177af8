public import Spool
public import SpoolCore
import SpoolOrigin
import SpoolServer
import SpoolSystem

/// A caching HTTP proxy over a `MediaCache`. It shares the thread of the cache's transport where
/// possible, and else has its own.
///
/// URL forms: `/[token/]scheme/authority/path?query`, `/[token/]?url=<percent-encoded>`,
/// `/token/?key=<…>&url=<…>` for an item with a key of its own, or the paths of a fixed origin. The
/// proxy's own pages are under `/_spool/`.
///
/// The proxy answers GET and HEAD. Other methods get 405, or are forwarded to a fixed origin.
///
/// ```swift
/// let proxy = try ProxyServer(cache: cache)
/// try proxy.start()
/// let playable = proxy.url(for: "https://example.com/live/master.m3u8")
/// ```
public final class ProxyServer: LoopbackEndpoint {
    private let cache: MediaCache
    private let options: ProxyOptions
    private let rules: ProxyTargetRules
    private let sites: SitePolicy
    private let loops: LoopGuard
    /// The first segment below `/_spool/` where the proxy stands in for a site, or nil. The site's
    /// scripts share the proxy's browser origin, and must not be able to read the proxy's own
    /// pages.
    private let pageSecret: String?
    private let state = Locked(State())

    private struct State {
        /// Whether the proxy runs or is being started.
        var isStarted = false
        var server: HTTPServer?
        var thread: LoopThread?
        var port: UInt16?
        /// The number of this proxy's entry in the cache's bounds on reachable origins.
        var bound: Int?
    }

    /// Creates a proxy that does not listen yet.
    ///
    /// - Throws: `.configuration` when the options are invalid, or when an address that other
    ///   machines can reach has no token.
    public init(cache: MediaCache, options: ProxyOptions = ProxyOptions()) throws(CacheError) {
        self.cache = cache
        self.options = options
        rules = try ProxyTargetRules(options)
        sites = try SitePolicy(allowsAll: options.allowsForeignSites, allowed: options.allowedSites)
        loops = LoopGuard(options: options, names: cache.nameInVia())
        let random = cache.environment.random
        pageSecret = options.fixedOrigin == nil ? nil : String(random.next(), radix: 36) + String(random.next(), radix: 36)
    }

    /// Starts listening, and returns once connections are accepted. May be called again after
    /// `stop`.
    ///
    /// - Throws: `.configuration` when the proxy cannot listen on the address, or already runs. The
    ///   message contains the reason.
    public func start() throws(CacheError) {
        let isFirst = state.withLock { state in
            defer { state.isStarted = true }
            return !state.isStarted
        }
        guard isFirst else { throw CacheError(.configuration, "the proxy runs already; stop it before you start it again") }
        do throws(SystemError) {
            let thread = if let shared = cache.environment.loop { shared } else { try LoopThread(name: "spool-proxy") }
            let server = server(on: thread.loop)
            let addresses = try server.listen(host: options.host, port: options.port)
            let bound = cache.bounds.set(rules.reach)
            state.withLock { $0 = State(isStarted: true, server: server, thread: thread, port: addresses.first?.port, bound: bound) }
        } catch {
            state.withLock { $0 = State() }
            // The system error for an address in use contains advice already.
            let advice = error.meansAddressInUse ? "" : "; choose another address or port"
            throw CacheError(.configuration, "can't listen on \(options.host):\(options.port): \(error)\(advice)", cause: error)
        }
    }

    private func server(on loop: EventLoop) -> HTTPServer {
        let environment = cache.environment
        var serverOptions = ServerOptions(wallNow: { environment.time.wallNow })
        serverOptions.maximumConnections = options.connections
        let prefix = options.token.map { "/\($0)/" } ?? "/"
        let site = rules.fixedOrigin.map { FixedSite(origin: $0, prefix: prefix, via: loops.names.via(for: $0)) }
        if site != nil { serverOptions.requestLimits.takenBodyBytes = options.passedBodyBytes }
        serverOptions.coldReads = ColdReads(lane: environment.dataLanes[0])
        serverOptions.onResponse = options.onResponse.map { Self.recorder($0, rules) }
        let handler = ProxyHandler(
            cache: cache, rules: rules,
            pages: OwnPages(cache: cache, demoTracks: options.demoTracks, secret: pageSecret) { [rules] url in
                rules.proxied(url, prefix: prefix)
            },
            prefix: prefix, admin: options.commandToken.map { AdminAPI(cache: cache, token: $0) }, sites: sites, loops: loops,
            site: site, wallNow: { environment.time.wallNow })
        return HTTPServer(loop: loop, options: serverOptions, handler: handler)
    }

    /// Closes the listener and every connection, and returns once that is done. Idempotent. The
    /// cache stays open.
    public func stop() {
        let (server, thread, bound) = state.withLock { state in
            defer { state = State() }
            return (state.server, state.thread, state.bound)
        }
        guard let server, let thread else { return }
        thread.wait { done in server.stop(done) }
        if let bound { cache.bounds.lift(bound) }
    }

    /// The base URL of the proxy, such as `http://127.0.0.1:8080/`, with the token if there is one,
    /// or nil while the proxy does not listen. It uses loopback where the proxy listens on every
    /// address.
    public var baseURL: String? {
        baseURL(host: listensEverywhere ? SocketAddress.loopback(like: options.host) : options.host)
    }

    /// The URL of the status page, or nil while the proxy does not listen. With a fixed origin the
    /// URL contains a secret, which hides the page from the site's scripts.
    public var pageURL: String? {
        baseURL.map { $0 + ProxyTargetRules.ownPrefix + (pageSecret.map { "\($0)/" } ?? "") }
    }

    /// Returns the URL by which a player gets the resource through the proxy.
    ///
    /// - Parameter original: The absolute URL of the resource at its origin.
    /// - Returns: The URL at the proxy, or nil while the proxy does not listen and for a resource
    ///   that it does not serve.
    public func url(for original: String) -> String? {
        baseURL.flatMap { rules.proxied(original, prefix: $0) }
    }

    /// Returns the URL by which a player gets the resource, which the cache keeps under `key`. Use
    /// it for signed URLs, and for one item behind several URLs.
    ///
    /// - Returns: The URL at the proxy. Nil while the proxy does not listen, for a resource that it
    ///   does not serve, for a key that is empty or longer than 1024 bytes, with a fixed origin,
    ///   and without a token. The token is required because a client that chooses keys can put
    ///   bytes in the place of another resource.
    public func url(for original: String, key: ResourceKey) -> String? {
        baseURL.flatMap { rules.proxied(original, key: key, prefix: $0) }
    }

    /// Returns the URL by which other devices of the local network get the resource, with the
    /// token. Every reader of the URL can read the cache.
    ///
    /// Listen on `0.0.0.0`, or on the address itself. A device can change networks, so call this
    /// method for each play.
    ///
    /// - Returns: The URL at the proxy. Nil while the proxy does not listen, for a resource that it
    ///   does not serve, where it listens on loopback only, or where this device is in no local
    ///   network.
    public func localNetworkURL(for original: String) -> String? {
        guard let host = localNetworkHost(for: original), let base = baseURL(host: host) else { return nil }
        return rules.proxied(original, prefix: base)
    }

    private func baseURL(host: String) -> String? {
        guard let port = state.withLock({ $0.port }) else { return nil }
        let host = host.contains(":") ? "[\(host)]" : host
        return "http://\(host):\(port)" + (options.token.map { "/\($0)/" } ?? "/")
    }

    private var listensEverywhere: Bool { SocketAddress(literal: options.host, port: 0)?.isUnspecified ?? false }

    private func localNetworkHost(for original: String) -> String? {
        guard let address = SocketAddress(literal: options.host, port: 0) else { return nil }
        // A listener on `::` takes no IPv4 connections, and only IPv4 addresses are searched.
        guard address.isUnspecified, address.family == .ipv4 else {
            return address.isLoopback || address.isUnspecified ? nil : options.host
        }
        do throws(SystemError) {
            return InterfaceAddress.localNetwork(among: try InterfaceAddress.all())?.host
        } catch {
            if let key = try? cache.key(for: original) {
                cache.record(.degradedToPassthrough(key, reason: "this device's addresses can't be had: \(error)"))
            }
            return nil
        }
    }

    private static func recorder(
        _ onResponse: @escaping @Sendable (ProxyRecord) -> Void, _ rules: ProxyTargetRules
    ) -> @Sendable (AccessRecord) -> Void {
        { record in
            let problem: String? =
                switch record.end {
                case .complete: nil
                case .clientLeft: "the client left"
                case .aborted(let why), .refused(let why): why
                }
            onResponse(
                ProxyRecord(
                    method: record.method, target: rules.logged(record.target), status: record.status ?? 499,
                    bytesSent: record.bodyBytes, milliseconds: Double(record.duration) / 1e6, problem: problem))
        }
    }
}

/// Routes each request to the proxy's own pages, the admin API, the fixed origin or the cache, or
/// refuses it.
private final class ProxyHandler: Handler {
    private let cache: MediaCache
    private let rules: ProxyTargetRules
    private let pages: OwnPages
    private let prefix: String
    private let admin: AdminAPI?
    private let sites: SitePolicy
    private let loops: LoopGuard
    private let site: FixedSite?
    private let fieldRules: ResourceFields
    private let wallNow: @Sendable () -> Timestamp
    private let memo = TargetMemo()

    init(
        cache: MediaCache, rules: ProxyTargetRules, pages: OwnPages, prefix: String, admin: AdminAPI?, sites: SitePolicy,
        loops: LoopGuard, site: FixedSite?, wallNow: @escaping @Sendable () -> Timestamp
    ) {
        self.cache = cache
        self.rules = rules
        self.pages = pages
        self.prefix = prefix
        self.admin = admin
        self.sites = sites
        self.loops = loops
        self.site = site
        fieldRules = ResourceFields(isSite: site != nil)
        self.wallNow = wallNow
    }

    /// The caching policy for a fixed origin: the site's caching rules, unless the configuration
    /// stores everything. Nil selects the cache's policy.
    private var policy: CachePolicy? {
        rules.fixedOrigin != nil && cache.configuration.cachePolicy != .storeEverything ? .standard : nil
    }

    func bodySink(for request: RequestHead) -> (any BodySink)? {
        site?.passesOn(request) ?? false ? PassedBody(count: request.contentLength) : nil
    }

    /// Returns the meaning of a path. An authority equal to the last allowed one skips the host
    /// check.
    private func read(path: String, authority: String?, isFromNetwork: Bool) -> ProxyTarget {
        if authority == memo.allowedAuthority { return rules.read(path: path, host: nil, isFromNetwork: isFromNetwork) }
        let target = rules.read(path: path, host: authority, isFromNetwork: isFromNetwork)
        if case .resource = target { memo.allowedAuthority = authority }
        return target
    }

    func respond(to request: RequestHead, on exchange: Exchange) {
        if request.method == "POST", let admin, case .own(let path) = rules.read(path: request.path, host: request.authority) {
            return admin.respond(to: request, path: path, on: exchange)
        }
        let passesOn = site?.passesOn(request) ?? false
        if request.method != "GET" && request.method != "HEAD" && !passesOn {
            return exchange.respond(.error(405, "this cache answers GET and HEAD, not \(request.method)", fields: ["Allow": "GET, HEAD"]))
        }
        let path = request.path, authority = request.authority
        let isFromNetwork = exchange.isFromNetwork
        let meaning = memo.meaning(of: path, authority: authority, isFromNetwork: isFromNetwork) {
            let target = read(path: path, authority: authority, isFromNetwork: isFromNetwork)
            guard case .resource(let url, let chosen) = target else { return .init(target: target) }
            if loops.isOwn(url, exchange) { return .init(target: .refused(.init(status: 508, explanation: "this URL is the proxy's own"))) }
            // A URL without a key gets its refusal when the reader is made.
            guard let key = try? cache.readingKey(for: url, chosen: chosen.map(ResourceKey.init(normalized:))) else {
                return .init(target: target)
            }
            let hits = HitAnswer(
                cache: cache, key: key, url: url, policy: cache.policy(for: url, policy), fields: fieldRules, wallNow: wallNow)
            return .init(target: target, key: key, hits: hits)
        }
        if case .refused(let refusal) = meaning.target { return exchange.respond(.error(refusal.status, refusal.explanation)) }
        if let refusal = sites.refusal(of: request) { return exchange.respond(.error(403, refusal)) }
        if loops.hasPassed(request) {
            return exchange.respond(.error(508, "this request went through the proxy before: its origin leads back here"))
        }
        switch meaning.target {
        case .resource(let url, _) where passesOn:
            if let site { PassOn(exchange, url: url, site: site, cache: cache).begin() }
        case .resource(let url, _):
            if let refusal = fieldRules.refusal(of: request) {
                return exchange.respond(.error(403, refusal, fields: fieldRules.error([:])))
            }
            if let hits = meaning.hits, hits.respond(to: request, on: exchange) { return }
            ResourceAnswer(
                exchange: exchange, cache: cache, url: url, key: meaning.key, policy: policy, page: page(of: request),
                fields: fieldRules, now: wallNow
            ).begin()
        case .own where request.method != "GET" && request.method != "HEAD":
            exchange.respond(.error(405, "this page answers GET and HEAD, not \(request.method)", fields: ["Allow": "GET, HEAD"]))
        case .own(let path):
            pages.respond(to: path, on: exchange)
        case .page:
            exchange.respond(Response(302, fields: ["Location": "\(prefix)_spool/"]))
        case .refused(let refusal):
            exchange.respond(.error(refusal.status, refusal.explanation))
        }
    }
}

extension ProxyHandler {
    /// Returns the web site whose page makes a browser send the request, for the request to the
    /// origin. A page of the proxy counts as one of the site that the proxy stands in for. Call it
    /// only for a request that `SitePolicy` allows.
    private func page(of request: RequestHead) -> String? {
        guard request.has("Origin"), let page = request.fields.single("Origin").value else { return nil }
        let isOwn = request.authority.map { page.equalsIgnoringCase("http://\($0)") } ?? false
        return isOwn ? rules.fixedOrigin : page
    }
}

extension ProxyTargetRules {
    /// Creates the rules from the options of a proxy.
    ///
    /// - Throws: `.configuration` for invalid options.
    package init(_ options: ProxyOptions) throws(CacheError) {
        let isLoopback = SocketAddress.resolve(options.host, port: options.port).allSatisfy(\.isLoopback)
        guard isLoopback || options.token != nil else {
            throw CacheError(.configuration, "\(options.host) can be reached by others: give a token (--token), or listen on 127.0.0.1")
        }
        if let token = options.token, token.isEmpty || token != token.percentEncoded || token == "_spool" {
            throw CacheError(.configuration, "the token may have letters, digits, '-', '.', '_' and '~' only, and is not empty")
        }
        token = options.token
        listensOnLoopback = isLoopback
        let fixed = try options.fixedOrigin.map { text throws(CacheError) in try Self.origin(text) }
        fixedOrigin = fixed?.description
        allowedHosts = Set(options.allowedHosts.map(\.asciiLowercased))
        if let list = options.allowedOrigins {
            var origins = Set<URIReference.Origin>()
            for text in list { origins.insert(try Self.origin(text)) }
            allowedOrigins = origins
        } else {
            allowedOrigins = nil
        }
        reach = OriginReach(allowed: allowedOrigins, named: fixed.map { [$0] } ?? [], servesNetwork: !isLoopback)
    }

    static func origin(_ text: String) throws(CacheError) -> URIReference.Origin {
        guard let reference = try? URIReference(text), let origin = reference.origin, reference.path.isEmpty || reference.path == "/",
            origin.scheme == "http" || origin.scheme == "https"
        else {
            throw CacheError(.configuration, "'\(text)' is not an origin such as https://example.com")
        }
        return origin
    }
}
