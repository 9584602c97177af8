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
        /// The players with settings of their own.
        var visits: ProxyVisits?
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
            let (server, visits) = server(on: thread.loop)
            let addresses = try listen(server)
            let bound = cache.bounds.set(rules.reach)
            state.withLock {
                $0 = State(visits: visits, isStarted: true, server: server, thread: thread, port: addresses.first?.port, bound: bound)
            }
        } catch {
            state.withLock { $0 = State() }
            // The system error for an address in use contains advice already.
            let advice = error.meansAddressInUse ? "" : "; choose another address or port"
            throw CacheError(.configuration, "can't listen on \(options.host):\(options.port): \(error)\(advice)", cause: error)
        }
    }

    private func listen(_ server: HTTPServer) throws(SystemError) -> [SocketAddress] {
        guard let descriptor = options.inheritedListener, let address = SocketAddress(literal: options.host, port: options.port) else {
            return try server.listen(host: options.host, port: options.port)
        }
        return server.listen(on: descriptor, address)
    }

    /// Calls `beat` on the proxy's event loop again and again until the proxy stops, to show that
    /// the loop runs. Does nothing while the proxy does not listen.
    package func onLoop(every interval: Nanoseconds, _ beat: @escaping @Sendable () -> Void) {
        guard let loop = state.withLock({ $0.thread })?.loop else { return }
        loop.post { [weak self] in
            guard let self, self.state.withLock({ $0.server != nil }) else { return }
            beat()
            loop.after(interval) { [weak self] in self?.onLoop(every: interval, beat) }
        }
    }

    private func server(on loop: EventLoop) -> (HTTPServer, ProxyVisits?) {
        let environment = cache.environment
        var serverOptions = ServerOptions(wallNow: { environment.time.wallNow })
        serverOptions.maximumConnections = options.maximumConnections
        let prefix = options.token.map { "/\($0)/" } ?? "/"
        let site = rules.fixedOrigin.map(\.description).map { FixedSite(origin: $0, prefix: prefix, via: loops.names.via(for: $0)) }
        if site != nil { serverOptions.requestLimits.takenBodyBytes = options.passedBodyBytes }
        serverOptions.coldReads = ColdReads(lane: environment.dataLanes[0])
        serverOptions.onResponse = options.onResponse.map { Self.recorder($0, rules) }
        let handler = ProxyRouter(
            cache: cache, rules: rules,
            pages: OwnPages(cache: cache, demoTracks: options.demoTracks, secret: pageSecret) { [rules] url in
                rules.proxied(url, prefix: prefix)
            },
            prefix: prefix, admin: options.commandToken.map { AdminAPI(cache: cache, token: $0) }, sites: sites, loops: loops,
            site: site, wallNow: { environment.time.wallNow })
        // Without a token, each path has a meaning already.
        let visits = options.token == nil || site != nil ? nil : ProxyVisits(main: handler, mainPrefix: prefix)
        let root: any Handler = if let visits { visits } else { handler }
        return (HTTPServer(loop: loop, options: serverOptions, handler: root), visits)
    }

    /// Begins to serve a player with settings of its own.
    ///
    /// - Returns: The visit, or nil while the proxy does not listen, with a fixed origin, and without
    ///   a token.
    package func visit(_ settings: VisitSettings) -> ProxyVisit? {
        guard let visits = state.withLock({ $0.visits }) else { return nil }
        let random = cache.environment.random
        let token = String(random.next(), radix: 36) + String(random.next(), radix: 36)
        let environment = cache.environment
        let router = ProxyRouter(
            cache: cache, rules: rules.with(token: token), pages: OwnPages(cache: cache, demoTracks: [], secret: nil) { _ in nil },
            prefix: "/\(token)/", admin: nil, sites: sites, loops: loops, site: nil, visit: settings,
            wallNow: { environment.time.wallNow })
        visits.begin(token, router)
        return ProxyVisit(token: token, server: self, visits: visits)
    }

    /// Returns the URL by which the player with this token gets the resource.
    func url(for original: String, token: String) -> String? {
        let host = listensEverywhere ? SocketAddress.loopback(like: options.host) : options.host
        return baseURL(host: host, token: token).flatMap { rules.proxied(original, prefix: $0) }
    }

    /// Closes the listener and every connection, and returns once that is done. Idempotent. The
    /// cache stays open.
    public func stop() { stop(grace: 0) }

    /// Closes the listener and every idle connection at once, and the others with the end of their
    /// answers. Returns once that is done. Idempotent. The cache stays open.
    ///
    /// - Parameter grace: The longest time for these answers. The rest is cut off after it.
    package func stop(grace: Nanoseconds) {
        let (server, thread, bound) = state.withLock { state in
            defer { state = State() }
            return (state.server, state.thread, state.bound)
        }
        guard let server, let thread else { return }
        thread.wait { done in server.stop(grace: grace, done) }
        if let bound { cache.bounds.lift(bound) }
    }

    /// Opens the listener again if the system closed it, on the same port and with the same token.
    /// `MediaCache.followAppLifecycle()` calls this when the app returns from the background, and a
    /// listener that fails while the app runs is opened again by itself.
    public func appReturned() {
        state.withLock { $0.server }?.checkListeners()
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

    private func baseURL(host: String) -> String? { baseURL(host: host, token: options.token) }

    private func baseURL(host: String, token: String?) -> String? {
        guard let port = state.withLock({ $0.port }) else { return nil }
        let host = host.contains(":") ? "[\(host)]" : host
        return "http://\(host):\(port)" + (token.map { "/\($0)/" } ?? "/")
    }

    private var listensEverywhere: Bool { SocketAddress(literal: options.host, port: 0)?.isUnspecified == true }

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
