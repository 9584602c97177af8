import Spool
import SpoolCore
import SpoolJSON
import SpoolProxy
import SpoolServer
import SpoolSystem

/// The pages of a running proxy, under `/_spool/`.
final class DashboardPages: OwnPages {
    private let cache: MediaCache
    /// The list of the cache's resources.
    private let listing: ResourceListing
    private let options: DashboardOptions
    /// The first segment of every path here, where a site's scripts could request the pages too, or
    /// nil for none.
    private let secret: String?
    private let control: Control
    /// The door of the page to the commands, or nil where the page takes none.
    private let pageDoor: PageDoor?
    /// The door of programs to the commands, or nil without a token for them.
    private let programDoor: ProgramDoor?
    private let place: ProxyPlace
    /// The traffic of the last hour.
    private let traffic: Locked<RecentTraffic>
    /// The events of the page.
    private let events: PageEvents
    private let notices: NoticeBoard
    /// The start of the proxy.
    private let start: Timestamp

    init(
        listing: ResourceListing, options: DashboardOptions, secret: String?, control: Control, pageDoor: PageDoor?,
        programDoor: ProgramDoor?, place: ProxyPlace, traffic: Locked<RecentTraffic>, events: PageEvents
    ) {
        cache = control.cache
        self.listing = listing
        self.options = options
        self.secret = secret
        self.control = control
        self.pageDoor = pageDoor
        self.programDoor = programDoor
        self.place = place
        self.traffic = traffic
        self.events = events
        notices = control.notices
        start = cache.environment.time.wallNow
    }

    /// A page or a report.
    struct Page: Sendable {
        /// The parameters of its query.
        var parameters: [String] = []
        /// Whether `docs/openapi.json` describes it for scripts.
        var isDocumented = false
        /// Whether it has no secret in its path, because its answer contains nothing.
        var isOpen = false
        var answer: @Sendable (_ pages: DashboardPages, _ query: Substring, Exchange) -> Void
    }

    /// The pages and reports by their names.
    static let pages: [String: Page] = [
        "": Page { pages, _, exchange in exchange.respond(pages.statusPage) },
        "status.css": file(PackageResources.status_css, "text/css; charset=utf-8"),
        "status.js": script(PackageResources.status_js),
        "actions.js": script(PackageResources.actions_js),
        "plots.js": script(PackageResources.plots_js),
        "demo.js": script(PackageResources.demo_js),
        "list.js": script(PackageResources.list_js),
        "open.js": script(PackageResources.open_js),
        "qr.js": script(PackageResources.qr_js),
        "events.js": script(PackageResources.events_js),
        "live.js": script(PackageResources.live_js),
        "icon.svg": file(PackageResources.icon_svg, "image/svg+xml"),
        "health": Page(isDocumented: true, isOpen: true) { _, _, exchange in
            exchange.respond(Response(200, fields: healthFields, body: .bytes(Array("ok\n".utf8))))
        },
        "api/resources": Page(parameters: ResourceReport.parameters, isDocumented: true) { pages, query, exchange in
            ResourceReport(pages.cache, pages.listing, pages.options, at: pages.place).respond(to: Query(query), on: exchange)
        },
        "api/events": Page(isDocumented: true) { pages, _, exchange in pages.events.respond(to: exchange.request, on: exchange) },
        "api/status": Page(isDocumented: true) { pages, _, exchange in
            pages.report(exchange) { [traffic = pages.traffic] in
                Response(200, fields: JSON.fields, body: .bytes(StatusReport.json($0, traffic.withLock { $0 }).bytes))
            }
        },
        "metrics": Page(isDocumented: true) { pages, _, exchange in pages.metrics(exchange) },
    ]

    func respond(to path: String, on exchange: Exchange) {
        let (whole, query) = Self.split(path)
        if let page = Self.pages[String(whole)], page.isOpen { return page.answer(self, query, exchange) }
        guard let name = inside(whole) else {
            return exchange.respond(
                .error(403, "this page has an address of its own, which 'spool serve' prints on a terminal and serve.json has"))
        }
        if let pageDoor, name.hasPrefix(PageDoor.path) { return pageDoor.respond(to: exchange.request, name, query, control, on: exchange) }
        guard let page = Self.pages[String(name)] else {
            return exchange.respond(.error(404, "there is no page '/_spool/\(name)'; the status page is /_spool/"))
        }
        page.answer(self, query, exchange)
    }

    func act(on path: String, exchange: Exchange) -> Bool {
        let (whole, query) = Self.split(path)
        if let pageDoor, let name = inside(whole), name.hasPrefix(PageDoor.path) {
            pageDoor.respond(to: exchange.request, name, query, control, on: exchange)
            return true
        }
        programDoor?.respond(to: exchange.request, whole, query, on: exchange)
        return programDoor != nil
    }

    func note(_ refusal: String) { events.note(refusal) }

    func turn() {
        traffic.withLock { $0.end(cache.statistics) }
        LaneTasks.begin { [listing] in await listing.releaseUnused() }
    }

    func end() { events.end() }

    private static func split(_ path: String) -> (name: Substring, query: Substring) {
        let name = path.prefix { $0 != "?" }
        return (name, path.dropFirst(name.count + 1))
    }

    /// Returns the name behind the secret, or nil without the secret.
    private func inside(_ name: Substring) -> Substring? {
        guard let secret else { return name }
        let end = name.firstIndex(of: "/") ?? name.endIndex
        guard constantTimeEqual(name[..<end], secret), end < name.endIndex else { return nil }
        return name[name.index(after: end)...]
    }

    /// The page shows the stored resources and the available tracks, in windows of `api/resources`
    /// and with the events of `api/events`. It inserts each value of a resource as text, never as
    /// markup, because origins choose the names.
    private var statusPage: Response {
        var fields = Self.pageFields
        if let demoSwitches = options.demoSwitches {
            fields[.contentSecurityPolicy] = Self.policy + "; connect-src 'self' \(demoSwitches)"
        }
        return Response(200, fields: fields, body: .bytes(PackageResources.status_html))
    }

    private static func script(_ bytes: [UInt8]) -> Page { file(bytes, "text/javascript; charset=utf-8") }

    private static func file(_ bytes: [UInt8], _ type: String) -> Page {
        let fields: HTTPFields = [.contentType: type, .cacheControl: "no-cache", .xContentTypeOptions: "nosniff"]
        return Page { _, _, exchange in exchange.respond(Response(200, fields: fields, body: .bytes(bytes))) }
    }

    /// The page runs its own scripts and has its own style only, and loads nothing from other
    /// hosts.
    private static let policy =
        "default-src 'self'; worker-src 'none'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

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

    private func metrics(_ exchange: Exchange) {
        let answer = LoopConfined(exchange), loop = exchange.loop
        place.countersByLoop { [loops = place.loops, notices = notices.counts, version = options.version, start] counters in
            loop.post {
                self.report(answer.value) { report in
                    var metrics = Metrics(report, notices, loops, counters)
                    metrics.addProcess(version: version, start: start)
                    return Response(200, fields: Metrics.fields, body: .bytes(Array(metrics.text.utf8)))
                }
            }
        }
    }

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
