import Spool
import SpoolCore
import SpoolJSON
import SpoolServer
import SpoolSystem

/// The forms of a cache's report for programs: JSON at `/_spool/api/status`, and the text format of
/// Prometheus at `/_spool/metrics`.
enum StatusReport {
    /// The largest number of active resources in an answer. A screen shows fewer.
    static let activeResources = 200
    /// The most days of the history in an answer.
    private static let listedDays = 31
    /// The largest number of stored ranges of one of them.
    private static let listedRanges = 200

    static func json(_ report: CacheReport, _ traffic: RecentTraffic) -> JSON {
        .object(
            [
                ("statistics", json(report.statistics)),
                ("days", .array(report.days.suffix(listedDays).map(json))),
                ("recent", json(traffic)),
                ("store", store(report, [("freeBytes", report.freeBytes.map(JSON.integer) ?? .null)])),
            ] + use(of: report))
    }

    /// Returns the members of the event of a page. They stay the same while the cache is not used.
    static func present(_ report: CacheReport) -> [(String, JSON)] {
        [("statistics", json(report.statistics)), ("store", store(report, []))] + use(of: report)
    }

    private static func use(of report: CacheReport) -> [(String, JSON)] {
        [
            ("readers", .integer(Int64(report.readers))),
            ("fetches", .integer(Int64(report.fetches))),
            ("activeResources", .integer(Int64(report.activeCount))),
            ("active", .array(report.active.map { $0.json(ranges: listedRanges) })),
        ] + tiers(of: report)
    }

    /// Returns the counts of the tiers by their names. Programs read that of a bucket, which is
    /// null without one.
    private static func tiers(of report: CacheReport) -> [(String, JSON)] {
        let tiers = report.tiers.map { tier in (tier.name, JSON.object(tier.counts.map { ($0.name, .integer($0.value)) })) }
        return tiers.contains { $0.0 == "bucket" } ? tiers : tiers + [("bucket", .null)]
    }

    private static func store(_ report: CacheReport, _ further: [(String, JSON)]) -> JSON {
        .object(
            [
                ("resources", .integer(Int64(report.resourceCount))),
                ("bytes", .integer(report.storedBytes)),
                ("quotaBytes", report.limits.quotaBytes.map(JSON.integer) ?? .null),
                ("minimumFreeBytes", report.limits.minimumFreeBytes.map(JSON.integer) ?? .null),
                ("writable", .bool(report.isWritable)),
            ] + further)
    }

    private static func json(_ traffic: RecentTraffic) -> JSON {
        .object([
            ("seconds", .integer(RecentTraffic.stepSeconds)),
            ("served", .array(traffic.steps.map { .integer($0.servedBytes) })),
            ("fetched", .array(traffic.steps.map { .integer($0.fetchedBytes) })),
        ])
    }

    static func json(_ statistics: Statistics) -> JSON {
        .object([
            ("fetchedBytes", .integer(statistics.fetchedBytes)),
            ("sentByOriginsBytes", statistics.sentByOriginsBytes.map(JSON.integer) ?? .null),
            ("lostBytes", .integer(statistics.lostBytes)),
            ("originRequests", .integer(statistics.originRequests)),
            ("bytesFromStore", .integer(statistics.bytesFromStore)),
            ("bytesFromOrigin", .integer(statistics.bytesFromOrigin)),
            ("readers", .integer(statistics.readers)),
            ("hitRatio", .number(statistics.hitRatio)),
        ])
    }

    private static func json(_ day: DayStatistics) -> JSON {
        .object([
            ("day", .string(day.day)), ("savedBytes", .integer(day.counts.savedBytes)), ("counts", json(day.counts)),
        ])
    }

    static func json(_ entry: NoticeList.Entry) -> JSON {
        .object([
            ("kind", .string(entry.notice.kind.rawValue)),
            ("key", entry.notice.key.map { .string($0.string) } ?? .null),
            ("because", entry.notice.because.map(JSON.string) ?? .null),
            ("bytes", entry.notice.bytes.map(JSON.integer) ?? .null),
            ("count", .integer(Int64(entry.count))),
            ("time", .integer(entry.time.seconds)),
        ])
    }

    // MARK: Prometheus

    /// The fields of a response in the text format of Prometheus.
    static let metricFields: HTTPFields = [
        "Content-Type": "text/plain; version=0.0.4; charset=utf-8", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
    ]

    /// Returns the report in the text format of Prometheus, with names by its conventions: `_total`
    /// for what only grows, and units at the end.
    ///
    /// - Parameter loops: The longest times of the proxy's event loops.
    static func metrics(_ report: CacheReport, _ loops: [LoopTimes]) -> String {
        let statistics = report.statistics
        let metrics: [(name: String, type: String, help: String, value: Int64?)] =
            [
                ("spool_origin_bytes_total", "counter", "Body bytes that were taken from origins.", statistics.fetchedBytes),
                ("spool_origin_sent_bytes_total", "counter", "Bytes that origins sent, taken or not.", statistics.sentByOriginsBytes),
                ("spool_origin_lost_bytes_total", "counter", "Bytes that arrived and that nothing took.", statistics.lostBytes),
                ("spool_origin_requests_total", "counter", "Requests to origins.", statistics.originRequests),
                ("spool_store_read_bytes_total", "counter", "Bytes that readers got from the store.", statistics.bytesFromStore),
                (
                    "spool_origin_read_bytes_total", "counter", "Bytes that readers got as they came from origins.",
                    statistics.bytesFromOrigin
                ),
                ("spool_readers_total", "counter", "Readers that were created.", statistics.readers),
                ("spool_readers", "gauge", "Current readers.", Int64(report.readers)),
                ("spool_fetches", "gauge", "Current fetches from origins.", Int64(report.fetches)),
                ("spool_active_resources", "gauge", "Resources with readers or fetches.", Int64(report.activeCount)),
                ("spool_store_bytes", "gauge", "Bytes that are stored.", report.storedBytes),
                ("spool_store_resources", "gauge", "Resources that are stored.", Int64(report.resourceCount)),
                ("spool_store_quota_bytes", "gauge", "The quota of the store.", report.limits.quotaBytes),
                ("spool_disk_free_bytes", "gauge", "Free bytes of the disk of the store.", report.freeBytes),
                ("spool_store_writable", "gauge", "1 if bytes can be stored now.", report.storesNow ? 1 : 0),
                (
                    "spool_loop_longest_callback_microseconds", "gauge",
                    "The longest callback of an event loop since the start, in CPU time.",
                    loops.map { $0.longestCallback.value / 1_000 }.max()
                ),
                (
                    "spool_loop_longest_turn_microseconds", "gauge", "The longest turn of an event loop since the start, in CPU time.",
                    loops.map { $0.longestTurn.value / 1_000 }.max()
                ),
            ]
            + report.tiers.flatMap(\.counts).compactMap { count in
                count.metric.map { ($0.name, "counter", $0.help, count.value) }
            }
        return metrics.map { metric in
            guard let value = metric.value else { return "" }
            return "# HELP \(metric.name) \(metric.help)\n# TYPE \(metric.name) \(metric.type)\n\(metric.name) \(value)\n"
        }.joined()
    }
}
