/// A request to an origin, as the scheduler sees it.
package struct ScheduledRequest: Sendable {
    /// The urgency of a request. The order is the one in which requests start.
    package enum Urgency: Int, Comparable, Hashable, Sendable {
        /// A download.
        case prefetch
        /// The next item of a queue, or an upload whose body the client still sends.
        case upcoming
        /// A client has enough for the moment, and the request reads ahead.
        case ahead
        /// A client waits for the answer.
        case awaited

        /// Whether the first urgency is lower than the second.
        package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
    }

    /// A running request.
    struct Run: Hashable {
        /// The rate, from looks at it.
        var use: SlotUse
        /// Whether the head of its answer is late.
        var isLate = false
        /// The time from which an endless body takes no place of its host.
        var placeEnd: MonotonicInstant?
        /// Whether its client had waited for a further place of the host. Those that follow do not.
        var isFurther = false
        /// Whether its bytes are not needed at the moment, so that it may end.
        var isIdle = false
        /// Whether its client could move more.
        var isClientsTurn = false
    }

    /// The time for which an endless or a silent body has a place of its host: 10 s. A web radio
    /// would have it for ever.
    static let placeTime = Nanoseconds.seconds(10)

    /// The number of the request, in the order of submission.
    let id: UInt64
    /// The host that it goes to.
    let host: String
    /// The client that it is for, or nil for a program of this machine.
    let client: [UInt8]?
    /// Whether the origin may hold the answer back until its content exists. Such a request costs
    /// the origin nothing, so it takes no place of the host.
    let isHeldBack: Bool
    /// The time since when a client waits for it, or since when it waits itself.
    var waitsSince: MonotonicInstant
    var demand: FetchDemand
    /// The sequence number of `demand`. A change that arrives late has a lower number.
    var sequence: UInt64
    /// The reason why it is held, or nil if it may run.
    var refusal: NetworkRefusal?
    /// Nil while the request waits.
    var run: Run?

    var urgency: Urgency {
        switch demand.priority {
        case .prefetch: .prefetch
        case .upcoming: .upcoming
        case .playing: demand.isAwaited ? .awaited : .ahead
        }
    }

    /// Whether no client waits or will wait soon.
    var isBackground: Bool { demand.priority < .playing }

    /// Whether the network policy permits it. A player may still need the link.
    var isPermitted: Bool { refusal == nil || refusal == .playback }

    /// Whether it moves bytes. Otherwise it loses its slot.
    var isMoving: Bool { run?.use.isSlow == false }

    /// Whether it is one of the requests of its host, of which four times as many may run as there
    /// are places.
    func isOfHost(now: MonotonicInstant) -> Bool { !isHeldBack && run?.placeEnd.map { now >= $0 } != true }

    /// Whether it has a place of its host.
    func hasPlace(now: MonotonicInstant) -> Bool {
        guard let run, isPermitted, isOfHost(now: now) else { return false }
        return !run.isLate && run.use.quiet < Self.placeTime
    }
}
