import Spool
import SpoolCore
import SpoolServer
import SpoolSystem

/// The proxy's own pages, under `/_spool/`.
struct OwnPages: Sendable {
    let cache: MediaCache
    /// The list of the cache's resources.
    let listing: ResourceListing
    let demoTracks: [DemoTrack]
    /// The address at which a demo's origin can be made to fail, or nil without a demo.
    var demoSwitches: String?
    /// The first segment of every path here, where a site's scripts could request the pages too, or
    /// nil for none.
    let secret: String?
    /// The actions of the page, or nil where a program has its own way to change the store.
    var actions: PageActions?
    /// The longest times of the proxy's event loops.
    var loops: [LoopTimes] = []
    /// The traffic of the last hour.
    var traffic = RecentTrafficRecord()
    /// The events of the page, or nil for the pages of a single player.
    var events: PageEvents?
    /// Returns the path by which a resource plays through this proxy, or nil for one that the proxy
    /// does not serve.
    let playPath: @Sendable (_ url: String) -> String?

    /// A page or a report: its name, and the answer.
    typealias Page = @Sendable (_ pages: OwnPages, _ query: Substring, Exchange) -> Void

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
        "api/events": { pages, _, exchange in
            guard let events = pages.events else { return exchange.respond(.error(404, "there is no page '/_spool/api/events' here")) }
            events.respond(to: exchange.request, on: exchange)
        },
        "api/status": { pages, _, exchange in
            pages.report(exchange) { [traffic = pages.traffic] in
                Response(200, fields: JSON.fields, body: .bytes(StatusReport.json($0, traffic.value).bytes))
            }
        },
        "metrics": { pages, _, exchange in
            pages.report(exchange) { [loops = pages.loops] in
                Response(200, fields: StatusReport.metricFields, body: .bytes(Array(StatusReport.metrics($0, loops).utf8)))
            }
        },
    ]

    /// Answers a request for `path` (the part behind `/_spool/`). On the loop only.
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

    /// Answers a request that may be an action of the page. On the loop only.
    ///
    /// - Returns: False for a path that is no action.
    func act(_ path: String, on exchange: Exchange) -> Bool {
        guard let actions, let (name, query) = inside(path), name.hasPrefix(PageActions.path) else { return false }
        actions.respond(to: exchange.request, name: name.dropFirst(PageActions.path.count), query: query, on: exchange)
        return true
    }

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
        if let demoSwitches {
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
