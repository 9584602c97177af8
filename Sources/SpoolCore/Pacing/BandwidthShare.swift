/// Decides when preloads and downloads pause for players. A value without a clock.
///
/// They pause while a player is short of bytes, and for a moment afterwards. They also pause while
/// the bytes arrive that a player reads ahead, for a bounded time. A player that takes bytes for
/// longer takes all that the link brings. Beside it, others run in phases at full speed. The pause
/// behind each phase is so long that they have had no more than their share of the bytes that the
/// link brought. Otherwise they run without pauses.
///
/// ```
///      free ────► first ────► running ◄────► paused
///       ▲          │ ▲           │              │
///       └──────────┴─│───────────┴──────────────┤   the players have enough
///                    └───────────┴──────────────┘   a player is short of bytes
/// ```
package struct BandwidthShare: Sendable {
    /// The state of the players of one resource.
    package enum Need: Hashable, Sendable {
        /// They need nothing from the origin.
        case nothing
        /// Bytes for them are on their way.
        case bytes
        /// One of them waits for bytes.
        case urgent
    }

    /// The time that others stay paused after the last player had bytes again. The next bytes of a
    /// player that just resumed are more urgent, too.
    package static let calm: Nanoseconds = .milliseconds(500)
    /// The longest pause for one wait. A player that waits longer than that does not wait because
    /// of others: its origin may be away.
    package static let patience: Nanoseconds = .seconds(30)
    /// The longest pause while the bytes that players read ahead arrive. Without a pause, a fetch
    /// takes longer, and the next seek more often finds packets of that fetch before the link.
    package static let filling: Nanoseconds = .seconds(10)
    /// The time that others stay paused after the fetch of a player paused. Its origin goes on
    /// sending until the window is full (`ReceiveWindow`). Where windows can't be bounded, that is
    /// often 2 MiB, which take a quarter of a second at 8 MiB/s.
    package static let draining: Nanoseconds = .milliseconds(300)
    /// The length of a phase. Bytes that the system has buffered during a pause are few compared
    /// with what a link brings in this time.
    package static let phase: Nanoseconds = .milliseconds(250)
    /// The requests that run at the same time in a phase. The system goes on buffering for each
    /// request that was paused, as much as the link brings in a round trip or two, and fills these
    /// buffers again in each phase.
    package static let beside = 2
    /// The longest pause behind a phase.
    package static let longestPause: Nanoseconds = .seconds(5)

    private enum State: Hashable {
        /// No player needs bytes from an origin.
        case free
        /// Others run beside a player, and these bytes have come since this time.
        case running(since: MonotonicInstant, all: Int64, others: Int64)
        /// Others have had their share until this time.
        case paused(until: MonotonicInstant)
        /// A player is short of bytes or was a moment ago, or what it reads ahead arrives.
        case first
    }

    private struct Player {
        var need: Need
        var since: MonotonicInstant
    }

    /// The most of the bytes that others may have while a player fetches, from 0 to 1.
    private let share: Double
    private var state = State.free
    /// The resources whose players need bytes.
    private var players: [UInt64: Player] = [:]
    /// The end of the calm after a player was short of bytes.
    private var calmFrom: MonotonicInstant?
    /// The time since when bytes for players arrive, and the one up to which those of the last fetch do
    /// after it paused.
    private var filling: (since: MonotonicInstant, until: MonotonicInstant?)?
    /// The number of requests that may have to pause.
    private var others = 0

    /// Creates the state of a cache without players.
    package init(share: Double) { self.share = share }

    /// The number of less urgent requests that may run now.
    package var allowance: Int {
        switch state {
        case .free: .max
        case .running: share > 0 ? Self.beside : 0
        case .paused, .first: 0
        }
    }

    /// Whether all less urgent requests are paused now.
    package var isHolding: Bool { allowance == 0 }

    /// Takes what the players of a resource need now.
    package mutating func playersChanged(of resource: UInt64, _ need: Need, now: MonotonicInstant) {
        let before = players[resource]?.need ?? .nothing
        guard before != need else { return }
        if before == .urgent { calmFrom = now + Self.calm }
        players[resource] = need == .nothing ? nil : Player(need: need, since: now)
        // A pause shorter than `draining` does not end the time in which bytes arrive. A wait does.
        let isOver = before == .urgent || filling?.until.map { now >= $0 } ?? false
        filling = (isOver ? now : filling?.since ?? now, players.isEmpty ? now + Self.draining : nil)
        timePassed(now: now)
    }

    /// Takes the number of less urgent requests.
    package mutating func othersChanged(_ count: Int, now: MonotonicInstant) {
        guard count != others else { return }
        others = count
        timePassed(now: now)
    }

    /// Counts bytes that arrived.
    package mutating func received(_ bytes: Int, forPlayer: Bool) {
        guard case .running(let since, let all, let others) = state else { return }
        state = .running(since: since, all: all + Int64(bytes), others: others + (forPlayer ? 0 : Int64(bytes)))
    }

    /// Takes the present time. Due at `deadline`; at any other time it changes nothing.
    package mutating func timePassed(now: MonotonicInstant) {
        if let from = calmFrom, now >= from { calmFrom = nil }
        if let until = filling?.until, now >= until { filling = nil }
        guard holds.allSatisfy({ $0 <= now }) else { return state = .first }
        guard share < 1, players.values.contains(where: { $0.need == .bytes }) else { return state = .free }
        switch state {
        case .free, .first: state = .running(since: now, all: 0, others: 0)
        case .running(let since, let all, let others):
            guard now - since >= Self.phase else { return }
            let pause = pause(after: now - since, all: all, others: others)
            state = pause > 0 ? .paused(until: now + pause) : .running(since: now, all: 0, others: 0)
        case .paused(let until):
            if now >= until { state = .running(since: now, all: 0, others: 0) }
        }
    }

    /// The times up to which others pause for players.
    private var holds: [MonotonicInstant] {
        let urgent = players.values.filter { $0.need == .urgent }.map { $0.since + Self.patience }
        guard share < 1, let filling else { return urgent + [calmFrom].compactMap(\.self) }
        let full = filling.since + Self.filling
        return urgent + [calmFrom, min(full, filling.until ?? full)].compactMap(\.self)
    }

    /// Returns how long others pause, so that they have at most their share of what the link would
    /// have brought in phase and pause together.
    private func pause(after elapsed: Nanoseconds, all: Int64, others: Int64) -> Nanoseconds {
        guard others > 0, share > 0 else { return 0 }
        let whole = Double(elapsed) * Double(others) / (share * Double(all))
        return Nanoseconds(max(0, min(whole - Double(elapsed), Double(Self.longestPause))))
    }

    /// The time of the next `timePassed`; nil if nothing has to run or pause.
    package var deadline: MonotonicInstant? {
        guard others > 0 else { return nil }
        switch state {
        case .free: return nil
        case .running(let since, _, _): return share > 0 ? since + Self.phase : nil
        case .paused(let until): return until
        case .first:
            // Others go on when the last of these times has come, unless a player changes before.
            return holds.max()
        }
    }
}
