import Spool
import SpoolCore
import SpoolJSON
import SpoolProxy
import SpoolServer
import SpoolSystem

/// The list of resources as JSON, at `/_spool/api/resources`: a window of those that match a
/// search, in the order that the client asks for.
struct ResourceReport: Sendable {
    /// The largest number of resources in an answer, and the number without `limit=`.
    static let listedResources = 500
    /// The largest number of stored ranges listed for a resource. A bar could not show more.
    static let listedRanges = 2000
    /// The largest number of tracks of a demo in an answer.
    private static let trackLimit = 16
    /// The longest search that is read, in bytes.
    private static let searchLimitBytes = 512

    /// The parameters of the query.
    static let parameters = ["search", "sort", "order", "offset", "limit", "without", "key", "url"]

    private let cache: MediaCache
    private let listing: ResourceListing
    private let options: DashboardOptions
    private let place: ProxyPlace
    /// The tracks of a demo with the keys of their resources.
    private let tracks: [(track: DemoTrack, key: ResourceKey)]

    init(_ cache: MediaCache, _ listing: ResourceListing, _ options: DashboardOptions, at place: ProxyPlace) {
        (self.cache, self.listing, self.options, self.place) = (cache, listing, options, place)
        tracks = options.demoTracks.prefix(Self.trackLimit).compactMap { track in
            guard let key = try? cache.key(for: track.url) else { return nil }
            return (track, key)
        }
    }

    /// Answers a request. On the loop only.
    func respond(to query: Query, on exchange: Exchange) {
        guard let listed = listed(query) else {
            return exchange.respond(
                .refusal(.invalidQuery, "search= has at most 512 bytes, sort= is key, name, size, share or used, and order= is asc or desc")
            )
        }
        let (answer, loop) = (LoopConfined(exchange), exchange.loop)
        LaneTasks.begin {
            let result: Result<ResourceListing.Page, CacheError>
            do throws(CacheError) { result = .success(try await listing.page(listed)) } catch { result = .failure(error) }
            loop.post {
                switch result {
                case .success(let page): answer.value.respond(response(page, listed))
                case .failure(let error): answer.value.respond(.refusal(error))
                }
            }
        }
    }

    /// Returns the query for the list, or nil for one that can't be read.
    private func listed(_ query: Query) -> ListingQuery? {
        let search = query["search"] ?? ""
        let order = query["sort"].map { ListingQuery.Order(rawValue: $0) } ?? .key
        let direction = query["order"] ?? "asc"
        guard search.utf8.count <= Self.searchLimitBytes, let order, direction == "asc" || direction == "desc" else { return nil }
        let without = (query["without"] ?? "").split(separator: ",")
        let key = namedKey(query)
        let named = tracks.map(\.key) + (key.map { [$0] } ?? [])
        return ListingQuery(
            search: search, order: order, isDescending: direction == "desc",
            offset: Int(clamping: max(0, query.number("offset") ?? 0)),
            limit: Int(clamping: min(max(0, query.number("limit") ?? .max), Int64(Self.listedResources))),
            without: without.contains("demo") ? Set(tracks.map(\.key)) : [], hidesParts: without.contains("parts"), named: named)
    }

    /// Returns the key of the resource that a request names, or nil if it names none.
    private func namedKey(_ query: Query) -> ResourceKey? {
        if let key = query.key { return key }
        guard let url = query["url"], let key = try? cache.key(for: url) else { return nil }
        return key
    }

    private func response(_ page: ResourceListing.Page, _ query: ListingQuery) -> Response {
        let demo = zip(tracks, page.named).map { entry, status in
            JSON.object([
                ("title", .string(entry.track.title)), ("play", play(entry.track.url)), ("resource", status.map(json) ?? .null),
            ])
        }
        let body = JSON.object([
            ("total", .integer(Int64(page.total))), ("truncated", .bool(page.isTruncated)),
            ("storedBytes", .integer(page.storedBytes)), ("matching", .integer(Int64(page.matching))),
            ("offset", .integer(Int64(query.offset))),
            ("resources", .array(page.resources.map { json($0, page.presentations[$0.key]) })),
            ("named", page.named.dropFirst(tracks.count).first.flatMap { $0 }.map(json) ?? .null),
            ("statistics", StatusReport.json(cache.statistics)), ("demo", .array(demo)),
            ("demoSwitches", JSON(options.demoSwitches)),
        ])
        return Response(200, fields: JSON.fields, body: .bytes(body.bytes))
    }

    private func json(_ resource: ResourceStatus) -> JSON { json(resource, nil) }

    private func json(_ resource: ResourceStatus, _ presentation: PresentationStatus?) -> JSON {
        resource.json(
            ranges: Self.listedRanges,
            [
                ("readers", .integer(Int64(resource.readers))), ("fetches", .integer(Int64(resource.fetches))),
                ("play", play(resource.url)), ("presentation", presentation?.brief ?? .null),
            ])
    }

    private func play(_ url: String) -> JSON { place.playPath(url).map(JSON.string) ?? .null }
}

extension PresentationStatus {
    fileprivate var brief: JSON {
        .object([
            ("storedBytes", .integer(storedBytes)), ("resources", .integer(Int64(resources.count))), ("complete", .bool(isComplete)),
            ("live", .bool(isLive)),
        ])
    }
}
