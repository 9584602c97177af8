import Spool
import SpoolCore
import SpoolJSON
import SpoolServer
import SpoolSystem

/// The events of the status page, at `/_spool/api/events` (`text/event-stream`): the state of the
/// cache, when it changes.
///
/// One look at the cache serves all pages, and no look happens without a page. `PageFeed` decides
/// what each page gets.
final class PageEvents: Sendable {
    /// The time between two looks at the counters.
    private static let lookInterval: Nanoseconds = .milliseconds(500)
    /// The number of looks after which the store is looked at although no counter has changed.
    /// Another process may have changed the store.
    private static let looksAtRest = 8
    /// The number of looks between two comments on a stream without events.
    private static let looksPerBeat = 30

    /// Values that change with each use of the cache. They cost no work of the index lane.
    private struct Sign: Hashable {
        var statistics: Statistics
        var jobs: Int64
        var changes: Int64
        var notices: Int64
    }

    /// Values that change when the list of resources has to be read again.
    private struct ListSign: Hashable {
        var count: Int
        var active: [ResourceKey]
        var changes: Int64
        /// While a fetch runs, the event itself has its bytes.
        var atRest: [Int64]
    }

    private struct State {
        var feed: PageFeed
        var streams: [PageFeed.Page: @Sendable () -> Void] = [:]
        /// Whether a timer looks again.
        var isLooking = false
        /// Whether a report is being made.
        var isReporting = false
        var looks = 0
        var last: Sign?
        var isActive = false
        var changes: Int64 = 0
        var listSign: ListSign?
        var revision: Int64 = 0
    }

    private let cache: MediaCache
    private let notices: NoticeBoard
    /// The number of changes of the page's jobs.
    private let jobs: @Sendable () -> Int64
    private let state: Locked<State>

    init(cache: MediaCache, notices: NoticeBoard, jobs: @escaping @Sendable () -> Int64) {
        self.cache = cache
        self.notices = notices
        self.jobs = jobs
        state = Locked(State(feed: PageFeed(run: String(cache.environment.random.next() & 0xFFFF_FFFF, radix: 36))))
    }

    /// Reports that an action or a command has changed resources.
    func changed() { state.withLock { $0.changes += 1 } }

    /// Notes why the proxy refused a request, or an advice for the operator.
    func note(_ refusal: String) { notices.add(CacheNotice(.refused, because: refusal)) }

    /// Answers a request for the events. On the loop only.
    func respond(to request: RequestHead, on exchange: Exchange) {
        guard request.method == "GET" else { return exchange.respond(Response(200, fields: Self.fields, body: .bytes([]))) }
        let seen = request[Self.lastEventID]
        guard let page = state.withLock({ $0.feed.join(seen: seen) }) else {
            return exchange.respond(.refusal(.tooMany, "\(PageFeed.pageLimit) pages are open; close one of them"))
        }
        exchange.respond(Response(200, fields: Self.fields, body: .source(EventStream(page, of: self), length: nil)))
        let isFirst = state.withLock { state -> Bool in
            defer { state.isLooking = true }
            return !state.isLooking
        }
        if isFirst { look(on: exchange.loop) }
    }

    /// Ends all streams.
    func end() {
        let wakes = state.withLock { state -> [@Sendable () -> Void] in
            defer { state.streams = [:] }
            return state.feed.end().compactMap { state.streams[$0] }
        }
        for wake in wakes { wake() }
    }

    /// The identifier of the last event that a page received before its stream broke (HTML, §9.2).
    private static let lastEventID: HTTPFields.Name = "Last-Event-ID"

    private static let fields: HTTPFields = [
        .contentType: "text/event-stream", .cacheControl: "no-store", .xContentTypeOptions: "nosniff",
    ]

    // MARK: Streams

    fileprivate func take(_ page: PageFeed.Page) -> PageFeed.Output { state.withLock { $0.feed.take(page) } }

    fileprivate func begin(_ page: PageFeed.Page, _ wake: @escaping @Sendable () -> Void) { state.withLock { $0.streams[page] = wake } }

    fileprivate func leave(_ page: PageFeed.Page) {
        state.withLock { state in
            state.feed.leave(page)
            state.streams[page] = nil
        }
    }

    private func wake(_ pages: (inout State) -> [PageFeed.Page]) {
        let wakes = state.withLock { state in pages(&state).compactMap { state.streams[$0] } }
        for wake in wakes { wake() }
    }

    // MARK: Looking

    /// Looks at the counters, and again after a pause for as long as a page is open.
    private func look(on loop: EventLoop) {
        let statistics = cache.statistics, jobs = jobs(), notices = notices.changes
        let (goesOn, reports) = state.withLock { state -> (Bool, Bool) in
            guard state.feed.count > 0 else {
                state.isLooking = false
                state.last = nil
                return (false, false)
            }
            state.looks += 1
            let sign = Sign(statistics: statistics, jobs: jobs, changes: state.changes, notices: notices)
            let isDue = sign != state.last || state.isActive || state.looks % Self.looksAtRest == 0
            guard isDue, !state.isReporting else { return (true, false) }
            state.last = sign
            state.isReporting = true
            return (true, true)
        }
        guard goesOn else { return }
        if reports { report() }
        wake { $0.looks % Self.looksPerBeat == 0 ? $0.feed.beat() : [] }
        // A timer must not hold the loop that holds it.
        loop.after(Self.lookInterval) { [weak self, weak loop] in
            if let loop { self?.look(on: loop) }
        }
    }

    private func report() {
        CacheReport.make(of: cache, active: StatusReport.activeResources) { [weak self] result in
            guard let self else { return }
            guard case .success(let report) = result else {
                // A closed cache answers each request with the reason.
                self.state.withLock { $0.isReporting = false }
                return
            }
            self.publish(report, jobs: self.jobs())
        }
    }

    private func publish(_ report: CacheReport, jobs: Int64) {
        let revision = state.withLock { state -> Int64 in
            state.isReporting = false
            state.isActive = report.activeCount > 0
            let sign = ListSign(
                count: report.resourceCount, active: report.active.map(\.key), changes: state.changes,
                atRest: report.activeCount > 0 ? [] : [report.storedBytes, report.statistics.readers])
            if state.listSign != sign { state.revision += 1 }
            state.listSign = sign
            return state.revision
        }
        let members =
            [("revision", JSON.integer(revision)), ("jobs", .integer(jobs))] + StatusReport.present(report)
            + [("notices", .array(notices.entries.map(StatusReport.json)))]
        let text = JSON.object(members).bytes
        wake { $0.feed.publish(text) }
    }
}

/// The stream of one page. Belongs to the loop of its connection.
private final class EventStream: BodySource {
    private let page: PageFeed.Page
    private let events: PageEvents
    /// The bytes that are being sent.
    private var sending: OwnedBytes?

    init(_ page: PageFeed.Page, of events: PageEvents) {
        self.page = page
        self.events = events
    }

    func onReadable(_ wake: @escaping @Sendable () -> Void) { events.begin(page, wake) }

    func next(max: Int) -> BodyChunk {
        if let sending { return .memory(sending.prefix(max)) }
        switch events.take(page) {
        case .bytes(let taken):
            let bytes = OwnedBytes(copying: taken)
            sending = bytes
            return .memory(bytes.prefix(max))
        case .nothing: return .wait
        case .end: return .end
        }
    }

    func consumed(_ count: Int) {
        guard let rest = sending?.dropFirst(count) else { return }
        sending = rest.isEmpty ? nil : rest
    }

    func close() { events.leave(page) }
}
