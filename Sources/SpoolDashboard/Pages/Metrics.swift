import Spool
import SpoolCore
import SpoolServer
import SpoolSystem

/// A cache and its proxy in the text format of Prometheus, at `/_spool/metrics`.
///
/// The names follow its conventions: `_total` for what only grows, and units at the end.
struct Metrics {
    /// The fields of a response with metrics.
    static let fields: HTTPFields = [
        "Content-Type": "text/plain; version=0.0.4; charset=utf-8", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
    ]

    private enum Kind: String { case counter, gauge, histogram }

    /// The lines so far.
    private(set) var text = ""

    init(_ report: CacheReport, _ notices: [CacheNotice.Kind: Int64], _ loops: [LoopTimes], _ counters: [ServerCounters]) {
        add(report)
        addResponses(counters)
        add("spool_notices_total", .counter, "Things that happened, by kind: evictions, failures of origins, refusals and others.")
        for kind in CacheNotice.Kind.allCases { line("spool_notices_total", [("kind", kind.rawValue)], notices[kind] ?? 0) }
        add(
            "spool_loop_longest_callback_seconds", .gauge, "The longest callback of an event loop since the start, in CPU time.",
            loops.map(\.longestCallback.value).max().map(seconds))
        add(
            "spool_loop_longest_turn_seconds", .gauge, "The longest turn of an event loop since the start, in CPU time.",
            loops.map(\.longestTurn.value).max().map(seconds))
        for count in report.tiers.flatMap(\.counts) {
            if let metric = count.metric { add(metric.name, .counter, metric.help, count.value) }
        }
    }

    private mutating func add(_ report: CacheReport) {
        let statistics = report.statistics
        add("spool_origin_bytes_total", .counter, "Body bytes that were taken from origins.", statistics.fetchedBytes)
        add("spool_origin_sent_bytes_total", .counter, "Bytes that origins sent, taken or not.", statistics.sentByOriginsBytes)
        add("spool_origin_lost_bytes_total", .counter, "Bytes that arrived and that nothing took.", statistics.lostBytes)
        add("spool_origin_requests_total", .counter, "Requests to origins.", statistics.originRequests)
        add("spool_store_read_bytes_total", .counter, "Bytes that readers got from the store.", statistics.bytesFromStore)
        add(
            "spool_origin_read_bytes_total", .counter, "Bytes that readers got as they came from origins.", statistics.bytesFromOrigin)
        add("spool_readers_total", .counter, "Readers that were created.", statistics.readers)
        add("spool_readers", .gauge, "Current readers.", Int64(report.readers))
        add("spool_fetches", .gauge, "Current fetches from origins.", Int64(report.fetches))
        add("spool_active_resources", .gauge, "Resources with readers or fetches.", Int64(report.activeCount))
        add("spool_store_bytes", .gauge, "Bytes that are stored.", report.storedBytes)
        add("spool_store_resources", .gauge, "Resources that are stored.", Int64(report.resourceCount))
        add("spool_store_quota_bytes", .gauge, "The quota of the store.", report.limits.quotaBytes)
        add("spool_disk_free_bytes", .gauge, "Free bytes of the disk of the store.", report.freeBytes)
        add("spool_store_writable", .gauge, "1 if bytes can be stored now.", report.storesNow ? 1 : 0)
    }

    private mutating func addResponses(_ counters: [ServerCounters]) {
        guard let first = counters.first else { return }
        let responses = counters.dropFirst().reduce(into: first.responses) { $0.add($1.responses) }
        let name = "spool_responses_total"
        add(name, .counter, "Responses by route and status. 499: the client left before a response.")
        for route in ResponseCounts.Route.allCases {
            for (status, count) in responses.statuses(route) { line(name, [("route", "\(route)"), ("status", "\(status)")], count) }
        }
        add(
            "spool_responses_broken_off_total", .counter, "Responses whose body broke off, because its bytes did not come.",
            responses.brokenOff)
        addTimes(of: responses)
        add("spool_connections", .gauge, "Open connections of clients.", Int64(counters.reduce(0) { $0 + $1.openConnections }))
        add("spool_connections_idle", .gauge, "Open connections without a request.", Int64(counters.reduce(0) { $0 + $1.idleConnections }))
        add("spool_connections_total", .counter, "Connections that were accepted.", counters.reduce(0) { $0 + $1.acceptedConnections })
    }

    /// Adds the histogram of the times to the first byte.
    private mutating func addTimes(of responses: ResponseCounts) {
        let name = "spool_first_byte_seconds"
        add(name, .histogram, "The time from the end of a request for media to the head of its response.")
        var sum: Int64 = 0
        for (index, count) in responses.byTime.enumerated() {
            sum += count
            let isLast = index == ResponseCounts.bounds.count
            line(name + "_bucket", [("le", isLast ? "+Inf" : "\(seconds(ResponseCounts.bounds[index]))")], sum)
        }
        text += "\(name)_sum \(seconds(responses.timeSum))\n\(name)_count \(sum)\n"
    }

    /// Adds the process: its version, start and memory.
    mutating func addProcess(version: String, start: Timestamp) {
        add("spool_build_info", .gauge, "The version of the program.")
        line("spool_build_info", [("version", version)], 1)
        add("process_start_time_seconds", .gauge, "The start of the process since 1970.", start.seconds)
        add("spool_peak_memory_bytes", .gauge, "The largest size of the process in memory.", ProcessIdentity.peakMemoryBytes)
    }

    /// Adds a metric without labels, unless it is unknown.
    private mutating func add(_ name: String, _ kind: Kind, _ help: String, _ value: (some CustomStringConvertible)?) {
        guard let value else { return }
        add(name, kind, help)
        line(name, [], value)
    }

    private mutating func add(_ name: String, _ kind: Kind, _ help: String) { text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind)\n" }

    /// - Parameter labels: Names and values of this program, which need no escapes.
    private mutating func line(_ name: String, _ labels: [(String, String)], _ value: some CustomStringConvertible) {
        let list = labels.map { "\($0.0)=\"\($0.1)\"" }.joined(separator: ",")
        text += name + (list.isEmpty ? "" : "{\(list)}") + " \(value)\n"
    }
}

private func seconds(_ time: Nanoseconds) -> Double { Double(time) / 1e9 }
