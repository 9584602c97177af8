package import SpoolCore

/// The responses of an event loop, for metrics: how many had each status, and how long clients
/// waited for the head.
///
/// A value of numbers alone, so that counting costs a response next to nothing.
package struct ResponseCounts: Hashable, Sendable {
    /// The groups of responses that are counted apart.
    package enum Route: Int, CaseIterable, Sendable {
        /// Media, for players.
        case media
        /// The pages, reports and commands of the program, whose monitors would hide the players.
        case pages
    }

    /// The upper bounds of the times to the first byte, in nanoseconds. A last group has the longer
    /// ones.
    package static let bounds: [Nanoseconds] = [1, 5, 25, 100, 500, 2_500, 10_000].map { .milliseconds($0) }
    /// The status of a request whose client left before a response, as other servers name it.
    package static let clientLeft = 499
    private static let statuses = 1000

    /// The numbers of responses by route and status.
    private var byStatus = [Int64](repeating: 0, count: Route.allCases.count * statuses)
    /// The responses for media by the time to their first byte: one group for each bound, and one for
    /// longer times.
    package private(set) var byTime = [Int64](repeating: 0, count: bounds.count + 1)
    /// The sum of these times, in nanoseconds.
    package private(set) var timeSum: Nanoseconds = 0
    /// The responses whose body broke off, because its bytes did not come.
    package private(set) var brokenOff: Int64 = 0

    /// Creates counts of nothing.
    package init() {}

    /// Counts the head of a response.
    ///
    /// - Parameter time: The time since the end of the request's head. The loop's clock moves once a
    ///   turn, so a response in the turn of its request took none, or less.
    mutating func began(_ status: Int, _ route: Route, after time: Nanoseconds) {
        count(status, route)
        guard route == .media else { return }
        byTime[Self.bounds.firstIndex { time <= $0 } ?? Self.bounds.count] += 1
        timeSum = timeSum.addingReportingOverflow(max(0, time)).partialValue
    }

    /// Counts the end of a response.
    ///
    /// - Parameter status: The status, or nil when no head was sent.
    mutating func ended(_ status: Int?, _ route: Route, _ end: AccessRecord.End) {
        if status == nil { count(Self.clientLeft, route) }
        if case .aborted = end { brokenOff += 1 }
    }

    private mutating func count(_ status: Int, _ route: Route) {
        if (0..<Self.statuses).contains(status) { byStatus[route.rawValue * Self.statuses + status] += 1 }
    }

    /// The statuses that were sent, in their order, with their numbers.
    package func statuses(_ route: Route) -> [(status: Int, count: Int64)] {
        (0..<Self.statuses).compactMap { status in
            let count = byStatus[route.rawValue * Self.statuses + status]
            return count == 0 ? nil : (status, count)
        }
    }

    /// Adds the counts of another loop.
    package mutating func add(_ other: ResponseCounts) {
        for index in byStatus.indices { byStatus[index] += other.byStatus[index] }
        for index in byTime.indices { byTime[index] += other.byTime[index] }
        timeSum = timeSum.addingReportingOverflow(other.timeSum).partialValue
        brokenOff += other.brokenOff
    }
}
