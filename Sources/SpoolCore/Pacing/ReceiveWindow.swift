/// Bounds the bytes that origins may have on their way. A value without a clock.
///
/// A request that pauses does not stop its origin at once. The origin sends until the receive
/// window of the connection is full (RFC 9293 §3.8.6), and the kernel makes that window as large as
/// megabytes. Those bytes cross the link before the ones that a player waits for, and nobody gets
/// them when a player seeks. The window of a player is therefore four times what the link has on
/// its way at its rate: the rate, times the time of a round trip. A request that no reader follows
/// has the window of a less urgent one (`FetchState.isUnread`).
///
/// Beside a player, all windows of less urgent requests together are smaller than what the link has
/// on its way. Then no byte of theirs waits before the link. A paused one has a window of two
/// segments. Without a player for a minute, their windows are left to the kernel.
package struct ReceiveWindow: Sendable {
    /// The window of a player's request, in parts of what the link has on its way. A sender needs
    /// two to find out whether the link has become faster, and twice that when other packets make
    /// the round trip longer.
    package static let partOfPlayer = 4.0
    /// The least window of a player's request, in bytes.
    package static let leastBytesOfPlayer = 1 << 20
    /// The time for which windows of less urgent requests stay bounded after the last request of a
    /// player.
    package static let memory: Nanoseconds = .seconds(60)
    /// The window of a paused preload or download, in segments. With a smaller one, an origin waits
    /// for a timer before it sends (RFC 9293 §3.8.6.2.1).
    package static let restSegments = 2
    /// The smallest window of another request, in segments. With few, a receiver that delays an
    /// acknowledgement stops its sender (RFC 9293 §3.8.6.3).
    package static let leastSegments = 8
    /// The largest segment of a connection whose window is bounded, in bytes: that of the largest
    /// frames of Ethernet. Larger ones are on loopback, where nothing waits for a link.
    package static let mostSegmentBytes = 9000
    /// The least for all windows together, in bytes, also for a link that was not measured.
    package static let leastBytes = 32 << 10
    /// The length of one measurement of the rate.
    package static let interval: Nanoseconds = .milliseconds(250)
    /// The part of what the link has on its way that all windows together have.
    package static let part = 0.5
    /// The same between two requests of a player, for one request. One connection needs room to
    /// recover from a loss.
    package static let partAlone = 2.0
    /// All windows together may hold at least what the link brings in this time, because a player
    /// does not notice so short a delay. Round trips of a radio network or a local one vary by as
    /// much.
    package static let harmlessDelay: Nanoseconds = .milliseconds(10)
    /// The highest rate of this time counts, to half of it. Bounded requests do not show what the
    /// link could carry, but a player does that reads ahead.
    package static let rateMemory: Nanoseconds = .seconds(600)
    /// The shortest round trip of this time counts, to half of it.
    package static let roundTripMemory: Nanoseconds = .seconds(60)
    /// The most hosts whose round trip is known. One of the others takes the place of the oldest.
    package static let hostLimit = 64

    /// The open connections of a host that requests of players find unused, if possible. A player
    /// has up to two requests at a time, as in `FetchScheduler`.
    package static let keptForPlayers = 2

    /// The bytes and the time of the last measurement.
    private var last: (bytes: Int64, at: MonotonicInstant)?
    /// The highest rate of all connections together, in bytes a second.
    private var rate = RecentBest<Double>(of: Self.rateMemory) { max($0, $1) }
    /// The shortest time of an answer from each host. The host that answered last is at the end.
    private var roundTrips: [(host: String, time: RecentBest<Nanoseconds>)] = []
    private var players = 0
    private var lastPlayer: MonotonicInstant?

    /// Creates a value for a link that carried nothing yet.
    package init() {}

    /// Takes the number of requests of players.
    package mutating func playersChanged(_ count: Int, now: MonotonicInstant) {
        if players > 0 { lastPlayer = now }
        players = count
    }

    /// Whether windows of less urgent requests are bounded.
    package func isBounding(now: MonotonicInstant) -> Bool {
        players > 0 || lastPlayer.map { now - $0 < Self.memory } ?? false
    }

    /// Takes the bytes that have arrived so far on all connections. Due each `interval` while bytes
    /// arrive.
    package mutating func received(_ bytes: Int64, now: MonotonicInstant) {
        // The bytes of a transfer that ends are missing for a moment.
        if let last, bytes < last.bytes { return }
        if let last, now > last.at {
            rate.add(Double(bytes - last.bytes) / (Double(now - last.at) / 1e9), now: now)
        }
        last = (bytes, now)
    }

    /// Takes the time from a request to the first byte of its answer. The shortest is near the time
    /// of a round trip, also behind a proxy, which hides the round trip of TCP.
    package mutating func answered(by host: String, after delay: Nanoseconds, now: MonotonicInstant) {
        var time = RecentBest<Nanoseconds>(of: Self.roundTripMemory) { min($0, $1) }
        if let index = roundTrips.firstIndex(where: { $0.host == host }) { time = roundTrips.remove(at: index).time }
        time.add(delay, now: now)
        if roundTrips.count == Self.hostLimit { roundTrips.removeFirst() }
        roundTrips.append((host, time))
    }

    /// Returns the window of a player's request in bytes. Nil for a connection on loopback, and for
    /// a running request over a link that was not measured.
    ///
    /// - Parameters:
    ///   - host: The host that answers the request.
    ///   - segment: The most bytes of one segment of its connection.
    package func bytesOfPlayer(for host: String, segment: Int, isPaused: Bool, now: MonotonicInstant) -> Int? {
        guard segment <= Self.mostSegmentBytes else { return nil }
        guard let (rate, time) = link(to: host, now) else { return isPaused ? Self.leastBytesOfPlayer : nil }
        return max(
            Self.leastBytesOfPlayer, Int(clamping: min(Int64(saturating: rate * Self.partOfPlayer * Double(time) / 1e9), Int64(Int32.max))))
    }

    /// Returns the window of a less urgent request in bytes, while windows are bounded. Nil for a
    /// connection on loopback.
    ///
    /// - Parameters:
    ///   - host: The host that answers the request.
    ///   - segment: The most bytes of one segment of its connection.
    ///   - running: The number of less urgent requests that are not paused.
    package func bytes(for host: String, segment: Int, isPaused: Bool, running: Int, now: MonotonicInstant) -> Int? {
        guard segment <= Self.mostSegmentBytes else { return nil }
        return isPaused ? Self.restSegments * segment : max(Self.leastSegments * segment, all(from: host, running, now) / max(1, running))
    }

    /// Returns the rate of the link in bytes a second, and the time of a round trip to a host. Nil
    /// if one of them was not measured.
    private func link(to host: String, _ now: MonotonicInstant) -> (rate: Double, roundTrip: Nanoseconds)? {
        guard let rate = rate.value(now: now), let time = roundTrips.first(where: { $0.host == host })?.time.value(now: now) else {
            return nil
        }
        return (rate, time)
    }

    /// The bytes of all windows of less urgent requests together.
    private func all(from host: String, _ running: Int, _ now: MonotonicInstant) -> Int {
        guard let (rate, time) = link(to: host, now) else { return Self.leastBytes }
        let part = players == 0 && running <= 1 ? Self.partAlone : Self.part
        let seconds = max(part * Double(time), Double(Self.harmlessDelay)) / 1e9
        return max(Self.leastBytes, Int(clamping: min(Int64(saturating: rate * seconds), Int64(Int32.max))))
    }
}

/// The best of the values of a time. A value counts for half of the time to all of it, and the last
/// ones until there are others.
private struct RecentBest<Value: Sendable>: Sendable {
    private let half: Nanoseconds
    private let best: @Sendable (Value, Value) -> Value
    /// The best value of the half from this time on.
    private var current: (value: Value, since: MonotonicInstant)?
    /// The best value of the half before.
    private var previous: Value?

    init(of time: Nanoseconds, _ best: @escaping @Sendable (Value, Value) -> Value) {
        half = time / 2
        self.best = best
    }

    mutating func add(_ value: Value, now: MonotonicInstant) {
        guard let old = current, now - old.since < half else {
            previous = current.flatMap { now - $0.since < 2 * half ? $0.value : nil }
            return current = (value, now)
        }
        current = (best(old.value, value), old.since)
    }

    func value(now: MonotonicInstant) -> Value? {
        guard let current else { return nil }
        guard let previous, now - current.since < half else { return current.value }
        return best(previous, current.value)
    }
}
