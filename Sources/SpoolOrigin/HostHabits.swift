package import SpoolCore

/// The experience with hosts to which Spool sent requests that differ from its clients' own.
///
/// A pure value without a clock. It forgets after an hour, and holds a bounded number of hosts.
package struct HostHabits: Sendable {
    /// A difference between the request that is sent and the client's own.
    package enum Change: Hashable, Sendable {
        /// A range where the client asked for the whole.
        case addedRange
        /// Another range than the client's.
        case otherRange
        /// `If-Range`, which the client did not send.
        case condition
    }

    /// The consequence for the next request with the same change.
    package enum Advice: Hashable, Sendable {
        /// A refusal may be about the change: the request is sent once more as the client asked.
        case repeatRefused
        /// The host serves such requests, or refuses the client's own alike: a refusal counts.
        case believe
        /// The host serves the client's own form only.
        case asClient
        /// The host refused the last request by a status that is seldom about its form. When a client
        /// asks again, the next request is the client's own, once.
        case asClientOnce
    }

    /// The most hosts. A page of a player names a few, and a gateway one.
    package static let capacity = 256
    /// The time for which a host's habit counts.
    static let lifetime: Nanoseconds = .seconds(3_600)
    /// The time for which a host is believed that refused both forms.
    static let lifetimeOfRefusals: Nanoseconds = .seconds(600)
    /// The refusals of both forms in a row after which a host is believed.
    static let refusalsInARow = 3

    private struct Habit {
        var advice = Advice.repeatRefused
        var refusals = 0
        var end: MonotonicInstant
    }

    private struct Place: Hashable {
        var host: String
        var change: Change
    }

    private var habits: [Place: Habit] = [:]

    /// Creates an empty memory.
    package init() {}

    /// Returns the advice for a request to a host.
    package func advice(for host: String, _ change: Change, now: MonotonicInstant) -> Advice {
        guard let habit = habits[Place(host: host, change: change)], now < habit.end else { return .repeatRefused }
        return habit.advice
    }

    /// Notes that a host served a request with this change.
    package mutating func granted(_ host: String, _ change: Change, now: MonotonicInstant) {
        set(Habit(advice: .believe, end: now + Self.lifetime), host, change)
    }

    /// Notes that a host refused a request with this change, and answered to the client's own form.
    ///
    /// - Parameter isServed: Whether that answer was a success.
    package mutating func repeated(_ host: String, _ change: Change, isServed: Bool, now: MonotonicInstant) {
        if isServed { return set(Habit(advice: .asClient, end: now + Self.lifetime), host, change) }
        let before = habits[Place(host: host, change: change)].flatMap { now < $0.end ? $0.refusals : nil } ?? 0
        let refusals = min(before + 1, Self.refusalsInARow)
        set(
            Habit(
                advice: refusals == Self.refusalsInARow ? .believe : .repeatRefused, refusals: refusals,
                end: now + Self.lifetimeOfRefusals), host, change)
    }

    /// Notes that a host refused a request with this change by a status that is not repeated.
    package mutating func refused(_ host: String, _ change: Change, now: MonotonicInstant) {
        set(Habit(advice: .asClientOnce, end: now + Self.lifetimeOfRefusals), host, change)
    }

    /// Forgets a host.
    package mutating func forget(_ host: String, _ change: Change) { habits[Place(host: host, change: change)] = nil }

    private mutating func set(_ habit: Habit, _ host: String, _ change: Change) {
        let place = Place(host: host, change: change)
        // Each host has at most three places.
        if habits[place] == nil, habits.count >= Self.capacity, let oldest = habits.min(by: { $0.value.end < $1.value.end }) {
            habits[oldest.key] = nil
        }
        habits[place] = habit
    }
}
