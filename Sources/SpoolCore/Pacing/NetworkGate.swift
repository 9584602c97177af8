/// Decides which fetches the policy and the conditions of the network hold back.
///
/// A value without locks, clocks and closures. `FetchLimiter` carries out its decisions.
///
/// ```
///            entered, refused                       conditions, policy or demand permit
///   (none) ────────────────────► held ◄──────────────────────────────────────────► free
///      └───────────────────────────────────────────────────────────────────────────►
/// ```
package struct NetworkGate: Sendable {
    /// A change of one fetch.
    package struct Change: Hashable, Sendable {
        /// The number of the fetch.
        package let id: UInt64
        /// The reason why the fetch is held, or nil if it may run.
        package let refusal: NetworkRefusal?
        /// A number that grows with each change. Changes that arrive out of order have a smaller
        /// number, and are ignored.
        package let number: UInt64
    }

    private struct Fetch {
        var demand: FetchDemand
        /// The sequence number of the last change of `demand`.
        var sequence: UInt64
        var refusal: NetworkRefusal?
    }

    /// The policy of the cache.
    package private(set) var policy: NetworkPolicy
    /// The last conditions that were reported.
    package private(set) var conditions = NetworkConditions()
    /// The most requests below `.playing` that run. The others pause for players.
    private var allowance = Int.max
    private var fetches: [UInt64: Fetch] = [:]
    private var changes: UInt64 = 0

    /// Creates a gate without fetches.
    package init(policy: NetworkPolicy = NetworkPolicy()) {
        self.policy = policy
    }

    /// Adds a fetch.
    ///
    /// - Parameter sequence: The sequence number of `demand`, as for `demanded`.
    /// - Returns: The change if the fetch is held from the beginning.
    package mutating func entered(_ id: UInt64, _ demand: FetchDemand, sequence: UInt64) -> Change? {
        fetches[id] = Fetch(demand: demand, sequence: sequence, refusal: nil)
        return judge(id)
    }

    /// Removes a fetch that is over. Idempotent.
    package mutating func left(_ id: UInt64) { fetches[id] = nil }

    /// Changes the demand of a fetch. A change with a smaller sequence number than the last is
    /// late, and is ignored.
    package mutating func demanded(_ id: UInt64, _ demand: FetchDemand, sequence: UInt64) -> Change? {
        guard let fetch = fetches[id], fetch.sequence < sequence else { return nil }
        fetches[id]?.demand = demand
        fetches[id]?.sequence = sequence
        return judge(id)
    }

    /// Takes the conditions that a monitor reports.
    /// - Returns: The fetches that are held or released, the most urgent and oldest first.
    package mutating func conditionsChanged(_ conditions: NetworkConditions) -> [Change] {
        guard conditions != self.conditions else { return [] }
        self.conditions = conditions
        return judgeAll()
    }

    /// Takes another policy.
    /// - Returns: The fetches that are held or released, the most urgent and oldest first.
    package mutating func policyChanged(_ policy: NetworkPolicy) -> [Change] {
        guard policy != self.policy else { return [] }
        self.policy = policy
        return judgeAll()
    }

    /// Lets at most so many fetches below `.playing` run, the more urgent and older ones first. Due
    /// when the number changes, and when a fetch has left.
    /// - Returns: The fetches that are held or released.
    package mutating func yieldChanged(_ allowance: Int) -> [Change] {
        guard allowance != self.allowance || allowance < .max else { return [] }
        self.allowance = allowance
        return judgeAll()
    }

    /// The number of fetches below `.playing`.
    package var yieldingCount: Int { fetches.values.count { $0.demand.yieldsToPlayers } }

    /// The networks that the requests of a fetch may use.
    package func access(of id: UInt64) -> NetworkAccess {
        fetches[id]?.demand.access(under: policy) ?? NetworkAccess()
    }

    /// Whether a new fetch with this demand would be held.
    package func refuses(_ demand: FetchDemand) -> Bool {
        refusal(of: demand, besides: yieldingRunning(without: nil)) != nil
    }

    private func yieldingRunning(without id: UInt64?) -> Int {
        guard allowance < .max else { return 0 }
        return fetches.count { $0.key != id && $0.value.demand.yieldsToPlayers && $0.value.refusal == nil }
    }

    /// - Parameter count: The number of fetches below `.playing` that go before this one.
    private func refusal(of demand: FetchDemand, besides count: Int) -> NetworkRefusal? {
        demand.access(under: policy).refusal(under: conditions) ?? (demand.yieldsToPlayers && count >= allowance ? .playback : nil)
    }

    private mutating func judgeAll() -> [Change] {
        var running = 0
        let ordered = fetches.sorted { a, b in
            a.value.demand.priority == b.value.demand.priority ? a.key < b.key : a.value.demand.priority > b.value.demand.priority
        }
        return ordered.compactMap { id, fetch in
            let refusal = refusal(of: fetch.demand, besides: running)
            if refusal == nil, fetch.demand.yieldsToPlayers { running += 1 }
            return change(id, refusal)
        }
    }

    private mutating func judge(_ id: UInt64) -> Change? {
        guard let fetch = fetches[id] else { return nil }
        return change(id, refusal(of: fetch.demand, besides: yieldingRunning(without: id)))
    }

    private mutating func change(_ id: UInt64, _ refusal: NetworkRefusal?) -> Change? {
        guard let fetch = fetches[id], refusal != fetch.refusal else { return nil }
        fetches[id]?.refusal = refusal
        changes += 1
        return Change(id: id, refusal: refusal, number: changes)
    }
}
