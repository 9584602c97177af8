#if !os(watchOS)
public import Spool

/// The measures of one item: how it began, how it played, and how it ended. It has neither a URL
/// nor a key, so an app may send it to its own statistics.
///
/// Items without the cache have a report as well. So two groups of a `Rollout` can be compared.
public struct PlaybackReport: Codable, Hashable, Sendable {
    /// The end of an item.
    public enum End: String, Codable, Hashable, Sendable {
        /// It played to its end.
        case ended
        /// It failed.
        case failed
        /// Its original replaced it.
        case rescued
        /// The player has another item, or none.
        case left
    }

    /// The source of the bytes: `cache`, `file`, `loopback` or `original`.
    public var route: String
    /// Whether the item is the original that replaced another item.
    public var isRescue = false
    /// The user's group in the rollout, or nil for an item that no cache made.
    public var group: Rollout.Group?
    /// Whether the cache was bypassed at the end of the item.
    public var isBypassed = false
    /// The time from the wish to play to the first moment of play, or nil if it never played. A
    /// pause in between does not count.
    public var startupMilliseconds: Int64?
    /// The time for which it played.
    public var playedMilliseconds: Int64 = 0
    /// The number of waits after the first moment of play.
    public var stallCount = 0
    /// The time of these waits.
    public var stalledMilliseconds: Int64 = 0
    /// The bytes that the player got and that were stored before, or nil where the cache does not
    /// count them by item.
    public var bytesFromStore: Int64?
    /// The bytes that the player got and that were fetched for it, or nil as above.
    public var bytesFromOrigin: Int64?
    /// The end of the item.
    public var end = End.left
    /// The domain of AVFoundation's error, if the item failed.
    public var errorDomain: String?
    /// The code of AVFoundation's error, if the item failed.
    public var errorCode: Int?
    /// The code of the cache's last error, also if the item went on after it.
    public var cacheError: String?

    /// Creates the report of an item that has not begun.
    package init(route: String) { self.route = route }
}

/// Measures one item from the states of its player. A value without a clock.
package struct PlaybackMeter: Hashable, Sendable {
    /// A state, as far as it is measured.
    package enum Phase: Hashable, Sendable {
        /// The player should not play.
        case paused
        /// The player should play, and waits.
        case waiting
        case playing
    }

    private var phase = Phase.paused
    private var since: Nanoseconds
    private var waitedBefore: Nanoseconds = 0
    private var stalled: Nanoseconds = 0
    private var played: Nanoseconds = 0
    private var stalls = 0
    private var hasPlayed = false

    /// Begins with an item.
    package init(now: MonotonicInstant) { since = now.nanoseconds }

    /// Takes a state.
    package mutating func became(_ new: Phase, now: MonotonicInstant) {
        let time = max(0, now.nanoseconds.subtractingReportingOverflow(since).partialValue)
        since = now.nanoseconds
        switch phase {
        case .paused: break
        case .playing: played += time
        case .waiting: if hasPlayed { stalled += time } else { waitedBefore += time }
        }
        if new == .playing { hasPlayed = true }
        if new == .waiting, phase != .waiting, hasPlayed { stalls += 1 }
        phase = new
    }

    /// Writes the measures so far into a report.
    package func write(to report: inout PlaybackReport) {
        report.startupMilliseconds = hasPlayed ? waitedBefore / 1_000_000 : nil
        (report.playedMilliseconds, report.stalledMilliseconds) = (played / 1_000_000, stalled / 1_000_000)
        report.stallCount = stalls
    }
}
#endif
