package import Spool
import SpoolCore
package import SpoolJSON

/// The form of a cache's report for programs: JSON at `/_spool/api/status`.
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

    static func json(_ statistics: Statistics) -> JSON { .object(statistics.members + [("hitRatio", .number(statistics.hitRatio))]) }

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
}

extension Statistics {
    /// The counts with their names for programs.
    package var members: [(String, JSON)] {
        [
            ("fetchedBytes", .integer(fetchedBytes)), ("sentByOriginsBytes", JSON(sentByOriginsBytes)), ("lostBytes", .integer(lostBytes)),
            ("originRequests", .integer(originRequests)), ("bytesFromStore", .integer(bytesFromStore)),
            ("bytesFromOrigin", .integer(bytesFromOrigin)), ("readers", .integer(readers)),
        ]
    }
}
