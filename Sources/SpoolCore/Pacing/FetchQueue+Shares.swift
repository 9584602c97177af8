// The share of each client, and what becomes of slow requests while others wait.

extension FetchQueue {
    /// A look at a running request.
    package struct Look: Hashable, Sendable {
        /// The number of the request.
        package var id: UInt64
        /// When it started.
        package var start: MonotonicInstant
        /// The bytes that it has moved since then.
        package var bytes: Int64
        /// Whether its client could move more: the client sends a body, or does not take the bytes
        /// that came. Only such a request may be ended.
        package var isClientsTurn: Bool

        /// Creates a look at one request.
        package init(id: UInt64, start: MonotonicInstant, bytes: Int64, isClientsTurn: Bool = false) {
            (self.id, self.start, self.bytes, self.isClientsTurn) = (id, start, bytes, isClientsTurn)
        }
    }

    /// The effect of a look.
    package struct Verdict: Hashable, Sendable {
        /// The requests that start now.
        package var started: [UInt64]
        /// The request to end, or nil for none.
        package var ended: UInt64?

        /// Creates an effect, none by default.
        package init(started: [UInt64] = [], ended: UInt64? = nil) {
            (self.started, self.ended) = (started, ended)
        }
    }

    /// The requests of one client that count for others: a quarter of the slots, and at least one.
    /// Four clients share all slots, and a client without any request gets its first at once.
    package var share: Int { max(1, total / 4) }

    /// The most requests of one queue at once, slow ones and those beyond a client's share
    /// included.
    package var ceiling: Int { Self.ceiling(total: total) }

    /// The same number for a queue with `total` slots. Half as many again make room for several
    /// clients beside one that has taken all slots.
    package static func ceiling(total: Int) -> Int { total + max(1, total / 2) }

    /// The most requests at once, with those of clients that had none. Bounds the connections.
    package static func mostRequests(total: Int) -> Int { ceiling(total: total) + max(1, total / 4) }

    /// The time for which a request waits at the ceiling before a quiet one of another client ends:
    /// 5 s. A burst of short requests is over by then.
    package static let longestWait = Nanoseconds.seconds(5)

    /// Whether a request waits because the slots are taken. Only then is a look of use. Uploads
    /// leave one slot to requests that are whole.
    package var isFull: Bool { active.count >= max(1, total - 1) && waiting.contains { mayStart($0) } }

    /// Takes looks at the running requests. Due every `SlotUse.lookInterval` while `isFull`.
    ///
    /// - A slow request loses its slot, and has it again once it is fast.
    /// - If a request has waited for `longestWait` at the ceiling, the client with most requests
    ///   loses the one that has been quiet for longest. It is never a request of the waiting
    ///   client, and never one whose client takes everything that the origin sends.
    package mutating func looked(_ looks: [Look], now: MonotonicInstant) -> Verdict {
        let looks = Dictionary(looks.map { ($0.id, $0) }) { first, _ in first }
        for index in active.indices {
            guard let look = looks[active[index].id] else { continue }
            var use = active[index].use ?? SlotUse(since: look.start)
            use.looked(look.bytes, now: now)
            active[index].use = use
        }
        let started = startQueued()
        for index in queue.indices where queue[index].waitingSince == nil { queue[index].waitingSince = now }
        let late = waiting.first { mayStart($0) && now - ($0.waitingSince ?? now) >= Self.longestWait }
        return Verdict(started: started, ended: late.flatMap { idleRequest(besides: $0, looks, now: now) })
    }

    /// Returns the quiet request that has to end before `entry` may start.
    private func idleRequest(besides entry: Entry, _ looks: [UInt64: Look], now: MonotonicInstant) -> UInt64? {
        guard let obstacles = ceilingObstacles(to: entry) else { return nil }
        // Clients without a name are programs of this machine, which nothing tells apart.
        let quiet = obstacles.filter { other in
            other.use?.isQuiet == true && looks[other.id]?.isClientsTurn == true && (entry.client == nil || other.client != entry.client)
        }
        var counts = Dictionary(obstacles.map { ($0.client, 1) }, uniquingKeysWith: +)
        if entry.client != nil { counts[entry.client] = nil }
        let most = counts.values.max()
        return quiet.filter { counts[$0.client] == most }.min { ($0.use?.quietSince ?? now) < ($1.use?.quietSince ?? now) }?.id
    }

    /// The requests of which one has to end before `entry` may start, because connections are
    /// bounded. Nil if there are few enough.
    ///
    /// One client leaves a share of the ceiling to others. A client without any request may pass
    /// the ceiling by one, as long as at most a share of clients do.
    private func ceilingObstacles(to entry: Entry) -> [Entry]? {
        let own = active.filter { $0.client == entry.client }
        if own.count >= ceiling - share { return own }
        return active.count >= (own.isEmpty ? ceiling + share : ceiling) ? active : nil
    }

    /// The running uploads of which one has to end, or lose its slot, before an upload may start.
    /// Nil if there is a slot.
    ///
    /// Uploads that are not whole leave one slot to requests that are, and half a share of what one
    /// client may have at the ceiling. A slow upload counts for the ceiling only. A client without
    /// any request gets its first one at once, below the ceiling.
    func uploadObstacles(to entry: Entry) -> [Entry]? {
        if active.count >= ceiling { return active }
        guard active.contains(where: { $0.client == entry.client }) else { return nil }
        let uploads = active.filter { $0.priority < .playing }
        if uploads.count >= ceiling - share - share / 2 { return uploads }
        return uploads.filter { $0.use?.isSlow != true }.count >= max(1, total - 1) ? uploads : nil
    }

    /// The running requests of which one has to end, or lose its slot, before `entry` may start.
    /// Other hosts count as well as its own. Nil if there is a slot.
    func obstaclesInAll(to entry: Entry) -> [Entry]? {
        guard active.count >= total else { return nil }
        // Only requests for playback run beside slow ones.
        guard entry.priority == .playing else { return active }
        if let obstacles = ceilingObstacles(to: entry) { return obstacles }
        guard active.contains(where: { $0.client == entry.client }) else { return nil }
        var counts: [[UInt8]?: Int] = [:]
        let counting = active.filter { other in
            guard other.use?.isSlow != true else { return false }
            let count = counts[other.client, default: 0] + 1
            counts[other.client] = count
            return other.client == entry.client || count <= share
        }
        return counting.count >= total ? counting : nil
    }

    /// The order in which queued requests start: the most urgent first; of equally urgent ones that
    /// of the client with the fewest requests, running or before it in the queue; then the oldest.
    var waiting: [Entry] {
        let turns = self.turns()
        return queue.indices.sorted { first, second in
            let (a, b) = (queue[first], queue[second])
            if a.priority != b.priority { return a.priority > b.priority }
            return turns[first] == turns[second] ? a.id < b.id : turns[first] < turns[second]
        }.map { queue[$0] }
    }

    /// The number of requests that each queued one lets its client have.
    private func turns() -> [Int] {
        guard !queue.allSatisfy({ $0.client == queue.first?.client }) else { return Array(repeating: 0, count: queue.count) }
        let running = Dictionary(active.map { ($0.client, 1) }, uniquingKeysWith: +)
        var queued: [[UInt8]?: [ReadPriority: Int]] = [:]
        return queue.map { entry in
            let before = queued[entry.client]?[entry.priority] ?? 0
            queued[entry.client, default: [:]][entry.priority] = before + 1
            return running[entry.client, default: 0] + before
        }
    }
}
