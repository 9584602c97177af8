/// Decides which origin requests run at the same time, within a limit in all and a limit for each
/// host, and in which order queued requests start.
///
/// More urgent requests start first, and equally urgent ones of a client in the order in which they
/// came. Requests below `.playing` leave two slots of each host, and one in all, free. A request
/// for playback therefore never queues behind less urgent ones.
///
/// Clients share the slots: for a client, those of another one count up to a quarter of all slots
/// (`share`), and slow requests do not count. So the requests of one client, however many and slow,
/// do not keep another from every origin. Connections are bounded by `mostRequests`.
///
/// The queue is a value without locks or closures; `FetchLimiter` carries out its decisions.
package struct FetchQueue: Sendable {
    /// A request that runs or waits.
    package struct Entry: Hashable, Sendable {
        /// The number of the request, in the order of submission.
        package let id: UInt64
        /// The host that it goes to.
        package let host: String
        /// The client that it is for, or nil for a program of this machine.
        package let client: [UInt8]?
        /// Its present urgency.
        package fileprivate(set) var priority: ReadPriority
        /// Whether its answer is late. Then it keeps no other request of its host waiting.
        fileprivate var isLate = false
        /// Whether the network policy holds it back. Then it does not start, and keeps no other
        /// request of its host waiting.
        fileprivate var isHeld = false
        /// Whether it runs and is held for a moment, because a player is short of data. It keeps
        /// its slot, and keeps no request for playback waiting: the player may be the one that
        /// waits for a slot.
        fileprivate var isYielding = false
        /// The sequence number of the requester's last priority change. A change that arrives late
        /// has a lower number and is ignored.
        fileprivate var sequence: UInt64
        /// Its rate, once it was looked at.
        var use: SlotUse?
        /// The first look since which it waits.
        var waitingSince: MonotonicInstant?
    }

    /// How many times the requests of a host may exceed its limit, because late ones do not count,
    /// and those that yield to a player do not count for it. So a host that answers nothing leaves
    /// room to other hosts.
    private static let lateFactor = 4

    /// The slots of a host that are kept for playback: a player has up to two requests at a time,
    /// one for its position and one for an index or another track.
    private static let keptPerHost = 2

    package let total: Int
    private let perHost: Int
    private let isForwarding: Bool
    /// The running requests, in the order in which they started.
    package internal(set) var active: [Entry] = []
    /// The queued requests, in the order in which they came.
    package internal(set) var queue: [Entry] = []
    private var next: UInt64 = 1
    /// The hosts for which nothing may start, each with the number of holds on it.
    private var held: [String: Int] = [:]

    /// Creates an empty queue.
    ///
    /// - Parameters:
    ///   - total: the most requests at the same time, at least 1.
    ///   - perHost: the most of these to one host, at least 1.
    ///   - isForwarding: whether its requests are forwarded ones. Their less urgent ones are
    ///     uploads that clients wait for, and no preloads.
    package init(total: Int, perHost: Int, isForwarding: Bool = false) {
        self.total = total
        self.perHost = perHost
        self.isForwarding = isForwarding
    }

    /// Adds a request, which runs if it is in `active` afterwards.
    ///
    /// - Parameters:
    ///   - client: the client that the request is for, or nil for a program of this machine.
    ///   - sequence: the sequence number, as for `prioritized`.
    ///   - isHeld: whether the network policy holds the request back.
    /// - Returns: the number of the request.
    package mutating func submitted(
        host: String, client: [UInt8]? = nil, priority: ReadPriority, sequence: UInt64, isHeld: Bool = false
    ) -> UInt64 {
        var entry = Entry(id: next, host: host, client: client, priority: priority, sequence: sequence)
        entry.isHeld = isHeld
        next += 1
        if hasRoom(for: entry) { active.append(entry) } else { queue.append(entry) }
        return entry.id
    }

    /// Removes a request that is over or was given up. Idempotent.
    /// - Returns: the requests that start now.
    package mutating func finished(_ id: UInt64) -> [UInt64] {
        active.removeAll { $0.id == id }
        queue.removeAll { $0.id == id }
        return startQueued()
    }

    /// Changes the urgency of a request.
    ///
    /// - Parameter sequence: the sequence number of the change. It grows with each change for one
    ///   request, because changes may arrive out of order.
    /// - Returns: the requests that start now.
    package mutating func prioritized(_ id: UInt64, _ priority: ReadPriority, sequence: UInt64) -> [UInt64] {
        if let index = active.firstIndex(where: { $0.id == id }), active[index].sequence < sequence {
            (active[index].priority, active[index].sequence) = (priority, sequence)
        }
        if let index = queue.firstIndex(where: { $0.id == id }), queue[index].sequence < sequence {
            (queue[index].priority, queue[index].sequence) = (priority, sequence)
        }
        return startQueued()
    }

    /// Sets whether the answer to a running request is late.
    /// - Returns: the requests that start now.
    package mutating func late(_ id: UInt64, _ isLate: Bool) -> [UInt64] {
        guard let index = active.firstIndex(where: { $0.id == id }), active[index].isLate != isLate else { return [] }
        active[index].isLate = isLate
        return startQueued()
    }

    /// Sets whether a request is held back.
    ///
    /// - Parameter keepsSlot: whether the request keeps its slot if it runs, because it is held for
    ///   a moment only.
    /// - Returns: the requests that start now.
    package mutating func setHeld(_ id: UInt64, _ isHeld: Bool, keepsSlot: Bool = false) -> [UInt64] {
        if let index = active.firstIndex(where: { $0.id == id }) {
            active[index].isHeld = isHeld && !keepsSlot
            active[index].isYielding = isHeld && keepsSlot
        }
        if let index = queue.firstIndex(where: { $0.id == id }) { queue[index].isHeld = isHeld }
        return startQueued()
    }

    /// Lets nothing more start for a host, until `release` has been called as often as `hold`.
    package mutating func hold(_ host: String) {
        held[host, default: 0] += 1
    }

    /// Ends one hold of the host.
    /// - Returns: the requests that start now.
    package mutating func release(_ host: String) -> [UInt64] {
        guard let count = held[host] else { return [] }
        held[host] = count > 1 ? count - 1 : nil
        return startQueued()
    }

    /// The running requests that could give their slot to the first waiting one if they are idle:
    /// the least urgent first, then the oldest.
    package var preemptible: [UInt64] {
        guard let first = waiting.first(where: { mayStart($0) }) else { return [] }
        return (obstacles(to: first) ?? []).sorted { ($0.priority, $0.id) < ($1.priority, $1.id) }.map(\.id)
    }

    mutating func startQueued() -> [UInt64] {
        guard !queue.isEmpty else { return [] }
        var started: [UInt64] = []
        for entry in waiting where hasRoom(for: entry) {
            queue.removeAll { $0.id == entry.id }
            active.append(entry)
            started.append(entry.id)
        }
        return started
    }

    /// Whether only the limits keep the entry from starting, and neither its host nor the policy.
    func mayStart(_ entry: Entry) -> Bool { held[entry.host] == nil && !entry.isHeld }

    private func hasRoom(for entry: Entry) -> Bool { mayStart(entry) && obstacles(to: entry) == nil }

    /// The running requests of which one has to end before `entry` may start.
    /// - Returns: nil if none has to.
    private func obstacles(to entry: Entry) -> [Entry]? {
        let ofHost = active.filter { $0.host == entry.host }
        let sameHost = ofHost.filter { !$0.isLate && !$0.isHeld && !($0.isYielding && entry.priority == .playing) }
        // A client without a request to the host gets its first one beside those of others.
        let isFirst = entry.priority == .playing && !ofHost.contains { $0.client == entry.client }
        if sameHost.count >= perHost, !isFirst { return sameHost }
        if ofHost.count >= perHost * Self.lateFactor { return ofHost }
        if isForwarding, entry.priority < .playing { return uploadObstacles(to: entry) }
        if let obstacles = obstaclesInAll(to: entry) { return obstacles }
        guard entry.priority < .playing else { return nil }
        let yielding = sameHost.filter { $0.priority < .playing }
        if yielding.count >= max(1, perHost - Self.keptPerHost) { return yielding }
        let allYielding = active.filter { $0.priority < .playing }
        return allYielding.count >= max(1, total - 1) ? allYielding : nil
    }
}
