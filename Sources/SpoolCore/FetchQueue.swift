/// Decides which origin requests run at once: in all, for one host, and in which order those that queue start.
///
/// More urgent requests start first, equally urgent ones in the order in which they came. Requests that are less urgent than playing leave
/// one slot of each host, and one in all, free: what plays never queues behind what may play later. A value without locks or closures;
/// `FetchLimiter` carries out what it says.
package struct FetchQueue: Sendable {
    /// One request that runs or waits.
    package struct Entry: Hashable, Sendable {
        package let id: UInt64
        package let host: String
        package fileprivate(set) var priority: ReadPriority
        /// Counts the words of the requester about its priority: a word that comes late is older, and ignored.
        fileprivate var word: UInt64
    }

    private let total: Int
    private let perHost: Int
    /// In the order in which they started.
    package private(set) var active: [Entry] = []
    /// In the order in which they came.
    package private(set) var queue: [Entry] = []
    private var next: UInt64 = 1
    /// Hosts that asked to be left alone, each as often as it asked and was not let go yet.
    private var held: [String: Int] = [:]

    /// - Parameters:
    ///   - total: requests at once, at least 1.
    ///   - perHost: of these, to one host, at least 1.
    package init(total: Int, perHost: Int) {
        self.total = total
        self.perHost = perHost
    }

    /// A request came; it runs if it is in `active` afterwards.
    ///
    /// - Parameter word: as for `prioritized`.
    package mutating func submitted(host: String, priority: ReadPriority, word: UInt64) -> UInt64 {
        let entry = Entry(id: next, host: host, priority: priority, word: word)
        next += 1
        if hasRoom(for: entry) { active.append(entry) } else { queue.append(entry) }
        return entry.id
    }

    /// A request is over or was given up; answers with those that start now. Idempotent.
    package mutating func finished(_ id: UInt64) -> [UInt64] {
        active.removeAll { $0.id == id }
        queue.removeAll { $0.id == id }
        return startQueued()
    }

    /// A request is so urgent from now on; answers with those that start now.
    ///
    /// - Parameter word: grows with each word about one request, which may come out of order.
    package mutating func prioritized(_ id: UInt64, _ priority: ReadPriority, word: UInt64) -> [UInt64] {
        if let index = active.firstIndex(where: { $0.id == id }), active[index].word < word {
            (active[index].priority, active[index].word) = (priority, word)
        }
        if let index = queue.firstIndex(where: { $0.id == id }), queue[index].word < word {
            (queue[index].priority, queue[index].word) = (priority, word)
        }
        return startQueued()
    }

    /// Nothing more starts for a host, until as many calls of `letGo`.
    package mutating func hold(_ host: String) {
        held[host, default: 0] += 1
    }

    /// A pause of the host is over; answers with those that start now.
    package mutating func letGo(_ host: String) -> [UInt64] {
        guard let count = held[host] else { return [] }
        held[host] = count > 1 ? count - 1 : nil
        return startQueued()
    }

    /// Requests that may give their slot to the first that waits, should they be idle: the least urgent first, then the oldest.
    package var preemptible: [UInt64] {
        guard let first = waiting.first(where: { held[$0.host] == nil }) else { return [] }
        return (obstacles(to: first) ?? []).sorted { ($0.priority, $0.id) < ($1.priority, $1.id) }.map(\.id)
    }

    /// Those that queue, the most urgent first.
    private var waiting: [Entry] {
        queue.sorted { $0.priority != $1.priority ? $0.priority > $1.priority : $0.id < $1.id }
    }

    private mutating func startQueued() -> [UInt64] {
        guard !queue.isEmpty else { return [] }
        var started: [UInt64] = []
        for entry in waiting where hasRoom(for: entry) {
            queue.removeAll { $0.id == entry.id }
            active.append(entry)
            started.append(entry.id)
        }
        return started
    }

    private func hasRoom(for entry: Entry) -> Bool {
        held[entry.host] == nil && obstacles(to: entry) == nil
    }

    /// The running requests of which one has to end before the entry may start; nil when none has to.
    private func obstacles(to entry: Entry) -> [Entry]? {
        let sameHost = active.filter { $0.host == entry.host }
        if sameHost.count >= perHost { return sameHost }
        if active.count >= total { return active }
        guard entry.priority < .playing else { return nil }
        let yielding = sameHost.filter { $0.priority < .playing }
        if yielding.count >= max(1, perHost - 1) { return yielding }
        let allYielding = active.filter { $0.priority < .playing }
        return allYielding.count >= max(1, total - 1) ? allYielding : nil
    }
}
