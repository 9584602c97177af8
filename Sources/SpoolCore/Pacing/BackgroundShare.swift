/// Decides how many preloads and downloads run beside players. A value without a clock.
///
/// Without players that need bytes, all of them run. Beside a player that takes bytes they run in
/// phases at full speed, and the pause behind each phase gives the player its part of the link.
/// While a player that had enough is short of bytes, and while it reads ahead for a moment, one of
/// them gets a fortieth of the link. So they are slow then, and never stand still.
///
/// ```
///      free ────► open ◄────► closed        open and closed beside a player, or for one request
///       ▲          │            │
///       └──────────┴────────────┘           the players need nothing
/// ```
package struct BackgroundShare: Sendable {
    /// The state of the players of one resource.
    package enum Need: Hashable, Sendable {
        /// They need nothing from the origin.
        case nothing
        /// Bytes for them are on their way.
        case bytes
        /// One of them waits for bytes.
        case urgent
    }

    /// The time for which others stay back after the last player had bytes again. The next bytes of
    /// a player that just resumed are more urgent, too.
    package static let calm: Nanoseconds = .milliseconds(500)
    /// The most time for which others stay back while the bytes that players read ahead arrive.
    /// Without it, a fetch takes longer, and the next seek more often finds packets of that fetch
    /// before the link.
    package static let filling: Nanoseconds = .seconds(10)
    /// The time for which others stay back after the fetch of a player paused. Its origin goes on
    /// sending until the window is full (`ReceiveWindow`). Where windows can't be bounded, that is
    /// often 2 MiB, which take a quarter of a second at 8 MiB/s.
    package static let draining: Nanoseconds = .milliseconds(300)
    /// The length of a phase beside a player. Bytes that the system has buffered during a pause are
    /// few compared with what a link brings in this time.
    package static let phase: Nanoseconds = .milliseconds(250)
    /// The requests that run at the same time in a phase. The system goes on buffering for each
    /// request that was paused, as much as the link brings in a round trip or two, and fills these
    /// buffers again in each phase.
    package static let beside = 2
    /// The longest pause behind a phase.
    package static let longestPause: Nanoseconds = .seconds(5)
    /// The share of others beside a player that always waits and could use more of the link: 10 %.
    package static let leastShare = 0.1
    /// The time from one drop to the next while a player is short of bytes. Most waits of a player
    /// are over before the first one.
    package static let dropInterval: Nanoseconds = .seconds(4)
    /// The longest time for which a drop may arrive.
    package static let longestDrop: Nanoseconds = .seconds(2)
    /// The least bytes of a drop: 64 KiB, which are 16 KiB/s.
    package static let leastDrop: Int64 = 64 * 1024
    /// The part of a second that the bytes of a drop take at the measured rate: 2.5 % of the link.
    private static let dropTime = 0.1
    /// The time for which the players of one host may hold others back, and the part of the other
    /// time that they earn back. A web radio, a slow origin and a dead one wait all the time, and
    /// no pause of others helps them.
    package static let credit: Nanoseconds = .seconds(5)
    private static let earned: Int64 = 5
    /// The credit from which the players of a host that has spent all count again.
    private static let leastCredit: Nanoseconds = .seconds(1)
    /// The most hosts whose credit is kept. Beyond it those whose players do not wait are forgotten.
    private static let maxHosts = 256

    private enum State: Hashable {
        case free
        /// Others run, and these bytes have come since this time.
        case open(since: MonotonicInstant, all: Int64, others: Int64)
        case closed(until: MonotonicInstant)
    }

    private enum Mode: Hashable {
        /// No player needs bytes from an origin.
        case free
        /// A player takes bytes.
        case beside
        /// A player is short of bytes or was a moment ago, or what it reads ahead arrives.
        case first
    }

    private struct Player {
        var need: Need
        let host: String
    }

    private struct Credit {
        var left = BackgroundShare.credit
        var since: MonotonicInstant
        /// The number of players that wait for bytes.
        var waiting = 0
        var isSpent = false

        mutating func timePassed(now: MonotonicInstant) {
            let elapsed = now - since
            left = waiting > 0 ? max(0, left - elapsed) : min(BackgroundShare.credit, left + elapsed / BackgroundShare.earned)
            if left == 0 { isSpent = true } else if left >= BackgroundShare.leastCredit { isSpent = false }
            since = now
        }
    }

    /// The most of the bytes that others may have while a player fetches, from 0 to 1.
    private let share: Double
    private var state = State.free
    private var mode = Mode.free
    /// The resources whose players need bytes.
    private var players: [UInt64: Player] = [:]
    private var credits: [String: Credit] = [:]
    /// The time since when bytes for players arrive, and the one up to which others stay back after
    /// the last player had enough.
    private var arrival: (since: MonotonicInstant, until: MonotonicInstant?)?
    /// When the next drop is due, and when a player was short for the last time.
    private var nextDrop: MonotonicInstant?
    private var firstEnded: MonotonicInstant?
    /// The time of the last `timePassed`.
    private var updated: MonotonicInstant?
    /// The bytes that the link brought in each second of the last phase.
    private var bytesPerSecond = 0.0

    /// Creates the state of a cache without players.
    package init(share: Double) { self.share = share }

    /// The number of less urgent requests that may run now.
    package var allowance: Int {
        guard case .open = state, share > 0 else { return state == .free ? .max : 0 }
        return mode == .first ? 1 : Self.beside
    }

    /// Whether others stay back, because a player is short of bytes or reads ahead.
    package var isPlayerFirst: Bool { mode == .first }

    /// Takes what the players of a resource need now.
    package mutating func playersChanged(of resource: UInt64, at host: String, _ need: Need, now: MonotonicInstant) {
        let before = players[resource]?.need ?? .nothing
        guard before != need else { return }
        var credit = credits[host] ?? Credit(since: now)
        credit.timePassed(now: now)
        credit.waiting += (need == .urgent ? 1 : 0) - (before == .urgent ? 1 : 0)
        credits[host] = credit
        forgetHosts(now: now)
        players[resource] = need == .nothing ? nil : Player(need: need, host: host)
        if !credit.isSpent {
            // A pause shorter than `draining` does not end the time in which bytes arrive. A wait does.
            let wasShort = before == .urgent, isTrusted = players.values.contains { !isSpent($0.host) }
            let isOver = wasShort || arrival?.until.map { now >= $0 } ?? false
            arrival = (isOver ? now : arrival?.since ?? now, isTrusted ? nil : now + (wasShort ? Self.calm : Self.draining))
        }
        timePassed(now: now)
    }

    private mutating func forgetHosts(now: MonotonicInstant) {
        guard credits.count > Self.maxHosts else { return }
        credits = credits.filter { $0.value.waiting > 0 }
    }

    /// Counts bytes that arrived.
    ///
    /// - Returns: Whether a drop is complete, so that `timePassed` is due.
    package mutating func received(_ bytes: Int, forPlayer: Bool) -> Bool {
        guard case .open(let since, var all, var others) = state else { return false }
        all = all.addingSaturated(Int64(bytes))
        others = others.addingSaturated(forPlayer ? 0 : Int64(bytes))
        state = .open(since: since, all: all, others: others)
        return mode == .first && !forPlayer && others >= dropBytes
    }

    /// Takes the present time. Due at `deadline`; at any other time it changes nothing.
    package mutating func timePassed(now: MonotonicInstant) {
        updated = now
        for host in Set(players.values.map(\.host)) { credits[host]?.timePassed(now: now) }
        if let until = arrival?.until, now >= until { arrival = nil }
        if arrival?.until == nil, !players.values.contains(where: { !isSpent($0.host) }) { arrival?.until = now + Self.draining }
        let before = mode
        mode = presentMode(now: now)
        if before == .first, mode != .first { firstEnded = now }
        switch (mode, state) {
        case (.free, _): state = .free
        case (.first, _) where before != .first:
            // Waits that follow one another soon are one wait for others.
            let goesOn = firstEnded.map { now - $0 < Self.dropInterval } ?? false
            state = .closed(until: goesOn ? max(now, nextDrop ?? now) : now + Self.dropInterval)
            nextDrop = max(nextDrop ?? now, now + (goesOn ? 0 : Self.dropInterval))
        case (.beside, _) where before != .beside: state = .open(since: now, all: 0, others: 0)
        case (_, .free): state = .open(since: now, all: 0, others: 0)
        case (_, .closed(let until)):
            guard now >= until else { return }
            state = .open(since: now, all: 0, others: 0)
            if mode == .first { nextDrop = now + Self.dropInterval }
        case (.first, .open(let since, _, let others)):
            if others >= dropBytes || now - since >= Self.longestDrop { state = .closed(until: max(now, since + Self.dropInterval)) }
        case (.beside, .open(let since, let all, let others)):
            guard now - since >= Self.phase else { return }
            bytesPerSecond = Double(all) * 1e9 / Double(now - since)
            let pause = pause(after: now - since, all: all, others: others)
            state = pause > 0 ? .closed(until: now + pause) : .open(since: now, all: 0, others: 0)
        }
    }

    private func presentMode(now: MonotonicInstant) -> Mode {
        if players.values.contains(where: { $0.need == .urgent && !isSpent($0.host) }) { return .first }
        guard share < 1 else { return .free }
        if let end = arrivalEnd, now < end { return .first }
        return players.isEmpty ? .free : .beside
    }

    private func isSpent(_ host: String) -> Bool { credits[host]?.isSpent == true }

    private var arrivalEnd: MonotonicInstant? {
        arrival.map { arrival in min(arrival.since + Self.filling, arrival.until ?? arrival.since + Self.filling) }
    }

    private var dropBytes: Int64 { max(Self.leastDrop, Int64(min(bytesPerSecond * Self.dropTime, 1e15))) }

    /// Returns how long others pause, so that they have at most their share of what the link would
    /// have brought in phase and pause together.
    ///
    /// A player that waits all the time could use more of the link, unless it takes less than a
    /// tenth of what came.
    private func pause(after elapsed: Nanoseconds, all: Int64, others: Int64) -> Nanoseconds {
        guard others > 0, share > 0 else { return 0 }
        let isShort = players.values.contains { $0.need == .urgent } && Double(others) < 0.9 * Double(all)
        let whole = Double(elapsed) * Double(others) / ((isShort ? min(share, Self.leastShare) : share) * Double(all))
        return Nanoseconds(max(0, min(whole - Double(elapsed), Double(Self.longestPause))))
    }

    /// The time of the next `timePassed`; nil if nothing has to run or pause.
    package var deadline: MonotonicInstant? {
        guard mode != .free else { return nil }
        // The mode may change when one of these times has come.
        let spent = credits.values.filter { $0.waiting > 0 && !$0.isSpent }.map { $0.since + $0.left }
        let modes = spent + [arrivalEnd].compactMap(\.self)
        let next: MonotonicInstant? =
            switch state {
            case .free: nil
            case .open(let since, _, _): since + (mode == .first ? Self.longestDrop : Self.phase)
            case .closed(let until): until
            }
        let times = modes + (share > 0 ? [next].compactMap(\.self) : [])
        return times.filter { time in updated.map { time > $0 } ?? true }.min()
    }
}
