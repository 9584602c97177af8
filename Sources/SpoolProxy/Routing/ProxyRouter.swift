import Spool
import SpoolCore
import SpoolManifests
import SpoolServer

/// Routes each request to the proxy's own pages, the fixed origin or the cache, or refuses it.
/// Belongs to one of the proxy's loops.
final class ProxyRouter: Handler {
    private let cache: MediaCache
    private let rules: ProxyTargetRules
    private let pages: (any OwnPages)?
    private let prefix: String
    private let sites: SitePolicy
    private let loops: LoopGuard
    private let site: FixedSite?
    private let fieldRules: ResourceFields
    private let wallNow: @Sendable () -> Timestamp
    private let memo = TargetMemo()
    private let manifests: ManifestDoor
    private let strangers: Strangers
    /// The settings of the player that this router serves, or nil for all players.
    private let visit: VisitSettings?

    /// Creates a router for the cache, the rules and the clock of its manifests.
    init(
        _ manifests: ManifestDoor, pages: (any OwnPages)?, sites: SitePolicy, loops: LoopGuard, site: FixedSite?, strangers: Strangers,
        visit: VisitSettings? = nil
    ) {
        self.visit = visit
        self.strangers = strangers
        self.pages = pages
        self.sites = sites
        self.loops = loops
        self.site = site
        fieldRules = ResourceFields(site: site)
        self.manifests = manifests
        (cache, rules, prefix, wallNow) = (manifests.cache, manifests.rules, manifests.prefix, manifests.wallNow)
    }

    /// Whether the proxy stands in for a site, and the resource is of another one, which a manifest
    /// of the site names.
    private func isForeign(_ url: MediaURL) -> Bool {
        rules.fixedOrigin.map { url.origin != $0 || url.userinfo != nil } == true
    }

    /// The rules for the fields of a resource. Only the fixed origin has the rights of the site,
    /// and a program is not one of its clients.
    private func fields(for url: MediaURL, isForProgram: Bool) -> ResourceFields {
        isForProgram || isForeign(url) ? ResourceFields(site: nil) : fieldRules
    }

    /// The caching policy for a fixed origin: the site's caching rules, unless the configuration
    /// stores everything. Nil selects the cache's policy.
    private func policy(for url: MediaURL) -> CachePolicy? {
        rules.fixedOrigin != nil && !isForeign(url) && cache.configuration.freshness.policy != .storeEverything ? .standard : nil
    }

    func bodySink(for request: RequestHead) -> (any BodySink)? {
        site?.tunnels(request) == true ? TunnelledBody(count: request.contentLength) : nil
    }

    /// Returns the meaning of a path. An authority equal to the last allowed one skips the host
    /// check.
    private func read(path: String, authority: String?, isFromNetwork: Bool) -> ProxyTarget {
        if authority == memo.allowedAuthority { return rules.read(path: path, host: nil, isFromNetwork: isFromNetwork) }
        let target = rules.read(path: path, host: authority, isFromNetwork: isFromNetwork)
        if case .resource = target { memo.allowedAuthority = authority }
        return target
    }

    /// Returns the meaning of a path for a client that is no stranger.
    private func resolve(_ path: String, authority: String?, on exchange: Exchange) -> TargetMemo.Meaning {
        let isFromNetwork = exchange.isFromNetwork
        var target = read(path: path, authority: authority, isFromNetwork: isFromNetwork)
        var isChild = false
        if case .own(let path) = target, path.hasPrefix(ProxiedPath.childPrefix) {
            isChild = true
            target = rules.foreign(
                path.dropFirst(ProxiedPath.childPrefix.count), isFromNetwork: isFromNetwork, proof: manifests.proof)
        }
        var isForProgram = false
        if case .own(let path) = target, let place = rules.program(path, isFromNetwork: isFromNetwork) {
            (target, isForProgram) = (place, true)
        }
        guard case .resource(let url, let chosen) = target else { return .init(target: target) }
        if loops.isOwn(url, exchange) { return .init(target: .refused(.init(status: 508, explanation: "this URL is the proxy's own"))) }
        let named = chosen.map(ResourceKey.init(normalized:)) ?? visit?.key(url.text)
        let key = cache.readingKey(for: url, chosen: named)
        let isForeign = isChild || isForProgram || isForeign(url)
        // A manifest is never a plain hit.
        if ManifestSuspicion(contentType: nil, url: url.text) == .named {
            return .init(target: target, key: key, isForeign: isForeign, isForProgram: isForProgram)
        }
        let hits = HitAnswer(
            cache: cache, key: key, url: url, policy: cache.configuration.policy(for: url, policy(for: url)),
            fields: fields(for: url, isForProgram: isForProgram), manifests: manifests)
        return .init(target: target, key: key, isForeign: isForeign, isForProgram: isForProgram, hits: hits)
    }

    func respond(to request: RequestHead, on exchange: Exchange) {
        let isStranger = strangers.sent(request)
        if request.method == "POST", !isStranger, case .own(let path) = rules.read(path: request.path, host: request.authority) {
            exchange.route = .pages
            if pages?.act(on: path, exchange: exchange) == true { return }
        }
        let isTunnelled = site?.tunnels(request) == true
        if request.method != "GET" && request.method != "HEAD" && !isTunnelled {
            return exchange.respond(.error(405, "this cache answers GET and HEAD, not \(request.method)", fields: ["Allow": "GET, HEAD"]))
        }
        let path = request.path, authority = request.authority
        // The key of a stranger's URL may be another one, so it has no part in the memo.
        let known = memo.meaning(of: path, authority: authority, isFromNetwork: exchange.isFromNetwork) {
            resolve(path, authority: authority, on: exchange)
        }
        let meaning = isStranger ? stranger(known) : known
        if case .refused(let refusal) = meaning.target {
            return refuse(refusal.status, advice(request, exchange) ?? refusal.explanation, exchange)
        }
        let siteRefusal = sites.refusal(of: request)
        if let siteRefusal, exchange.isFromNetwork || isStranger || site != nil || !meaning.isResource || !SitePolicy.isOfPlayer(request) {
            return refuse(403, siteRefusal, exchange)
        }
        if loops.hasPassed(request) {
            return refuse(508, "this request went through the proxy before: its origin leads back here", exchange)
        }
        switch meaning.target {
        case .resource(let url, _) where isTunnelled && !meaning.isForProgram && !isForeign(url):
            if let site { forward(request, to: url, of: site, exchange) }
        case .resource where request.method != "GET" && request.method != "HEAD":
            exchange.respond(
                .error(405, "resources of other sites answer GET and HEAD, not \(request.method)", fields: ["Allow": "GET, HEAD"]))
        case .resource(let url, _):
            answer(request, url, meaning, isStranger: isStranger, grantsNothing: siteRefusal != nil, exchange)
        case .own where request.method != "GET" && request.method != "HEAD":
            exchange.respond(.error(405, "this page answers GET and HEAD, not \(request.method)", fields: ["Allow": "GET, HEAD"]))
        case .own(let path):
            guard let pages else { return exchange.respond(.error(404, "this proxy has no pages of its own")) }
            exchange.route = .pages
            pages.respond(to: path, on: exchange)
        case .page:
            exchange.respond(Response(302, fields: [.location: prefix + ProxiedPath.ownPrefix]))
        case .refused(let refusal):
            refuse(refusal.status, refusal.explanation, exchange)
        }
    }

    /// Passes a request of the site on to its origin.
    private func forward(_ request: RequestHead, to url: MediaURL, of site: FixedSite, _ exchange: Exchange) {
        var fields = site.fieldsForOrigin(request, from: exchange.clientAddress)
        // The bound of the client on the servers behind each other (RFC 9110 §7.6.2).
        if request.method == "OPTIONS", let left = request["Max-Forwards"].flatMap({ Int64($0) }) {
            guard left > 0 else { return exchange.respond(Response(200, fields: ["Allow": "GET, HEAD, OPTIONS"])) }
            fields["Max-Forwards"] = String(left - 1)
        }
        OriginTunnel(exchange, url: url, fields, rules: fieldRules, cache: cache).begin()
    }

    /// Answers a request for a resource, by stored bytes or by the cache.
    private func answer(
        _ request: RequestHead, _ url: MediaURL, _ meaning: TargetMemo.Meaning, isStranger: Bool, grantsNothing: Bool, _ exchange: Exchange
    ) {
        if redirectsToOrigin(meaning.key) {
            // A program asks the origin itself after a refusal.
            guard !meaning.isForProgram else { return exchange.respond(.error(503, "the cache is bypassed")) }
            return exchange.respond(Response(307, fields: [.location: url.text]))
        }
        var fieldRules = fields(for: url, isForProgram: meaning.isForProgram)
        fieldRules.grantsNothing = grantsNothing
        if let refusal = fieldRules.refusal(of: request) {
            return refuse(403, refusal, exchange, fields: fieldRules.error([:]))
        }
        if let hits = meaning.hits, hits.respond(to: request, on: exchange) { return }
        let client = client(of: exchange, for: url, isForeign: meaning.isForeign, isStranger: isStranger)
        var settings = visit ?? loops.visit(of: request, to: url)
        if meaning.isForProgram { settings = (settings ?? VisitSettings()).withManifestsAsTheyAre }
        let otherBody = RequestFields.askingForOtherBody(request.fields)
        if !otherBody.lines.isEmpty, let client, settings == nil, !fieldRules.wantsDocument(request), !cache.networkPolicy.isOffline {
            var fields = client.selection.fields.fields.replacing(with: otherBody)
            fields[.origin] = page(of: request)
            return OriginTunnel(exchange, url: url, fields, rules: fieldRules, cache: cache).begin()
        }
        let query = ResourceQuery(
            exchange, of: url, key: meaning.key, policy: policy(for: url), client: client, page: page(of: request), visit: settings)
        ResourceAnswer(
            exchange: exchange, cache: cache, query: query, manifests: manifests, fields: fieldRules, now: wallNow
        ).begin()
    }
}

extension ProxyRouter {
    /// Whether a client loads the resource from its origin, because the cache is bypassed. A player
    /// of the AVFoundation door that plays already goes on, and so does a site that the proxy
    /// stands in for.
    private func redirectsToOrigin(_ key: ResourceKey?) -> Bool {
        guard let key, visit == nil, site == nil, !cache.bypass.causes.isEmpty else { return false }
        return cache.bypass.isOn(for: key) && cache.bypass.obstacles.isEmpty
    }

    /// Refuses a request, with a notice for the page.
    private func refuse(_ status: Int, _ why: String, _ exchange: Exchange, fields: HTTPFields = [:]) {
        pages?.note("\(status): \(why)")
        exchange.respond(.error(status, why, fields: fields))
    }

    /// Returns the advice for a client that uses this proxy as a forward proxy (RFC 9112 §3.2.2),
    /// or nil for any other client.
    private func advice(_ request: RequestHead, _ exchange: Exchange) -> String? {
        guard rules.fixedOrigin == nil, !request.target.hasPrefix("/"), let local = exchange.localAddress else { return nil }
        guard let url = try? MediaURL(request.target) else { return nil }
        return "this is no forward proxy; ask http://\(local)\(rules.token == nil ? "" : "/TOKEN")/\(ProxiedPath.place(of: url))"
    }

    /// Returns a target's meaning for a client of another proxy.
    private func stranger(_ known: TargetMemo.Meaning) -> TargetMemo.Meaning {
        if let refusal = strangers.refusal(of: known.target, rules.reach) {
            return .init(target: .refused(.init(status: 403, explanation: refusal)))
        }
        guard case .resource(let url, let chosen) = known.target else { return known }
        if known.isForProgram {
            return .init(target: .refused(.init(status: 403, explanation: "this path is for programs of this machine")))
        }
        var meaning = known
        // A plain hit is for the one user of the cache.
        if !cache.configuration.freshness.isShared { meaning.hits = nil }
        let named = chosen.map(ResourceKey.init(normalized:)) ?? visit?.key(url.text)
        if url.userinfo != nil { meaning.key = cache.readingKey(for: url, chosen: named, isStranger: true) }
        return meaning
    }

    /// Returns the request in the form for the origin.
    private func client(of exchange: Exchange, for url: MediaURL, isForeign: Bool, isStranger: Bool) -> ClientRequest? {
        let request = exchange.request
        if let site, !isForeign {
            let fields = site.fieldsForOrigin(request, from: nil)
            return cache.variants.request(fields, for: url, at: .site, isStranger: isStranger)
        }
        let place = RequestFields.Place.general(authority: request.publicAuthority, prefix: prefix) { [rules] path in
            if case .resource(let url, _) = rules.read(path: path, host: nil) { url.text } else { nil }
        }
        return cache.variants.request(request.fields, for: url, at: place, isForeign: isForeign, isStranger: isStranger)
    }

    /// Returns the web site whose page makes a browser send the request, for the request to the
    /// origin. A page of the proxy counts as one of the site that the proxy stands in for. Call it
    /// only for a request that `SitePolicy` allows.
    private func page(of request: RequestHead) -> String? {
        guard request.has(.origin), let page = request.fields.single(.origin).value else { return nil }
        return request.ownPath(of: page)?.isEmpty == true ? rules.fixedOrigin?.description : page
    }
}
