import Spool
import SpoolCore
import SpoolServer
import SpoolSystem

/// The proxy's own pages, under `/_spool/`.
struct OwnPages: Sendable {
    /// The largest number of resources that one answer lists.
    static let listedResources = 500
    /// The largest number of stored ranges listed for a resource. A bar could not show more.
    static let listedRanges = 2000

    let cache: MediaCache
    let demoTracks: [DemoTrack]
    /// The first segment of every path here, where a site's scripts could request the pages too, or
    /// nil for none.
    let secret: String?
    /// Returns the path by which a resource plays through this proxy, or nil for one that the proxy
    /// does not serve.
    let playPath: @Sendable (_ url: String) -> String?

    /// Answers a request for `path` (the part behind `/_spool/`). On the loop only.
    func respond(to path: String, on exchange: Exchange) {
        var name = path.prefix { $0 != "?" }
        // Programs that check whether the server runs need no secret. The answer has none.
        if name == "health" { return exchange.respond(Response(200, fields: Self.healthFields, body: .bytes(Array("ok\n".utf8)))) }
        if let secret {
            let end = name.firstIndex(of: "/") ?? name.endIndex
            guard constantTimeEqual(name[..<end], secret), end < name.endIndex else {
                return exchange.respond(
                    .error(
                        403, "this page has an address of its own, which 'spool serve' prints on a terminal and serve.json has"))
            }
            name = name[name.index(after: end)...]
        }
        switch name {
        case "":
            exchange.respond(Response(200, fields: Self.pageFields, body: .bytes(Array(StatusPage.html.description.utf8))))
        case "icon.svg":
            exchange.respond(Response(200, fields: Self.iconFields, body: .bytes(Array(Self.icon.utf8))))
        case "api/resources":
            resources(exchange)
        case "api/status":
            report(exchange) { Response(200, fields: JSON.fields, body: .bytes(StatusReport.json($0).bytes)) }
        case "metrics":
            report(exchange) { Response(200, fields: StatusReport.metricFields, body: .bytes(Array(StatusReport.metrics($0).utf8))) }
        default:
            exchange.respond(.error(404, "there is no page '/_spool/\(name)'; the status page is /_spool/"))
        }
    }

    private static let pageFields: HTTPFields = [
        .contentType: "text/html; charset=utf-8",
        .cacheControl: "no-cache",
        .xContentTypeOptions: "nosniff",
        .referrerPolicy: "no-referrer",
        .contentSecurityPolicy: "default-src 'self'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; frame-ancestors 'none'",
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
                case .failure(let error): answer.value.respond(.error(error.statusForClient, error.message))
                }
            }
        }
    }

    private func resources(_ exchange: Exchange) {
        let answer = LoopConfined(exchange)
        let loop = exchange.loop
        cache.list(limit: Self.listedResources) { result in
            loop.post { answer.value.respond(respond(result)) }
        }
    }

    private func respond(_ result: Result<[ResourceStatus], CacheError>) -> Response {
        switch result {
        case .success(let resources):
            let body = JSON.object([
                ("resources", .array(resources.map(json))), ("statistics", StatusReport.json(cache.statistics)),
                ("demo", .array(demoTracks.map { .object([("title", .string($0.title)), ("play", play($0.url))]) })),
            ])
            return Response(200, fields: JSON.fields, body: .bytes(body.bytes))
        case .failure(let error):
            return .error(error.statusForClient, error.message)
        }
    }

    private func json(_ resource: ResourceStatus) -> JSON {
        let ranges = resource.stored.ranges.prefix(Self.listedRanges)
        return .object([
            ("key", .string(resource.key.string)),
            ("url", .string(resource.url)),
            ("type", resource.representation.contentType.map(JSON.string) ?? .null),
            ("length", resource.representation.length.map(JSON.integer) ?? .null),
            ("stored", .array(ranges.map { .array([.integer($0.lowerBound), .integer($0.upperBound)]) })),
            ("storedBytes", .integer(resource.stored.totalBytes)),
            ("complete", .bool(resource.isComplete)),
            ("readers", .integer(Int64(resource.readers))),
            ("fetches", .integer(Int64(resource.fetches))),
            ("because", resource.notStoredBecause.map(JSON.string) ?? .null),
            ("play", play(resource.url)),
        ])
    }

    private func play(_ url: String) -> JSON { playPath(url).map(JSON.string) ?? .null }
}
