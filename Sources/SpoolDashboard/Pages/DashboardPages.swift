import Spool
import SpoolCore
import SpoolProxy
import SpoolServer
import SpoolSystem

/// The pages of a running proxy, under `/_spool/`.
final class DashboardPages: OwnPages {
    let cache: MediaCache
    /// The list of the cache's resources.
    let listing: ResourceListing
    let options: DashboardOptions
    /// The first segment of every path here, where a site's scripts could request the pages too, or
    /// nil for none.
    private let secret: String?
    /// The actions of the page, or nil where a program has its own way to change the store.
    private let actions: PageActions?
    /// The commands of programs, or nil without a token for them.
    private let admin: AdminAPI?
    let place: ProxyPlace
    /// The traffic of the last hour.
    private let traffic: RecentTrafficRecord
    /// The events of the page.
    private let events: PageEvents

    init(
        cache: MediaCache, listing: ResourceListing, options: DashboardOptions, secret: String?, actions: PageActions?, admin: AdminAPI?,
        place: ProxyPlace, traffic: RecentTrafficRecord, events: PageEvents
    ) {
        self.cache = cache
        self.listing = listing
        self.options = options
        self.secret = secret
        self.actions = actions
        self.admin = admin
        self.place = place
        self.traffic = traffic
        self.events = events
    }

    /// A page or a report: its name, and the answer.
    typealias Page = @Sendable (_ pages: DashboardPages, _ query: Substring, Exchange) -> Void

    /// The pages and reports by their names.
    static let pages: [String: Page] = [
        "": { pages, _, exchange in exchange.respond(pages.statusPage) },
        "status.js": { _, _, exchange in exchange.respond(script(StatusScript.text)) },
        "actions.js": { _, _, exchange in exchange.respond(script(ActionsScript.text)) },
        "plots.js": { _, _, exchange in exchange.respond(script(PlotsScript.text)) },
        "demo.js": { _, _, exchange in exchange.respond(script(DemoScript.text)) },
        "list.js": { _, _, exchange in exchange.respond(script(ListScript.text)) },
        "events.js": { _, _, exchange in exchange.respond(script(EventsScript.text)) },
        "live.js": { _, _, exchange in exchange.respond(script(LiveScript.text)) },
        "icon.svg": { _, _, exchange in exchange.respond(Response(200, fields: iconFields, body: .bytes(Array(icon.utf8)))) },
        "api/resources": { pages, query, exchange in ResourceReport(pages).respond(to: Query(query), on: exchange) },
        "api/events": { pages, _, exchange in pages.events.respond(to: exchange.request, on: exchange) },
        "api/status": { pages, _, exchange in
            pages.report(exchange) { [traffic = pages.traffic] in
                Response(200, fields: JSON.fields, body: .bytes(StatusReport.json($0, traffic.value).bytes))
            }
        },
        "metrics": { pages, _, exchange in
            pages.report(exchange) { [loops = pages.place.loops] in
                Response(200, fields: StatusReport.metricFields, body: .bytes(Array(StatusReport.metrics($0, loops).utf8)))
            }
        },
    ]

    func respond(to path: String, on exchange: Exchange) {
        // Programs that check whether the server runs need no secret. The answer has none.
        if path.prefix(while: { $0 != "?" }) == "health" {
            return exchange.respond(Response(200, fields: Self.healthFields, body: .bytes(Array("ok\n".utf8))))
        }
        guard let (name, query) = inside(path) else {
            return exchange.respond(
                .error(403, "this page has an address of its own, which 'spool serve' prints on a terminal and serve.json has"))
        }
        if let actions, name.hasPrefix(PageActions.path) {
            return actions.respond(to: exchange.request, name: name.dropFirst(PageActions.path.count), query: query, on: exchange)
        }
        guard let page = Self.pages[String(name)] else {
            return exchange.respond(.error(404, "there is no page '/_spool/\(name)'; the status page is /_spool/"))
        }
        page(self, query, exchange)
    }

    func act(on path: String, exchange: Exchange) -> Bool {
        if let actions, let (name, query) = inside(path), name.hasPrefix(PageActions.path) {
            actions.respond(to: exchange.request, name: name.dropFirst(PageActions.path.count), query: query, on: exchange)
            return true
        }
        admin?.respond(to: exchange.request, path: path, on: exchange)
        return admin != nil
    }

    func note(_ refusal: String) { events.note(refusal) }

    func turn() {
        traffic.end(cache.statistics)
        listing.releaseUnused()
    }

    func end() { events.end() }

    /// Returns the name and the query behind the secret, or nil without the secret.
    private func inside(_ path: String) -> (name: Substring, query: Substring)? {
        var name = path.prefix { $0 != "?" }
        let query = path.dropFirst(name.count + 1)
        guard let secret else { return (name, query) }
        let end = name.firstIndex(of: "/") ?? name.endIndex
        guard constantTimeEqual(name[..<end], secret), end < name.endIndex else { return nil }
        name = name[name.index(after: end)...]
        return (name, query)
    }

    private var statusPage: Response {
        var fields = Self.pageFields
        if let demoSwitches = options.demoSwitches {
            fields[.contentSecurityPolicy] = Self.policy + "; connect-src 'self' \(demoSwitches)"
        }
        return Response(200, fields: fields, body: .bytes(Array(StatusPage.html.description.utf8)))
    }

    private static func script(_ text: StaticString) -> Response {
        Response(200, fields: scriptFields, body: .bytes(Array(text.description.utf8)))
    }

    /// The page runs its own scripts only, and loads nothing from other hosts.
    private static let policy =
        "default-src 'self'; style-src 'unsafe-inline'; script-src 'self'; worker-src 'none'; object-src 'none'; base-uri 'none'; "
        + "form-action 'none'; frame-ancestors 'none'"

    private static let scriptFields: HTTPFields = [
        .contentType: "text/javascript; charset=utf-8", .cacheControl: "no-cache", .xContentTypeOptions: "nosniff",
    ]

    private static let pageFields: HTTPFields = [
        .contentType: "text/html; charset=utf-8",
        .cacheControl: "no-cache",
        .xContentTypeOptions: "nosniff",
        .referrerPolicy: "no-referrer",
        .contentSecurityPolicy: policy,
    ]

    private static let healthFields: HTTPFields = [
        "Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
    ]

    private static let iconFields: HTTPFields = [
        .contentType: "image/svg+xml", .cacheControl: "max-age=86400", .xContentTypeOptions: "nosniff",
    ]

    /// An icon of a partly filled bar.
    private static let icon = """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect y="5" width="16" height="6" rx="3" fill="#bbb"/>\
        <rect y="5" width="10" height="6" rx="3" fill="#2a7"/></svg>
        """

    private func report(_ exchange: Exchange, _ response: @escaping @Sendable (CacheReport) -> Response) {
        let answer = LoopConfined(exchange)
        let loop = exchange.loop
        CacheReport.make(of: cache, active: StatusReport.activeResources) { result in
            loop.post {
                switch result {
                case .success(let report): answer.value.respond(response(report))
                case .failure(let error): answer.value.respond(.refusal(error))
                }
            }
        }
    }
}
