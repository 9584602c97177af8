public import Spool
public import SpoolCore
import SpoolServer
import SpoolSystem

/// A caching HTTP proxy over a `MediaCache`. It shares the thread of the cache's transport where
/// possible, and else has its own. `ProxyOptions.loopCount` gives it further ones.
///
/// URL forms: `/[token/]scheme/authority/path?query`, `/[token/]?url=<percent-encoded>`,
/// `/token/?key=<…>&url=<…>` for an item with a key of its own, or the paths of a fixed origin. The
/// proxy's own pages are under `/_spool/`. `ProxiedPath` parses and prints them.
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
    private let guards: LoopGuard
    /// Makes the pages below `/_spool/` at each start, or nil without such pages.
    private let ownPages: (@Sendable (ProxyPlace) -> any OwnPages)?
    private let state = Locked(State())

    private struct State {
        /// The players with settings of their own.
        var visits: ProxyVisits?
        /// Whether the proxy runs or is being started.
        var isStarted = false
        var server: HTTPServer?
        /// The pages below `/_spool/`.
        var pages: (any OwnPages)?
        /// The threads of the proxy's loops. The first one accepts connections.
        var threads: [LoopThread] = []
        var port: UInt16?
        /// The hosts by which players on this machine reach the proxy, the best one first.
        var hosts: [String] = []
        /// The number of this proxy's entry in the cache's bounds on reachable origins.
        var bound: Int?
    }

    /// Creates a proxy that does not listen yet.
    ///
    /// - Throws: `.configuration` when the options are invalid, or when an address that other
    ///   machines can reach has no token.
    public convenience init(cache: MediaCache, options: ProxyOptions = ProxyOptions()) throws(CacheError) {
        try self.init(cache: cache, options: options, ownPages: nil)
    }

    /// Creates a proxy with pages of its own, which does not listen yet.
    ///
    /// - Parameter ownPages: Makes the pages below `/_spool/` at each start.
    /// - Throws: As `init(cache:options:)`.
    package init(
        cache: MediaCache, options: ProxyOptions, ownPages: (@Sendable (ProxyPlace) -> any OwnPages)?
    ) throws(CacheError) {
        self.cache = cache
        self.options = options
        self.ownPages = ownPages
        guard ProxyOptions.loopCounts.contains(options.loopCount) else {
            let bounds = ProxyOptions.loopCounts
            throw CacheError(
                .configuration, "a proxy has \(bounds.lowerBound) to \(bounds.upperBound) event loops, not \(options.loopCount)")
        }
        rules = try ProxyTargetRules(options)
        sites = try SitePolicy(allowsAll: options.allowsForeignSites, allowed: options.allowedSites)
        guards = LoopGuard(options: options, names: cache.nameInVia())
    }

    /// Starts listening, and returns once connections are accepted. May be called again after
    /// `stop`.
    ///
    /// - Throws: `.configuration` when the proxy cannot listen on the address, or already runs. The
    ///   message contains the reason.
    public func start() throws(CacheError) {
        let isFirst = state.withLock { !exchange(&$0.isStarted, with: true) }
        guard isFirst else { throw CacheError(.configuration, "the proxy runs already; stop it before you start it again") }
        do throws(SystemError) {
            let threads = try makeThreads()
            let (server, pages, visits) = server(on: threads.map(\.loop))
            let addresses = try listen(server)
            if let listener = options.frontListener { server.listen(forFronts: listener) }
            let bound = cache.bounds.set(rules.reach)
            let hosts = hosts(listening: addresses)
            state.withLock {
                $0 = State(
                    visits: visits, isStarted: true, server: server, pages: pages, threads: threads, port: addresses.first?.port,
                    hosts: hosts, bound: bound)
            }
            if pages != nil { onLoops(every: .seconds(ProxyPlace.turnSeconds)) { [weak pages] in pages?.turn() } }
        } catch {
            state.withLock { $0 = State() }
            // The system error for an address in use contains advice already.
            let advice = error.meansAddressInUse ? "" : "; choose another address or port"
            throw CacheError(.configuration, "can't listen on \(options.host):\(options.port): \(error)\(advice)", cause: error)
        }
    }

    /// Starts the threads of the proxy's loops. A transport and a loop on one thread pass bytes on
    /// without waking a thread.
    private func makeThreads() throws(SystemError) -> [LoopThread] {
        let first = if let shared = cache.environment.loop { shared } else { try LoopThread(name: "spool-proxy") }
        var threads = [first]
        while threads.count < options.loopCount { threads.append(try LoopThread(name: "spool-proxy-\(threads.count + 1)")) }
        return threads
    }

    /// Returns the hosts for the URLs of players. A player tries both addresses of `localhost`, so
    /// the name stands for the proxy only if no other program can have the second one.
    private func hosts(listening addresses: [SocketAddress]) -> [String] {
        if listensEverywhere { return [SocketAddress.loopback(like: options.host)] }
        guard options.host.lowercased() == "localhost" else { return [options.host] }
        return addresses.count > 1 || !Socket.hasIPv6Loopback ? [options.host, "127.0.0.1"] : ["127.0.0.1"]
    }

    private func listen(_ server: HTTPServer) throws(SystemError) -> [SocketAddress] {
        guard let descriptor = options.inheritedListener, let address = SocketAddress(literal: options.host, port: options.port) else {
            return try server.listen(host: options.host, port: options.port)
        }
        return server.listen(on: descriptor, address)
    }

    /// Calls `beat` after a turn of each of the proxy's event loops, again and again until the
    /// proxy stops, to show that the loops run. Does nothing while the proxy does not listen.
    package func onLoops(every interval: Nanoseconds, _ beat: @escaping @Sendable () -> Void) {
        let (loops, server) = state.withLock { ($0.threads.map(\.loop), $0.server) }
        if let server { onLoops(loops[...], of: server, every: interval, beat) }
    }

    private func onLoops(
        _ rest: ArraySlice<EventLoop>, of server: HTTPServer, every interval: Nanoseconds, _ beat: @escaping @Sendable () -> Void
    ) {
        guard let loop = rest.first else { return }
        loop.post { [weak self, weak server] in
            // A proxy that was stopped and started again has another server.
            guard let self, let server, self.state.withLock({ $0.server === server }) else { return }
            guard rest.count == 1 else { return self.onLoops(rest.dropFirst(), of: server, every: interval, beat) }
            beat()
            // A timer must not hold the loop that holds it.
            loop.after(interval) { [weak self, weak server] in
                guard let self, let server else { return }
                let loops = self.state.withLock { $0.server === server ? $0.threads.map(\.loop) : [] }
                self.onLoops(loops[...], of: server, every: interval, beat)
            }
        }
    }

    private func server(on loops: [EventLoop]) -> (HTTPServer, (any OwnPages)?, ProxyVisits?) {
        let environment = cache.environment
        var serverOptions = ServerOptions(wallNow: { environment.time.wallNow })
        serverOptions.maximumConnections = options.maximumConnections
        serverOptions.fronts = options.fronts
        if let count = options.connectionsPerClient { serverOptions.connectionsPerClient = count }
        let prefix = options.token.map { "/\($0)/" } ?? "/"
        let site = rules.fixedOrigin.map(\.description).map { FixedSite(origin: $0, prefix: prefix, via: guards.names.via(for: $0)) }
        if site != nil { serverOptions.requestLimits.takenBodyBytes = options.passedBodyBytes }
        serverOptions.coldReads = ColdReads(lane: environment.dataLanes[0])
        serverOptions.onResponse = options.onResponse.map { Self.recorder($0, rules) }
        let place = ProxyPlace(
            prefix: prefix, loops: loops.map(\.times),
            countersByLoop: { [weak self] done in
                guard let server = self?.state.withLock({ $0.server }) else { return done([]) }
                server.countersByLoop(done)
            }, playPath: { [rules] in rules.proxied($0, prefix: prefix) })
        let pages = ownPages?(place)
        let manifests = ManifestDoor(
            cache: cache, rules: rules, prefix: prefix, names: guards.names, bytesOfClient: options.manifestBytesOfClient,
            wallNow: serverOptions.wallNow)
        let strangers = Strangers(cache: cache, pages: pages, isExpected: options.fronts != nil, site: rules.fixedOrigin)
        // Without a token, each path has a meaning already.
        let visits = options.token == nil || site != nil ? nil : ProxyVisits()
        let handlers = loops.indices.map { index -> any Handler in
            let router = ProxyRouter(manifests, pages: pages, sites: sites, loops: guards, site: site, strangers: strangers)
            return visits.map { VisitRouter(main: router, mainPrefix: prefix, visits: $0, loop: index) } ?? router
        }
        let others = zip(loops, handlers).dropFirst().map { (loop: $0, handler: $1) }
        return (HTTPServer(loop: loops[0], options: serverOptions, handler: handlers[0], others: others), pages, visits)
    }

    /// Begins to serve a player with settings of its own.
    ///
    /// - Returns: The visit, or nil while the proxy does not listen, with a fixed origin, and
    ///   without a token.
    package func visit(_ settings: VisitSettings) -> ProxyVisit? {
        let (known, loopCount) = state.withLock { ($0.visits, $0.threads.count) }
        guard let visits = known else { return nil }
        let token = cache.environment.random.word()
        let (rules, prefix, time) = (rules.with(token: token), "/\(token)/", cache.environment.time)
        let manifests = ManifestDoor(cache: cache, rules: rules, prefix: prefix, names: guards.names, wallNow: { time.wallNow })
        let strangers = Strangers(cache: cache, pages: nil, isExpected: options.fronts != nil, site: nil)
        visits.begin(
            token,
            (0..<loopCount).map { _ in
                ProxyRouter(manifests, pages: nil, sites: sites, loops: guards, site: nil, strangers: strangers, visit: settings)
            })
        return ProxyVisit(token: token, visits: visits) { self.url(for: $0, token: token, host: $1) }
    }

    /// Returns the URL by which the player with this token gets the resource.
    private func url(for original: String, token: String, host: String?) -> String? {
        (host ?? hosts.first).flatMap { baseURL(host: $0, token: token) }.flatMap { rules.proxied(original, prefix: $0) }
    }

    /// Begins to answer a random path with a random word, so that a client can prove that it
    /// reaches this proxy and no other program.
    ///
    /// - Returns: The word and its path, or nil while the proxy does not listen, with a fixed
    ///   origin, and without a token.
    package func echo() -> ProxyEcho? {
        let (known, loopCount) = state.withLock { ($0.visits, $0.threads.count) }
        guard let visits = known else { return nil }
        let (token, word) = (cache.environment.random.word(), cache.environment.random.word())
        visits.begin(token, Array(repeating: EchoHandler(word: word), count: loopCount))
        return ProxyEcho(word: word, token: token, visits: visits) { self.baseURL(host: $0, token: token) }
    }

    /// Closes the listener and every connection, and returns once that is done. Idempotent. The
    /// cache stays open.
    public func stop() { stop(grace: 0) }

    /// Closes the listener and every idle connection at once, and the others with the end of their
    /// answers. Returns once that is done. Idempotent. The cache stays open.
    ///
    /// - Parameter grace: The longest time for these answers. The rest is cut off after it.
    package func stop(grace: Nanoseconds) {
        let (server, pages, threads, bound) = state.withLock { state in
            defer { state = State() }
            return (state.server, state.pages, state.threads, state.bound)
        }
        // These answers would last until the end of `grace`.
        pages?.end()
        guard let server, let first = threads.first else { return }
        // The loops run until each of them has stopped.
        first.wait { done in server.stop(grace: grace) { withExtendedLifetime(threads) { done() } } }
        if let bound { cache.bounds.lift(bound) }
    }

    /// Opens the listener again if the system closed it, on the same port and with the same token.
    /// The players of the cache call this when the app returns from the background. A listener that
    /// fails while the app runs is opened again by itself.
    public func appReturned() {
        state.withLock { $0.server }?.checkListeners()
    }

    /// The base URL of the proxy, such as `http://127.0.0.1:8080/`, with the token if there is one,
    /// or nil while the proxy does not listen. It uses loopback where the proxy listens on every
    /// address, and 127.0.0.1 instead of `localhost` where another program has the port of ::1.
    public var baseURL: String? { hosts.first.flatMap { baseURL(host: $0) } }

    /// The hosts by which players on this machine reach the proxy, the best one first. Empty while
    /// the proxy does not listen.
    package var hosts: [String] { state.withLock { $0.hosts } }

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
                cache.record(.degradedToPassthrough(key, reason: "this device's addresses are unavailable: \(error)"))
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
                    client: record.client?.host, method: record.method, target: rules.logged(record.target), status: record.status ?? 499,
                    bytesSent: record.bodyBytes, milliseconds: Double(record.duration) / 1e6, problem: problem, range: record.range,
                    userAgent: record.userAgent, cacheStatus: record.cacheStatus))
        }
    }
}
