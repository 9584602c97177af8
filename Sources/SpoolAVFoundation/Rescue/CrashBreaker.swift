/// Decides from the ends of earlier processes whether the cache ends the app.
///
/// A mark exists only while the first item of a process opens: from the moment at which the player
/// has it until it is ready. It is removed when the app leaves the foreground, ends or is short of
/// memory, so that the system's own kills do not count. Two processes in a row that end with the
/// mark, within ten minutes and with the same build of app and system, open the breaker. After a
/// day one process tries again.
package struct CrashBreaker: Codable, Hashable, Sendable {
    /// The number of ends in a row that open the breaker.
    static let endsToOpen = 2
    /// The longest time from one end to the next, in seconds.
    static let secondsInARow: Int64 = 600
    /// The time after which one process tries again, in seconds.
    static let secondsToTrial: Int64 = 86_400

    /// The builds of the app and the system.
    private var build: String
    /// When the first item of the process began to open, in seconds since 1970.
    private var mark: Int64?
    private var ends = 0
    private var lastEnd: Int64 = 0
    /// When the breaker opened, or nil.
    private var openSince: Int64?

    /// Creates a closed breaker.
    package init(build: String) { self.build = build }

    /// Whether the cache is bypassed.
    package var isOpen: Bool { openSince != nil }

    /// Whether the mark exists.
    package var hasMark: Bool { mark != nil }

    /// Begins a process.
    ///
    /// - Parameters:
    ///   - isDebugged: Whether a debugger or another program started the process. Its end, and the
    ///     one before it, do not count.
    ///   - now: Seconds since 1970.
    package mutating func launched(build: String, isDebugged: Bool, now: Int64) {
        if build != self.build { self = CrashBreaker(build: build) }
        defer { mark = nil }
        if let mark, !isDebugged {
            let isInARow = ends > 0 && Self.time(from: lastEnd, to: mark).map { $0 <= Self.secondsInARow } == true
            (ends, lastEnd) = (isInARow ? min(ends + 1, Self.endsToOpen) : 1, mark)
            if ends >= Self.endsToOpen { openSince = now }
        }
        guard let openSince else { return }
        // A clock that was set back must not keep it open.
        let isDue = Self.time(from: openSince, to: now).map { $0 >= Self.secondsToTrial } != false
        // One more end with the mark opens it again.
        if isDue || isDebugged { (self.openSince, ends, lastEnd) = (nil, Self.endsToOpen - 1, now) }
    }

    /// Returns the seconds from one moment to a later one, or nil if the clock went back or a
    /// number of the record makes no sense.
    private static func time(from earlier: Int64, to later: Int64) -> Int64? {
        let (seconds, isTooLong) = later.subtractingReportingOverflow(earlier)
        return isTooLong || seconds < 0 ? nil : seconds
    }

    /// Sets the mark, because the first item begins to open.
    package mutating func itemOpens(now: Int64) { mark = now }

    /// Removes the mark, because the item is ready. The cache did not end the app.
    package mutating func itemIsReady() { (mark, ends, openSince) = (nil, 0, nil) }

    /// Removes the mark without a verdict: the app leaves the foreground, ends, or has failed.
    package mutating func excused() { mark = nil }
}
