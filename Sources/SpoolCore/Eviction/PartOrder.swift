/// The access times of the parts of presentations, by which eviction orders them.
///
/// Eviction removes the resource with the oldest access time first. The access time of a part shows
/// its place: the time of the use of its presentation, less its position in the timeline. The parts
/// of a presentation so go one after the other, from the end of the timeline. A part that its live
/// playlist no longer lists gets the time 0, and goes before everything else.
///
/// The order is a value without clock or disk. Only the access times are stored.
package struct PartOrder: Sendable {
    /// The most playlists that are remembered. A player uses a few at a time. Beyond the limit the
    /// one that was read first is forgotten.
    package static let listLimit = 64
    /// The most parts of a playlist that are remembered: a film of 18 hours in segments of 4 s.
    package static let partLimit = 16_384
    /// The most parts that are remembered because no live playlist lists them any more. Their last
    /// bytes may be committed some seconds later.
    package static let unlistedLimit = 1024
    /// The pause after which a use of a presentation is another one, and the time after which its
    /// parts get new access times.
    package static let pause = Nanoseconds.seconds(60)
    /// The length of every timeline in access times. A millisecond is more than a playlist has
    /// parts, and less than the time between two uses.
    private static let span: Int64 = 1_000_000

    private struct List {
        /// The key of the multivariant playlist, or of the playlist itself.
        var presentation: ResourceKey
        /// The distance of each part from the beginning of the timeline, up to `span`.
        var positions: [ResourceKey: Int64]
        var isLive: Bool
    }

    private struct Use {
        /// The access time of the beginning of the timeline.
        var base: Timestamp
        var last: Timestamp
    }

    private var lists: [ResourceKey: List] = [:]
    /// The keys of `lists`, in the order in which the lists were read.
    private var listOrder: [ResourceKey] = []
    /// The playlist that names a part; of several, the one that was read last.
    private var owners: [ResourceKey: ResourceKey] = [:]
    /// The multivariant playlists, by the playlists that they name.
    private var presentations: [ResourceKey: ResourceKey] = [:]
    private var uses: [ResourceKey: Use] = [:]
    private var unlisted: Set<ResourceKey> = []
    /// The parts that still get their new access times, by their presentation.
    private var owed: [(presentation: ResourceKey, parts: [(key: ResourceKey, position: Int64)])] = []

    /// Creates an order without playlists.
    package init() {}

    // MARK: Playlists

    /// Takes the playlists that a multivariant playlist names.
    package mutating func named(_ playlists: [ResourceKey], by presentation: ResourceKey) {
        if presentations.count + playlists.count > Self.listLimit * 16 { presentations = [:] }
        for playlist in playlists.prefix(Self.listLimit * 16) where playlist != presentation { presentations[playlist] = presentation }
    }

    /// Takes the parts of a media playlist, in the order of the timeline.
    ///
    /// - Returns: the parts that no playlist lists any more because the playlist is live.
    package mutating func listed(_ parts: [ResourceKey], in key: ResourceKey, isLive: Bool) -> [ResourceKey] {
        let parts = parts.prefix(Self.partLimit)
        var positions: [ResourceKey: Int64] = [:]
        positions.reserveCapacity(parts.count)
        for (index, part) in parts.enumerated() where positions[part] == nil {
            positions[part] = Int64(index) * Self.span / Int64(parts.count)
        }
        let before = lists[key]
        var gone: [ResourceKey] = []
        for part in before?.positions.keys.map(\.self) ?? [] where positions[part] == nil && owners[part] == key {
            owners[part] = nil
            gone.append(part)
        }
        for part in positions.keys {
            owners[part] = key
            unlisted.remove(part)
        }
        if before == nil { remember(key) }
        lists[key] = List(presentation: presentations[key] ?? key, positions: positions, isLive: isLive)
        guard isLive else { return [] }
        if unlisted.count + gone.count > Self.unlistedLimit { unlisted = [] }
        unlisted.formUnion(gone.prefix(Self.unlistedLimit))
        return gone.sorted()
    }

    private mutating func remember(_ key: ResourceKey) {
        listOrder.append(key)
        guard listOrder.count > Self.listLimit, let oldest = listOrder.first else { return }
        listOrder.removeFirst()
        guard let list = lists.removeValue(forKey: oldest) else { return }
        for part in list.positions.keys where owners[part] == oldest { owners[part] = nil }
        if !lists.values.contains(where: { $0.presentation == list.presentation }) { uses[list.presentation] = nil }
    }

    // MARK: Access times

    /// Returns the access time of a resource that was used at `time`.
    package mutating func accessTime(of key: ResourceKey, at time: Timestamp) -> Timestamp {
        if unlisted.contains(key) { return Self.unlistedTime }
        guard let list = lists[owners[key] ?? key], !list.isLive else { return time }
        use(list.presentation, at: time)
        return owners[key] == nil ? time : placed(list, key) ?? time
    }

    /// Returns the access time of a part whose bytes were stored just now. Nil for a resource that
    /// is no part, or whose presentation was not used.
    package func storedTime(of key: ResourceKey) -> Timestamp? {
        if unlisted.contains(key) { return Self.unlistedTime }
        guard let list = owners[key].flatMap({ lists[$0] }), !list.isLive else { return nil }
        return placed(list, key)
    }

    /// The access time of a part that no playlist lists any more.
    package static let unlistedTime = Timestamp(nanoseconds: 0)

    private func placed(_ list: List, _ key: ResourceKey) -> Timestamp? {
        guard let position = list.positions[key], let base = uses[list.presentation]?.base else { return nil }
        return Timestamp(nanoseconds: base.nanoseconds.subtractingSaturated(position))
    }

    private mutating func use(_ presentation: ResourceKey, at time: Timestamp) {
        guard var use = uses[presentation] else { return uses[presentation] = Use(base: time, last: time) }
        use.last = max(use.last, time)
        if use.last.nanoseconds.subtractingSaturated(use.base.nanoseconds) >= Self.pause {
            use.base = use.last
            let parts = lists.values.filter { $0.presentation == presentation }.flatMap { list in
                list.positions.map { (key: $0.key, position: $0.value) }
            }
            owed.removeAll { $0.presentation == presentation }
            owed.append((presentation, parts))
        }
        uses[presentation] = use
    }

    /// Removes and returns up to `limit` access times of parts whose presentation was used.
    package mutating func takeOwed(_ limit: Int) -> [ResourceKey: Timestamp] {
        guard let (presentation, all) = owed.popLast() else { return [:] }
        guard let base = uses[presentation]?.base else { return [:] }
        var parts = all
        let taken = parts.suffix(limit)
        parts.removeLast(taken.count)
        if !parts.isEmpty { owed.append((presentation, parts)) }
        let times = taken.map { ($0.key, Timestamp(nanoseconds: base.nanoseconds.subtractingSaturated($0.position))) }
        return Dictionary(times, uniquingKeysWith: max)
    }

    /// Whether the resource is a part of a presentation that was used in the last minute.
    package func isInUse(_ key: ResourceKey, now: Timestamp) -> Bool {
        guard let list = owners[key].flatMap({ lists[$0] }), !list.isLive, let use = uses[list.presentation] else { return false }
        return now.nanoseconds.subtractingSaturated(use.last.nanoseconds) < Self.pause
    }
}
