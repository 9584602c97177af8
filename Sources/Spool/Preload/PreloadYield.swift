package import SpoolCore

/// Decides when a preload pauses for players. A value without a clock.
///
/// A preload pauses while a player waits for bytes, and for a moment afterwards. While a player's
/// bytes are on their way from the same host, it runs for a share of the time. Otherwise it runs at
/// full speed.
package struct PreloadYield {
    /// The needs of the players of the cache at one moment.
    package struct Players: Hashable {
        /// Whether one of them waits for bytes.
        package var areShort = false
        /// Whether bytes for one of them are on their way from the host of the preload.
        package var areFetching = false

        /// Creates the state of players that need nothing.
        package init(areShort: Bool = false, areFetching: Bool = false) {
            self.areShort = areShort
            self.areFetching = areFetching
        }
    }

    /// The time that a preload stays paused after the last player had bytes again. The next bytes
    /// of a player that just resumed are more urgent, too.
    package static let calm: Nanoseconds = .milliseconds(500)
    /// The longest pause in a row. A player that waits longer than that does not wait because of
    /// preloads: its origin may be away.
    package static let patience: Nanoseconds = .seconds(30)
    /// The time after which a share of running and pausing repeats.
    package static let period: Nanoseconds = .milliseconds(400)
    /// The part of a period in which a preload runs while a player fetches: half of the link.
    package static let running: Nanoseconds = .milliseconds(200)
    /// The time between two looks at the players.
    package static let interval: Nanoseconds = .milliseconds(50)

    private var shortSince: MonotonicInstant?
    private var lastShort: MonotonicInstant?
    private var sharedSince: MonotonicInstant?

    /// Creates the state of a preload that has seen no player.
    package init() {}

    /// Returns whether the preload may run now.
    package mutating func mayRun(beside players: Players, now: MonotonicInstant) -> Bool {
        if players.areShort {
            if shortSince == nil { shortSince = now }
            lastShort = now
        } else if let last = lastShort, now - last >= Self.calm {
            (shortSince, lastShort) = (nil, nil)
        }
        if let since = shortSince, now - since < Self.patience { return false }
        guard players.areFetching else {
            sharedSince = nil
            return true
        }
        let since = sharedSince ?? now
        sharedSince = since
        return (now - since) % Self.period < Self.running
    }
}
