/// The access times of the parts of presentations, by which eviction orders them.
///
/// Eviction removes the resource with the oldest access time first. The access time of a part shows
/// its place: the time of the use of its presentation, less its position in the timeline. The parts
/// of a presentation so go one after the other, from the end of the timeline. A part that its live
/// playlist no longer lists gets the time 0, and goes before everything else.
///
/// The order is a value without clock or disk. Only the access times are stored.
package struct PartOrder: Sendable {
    /// The most playlists that are remembered. A player uses a few at a time. Beyond a limit the one
    /// whose last reading is the oldest is forgotten.
    package static let listLimit = 64
    /// The most memory of all parts, in bytes: some of the longest playlists.
    package static let bytesLimit = 4 * PartKeys.bytesLimit
    /// The most playlists whose multivariant playlist is remembered: 16 renditions for each.
    private static let namedLimit = 16 * listLimit
    /// The most parts that are remembered because no live playlist lists them any more. Their last
    /// bytes may be committed some seconds later.
    package static let unlistedLimit = 1024
    /// The pause after which a use of a presentation is another one, and the time after which its
    /// parts get new access times.
    package static let pause = Nanoseconds.seconds(60)
    /// The length of every timeline in access times. A millisecond is more than a playlist has
    /// parts, and less than the time between two uses.
    private static let span: Int64 = 1_000_000

    /// A number for each time that a playlist was read.
    private typealias Reading = Int

    private struct List {
        let key: ResourceKey
        /// The key of the multivariant playlist, or of the playlist itself.
        let presentation: ResourceKey
        let parts: PartKeys
        let isLive: Bool

        /// The distance of a part from the beginning of the timeline, up to `span`.
        func position(at index: Int) -> Int64 { Int64(index) * PartOrder.span / Int64(parts.count) }
    }

    /// The place of a part in the playlist that lists it.
    private struct Place {
        var reading: Reading
        var index: Int
    }

    private struct Use {
        /// The access time of the beginning of the timeline.
        var base: Timestamp
        var last: Timestamp
    }

    private var lists: [Reading: List] = [:]
    /// The last reading of each playlist.
    private var readings: [ResourceKey: Reading] = [:]
    private var lastReading: Reading = 0
    /// The places of the parts by the hashes of their keys. Of several playlists, the one that was
    /// read last has the part.
    private var places: [Int: Place] = [:]
    /// The multivariant playlists, by the hashes of the keys of the playlists that they name.
    private var presentations: [Int: ResourceKey] = [:]
    private var uses: [ResourceKey: Use] = [:]
    /// The hashes of parts that no live playlist lists any more.
    private var unlisted: Set<Int> = []
    /// The playlists with parts that still get their new access times: the first `count` ones.
    private var owed: [(reading: Reading, count: Int)] = []

    /// Creates an order without playlists.
    package init() {}

    // MARK: Playlists

    /// Takes the playlists that a multivariant playlist names.
    package mutating func named(_ playlists: PartKeys, by presentation: ResourceKey) {
        let playlists = playlists.hashes.prefix(Self.namedLimit)
        if presentations.count + playlists.count > Self.namedLimit { presentations = [:] }
        for playlist in playlists where playlist != PartKeys.hash(of: presentation) { presentations[playlist] = presentation }
    }

    /// Takes the parts of a media playlist.
    ///
    /// - Returns: the parts that no playlist lists any more because the playlist is live.
    package mutating func listed(_ parts: PartKeys, in key: ResourceKey, isLive: Bool) -> [ResourceKey] {
        lastReading += 1
        let reading = lastReading, old = readings.updateValue(reading, forKey: key), before = old.flatMap { lists.removeValue(forKey: $0) }
        for (index, part) in parts.hashes.enumerated() {
            let old = places.updateValue(Place(reading: reading, index: index), forKey: part)
            if let old, old.reading == reading { places[part] = old }
        }
        if !unlisted.isEmpty { unlisted.subtract(parts.hashes) }
        var gone: [(hash: Int, key: ResourceKey)] = []
        for (index, part) in (before?.parts.hashes ?? []).enumerated() where places[part]?.reading == old {
            places[part] = nil
            if isLive, let before { gone.append((part, before.parts[index])) }
        }
        owed = owed.map { $0.reading == old ? (reading, parts.count) : $0 }
        lists[reading] = List(key: key, presentation: presentations[PartKeys.hash(of: key)] ?? key, parts: parts, isLive: isLive)
        while lists.count > Self.listLimit || lists.values.reduce(0, { $0 + $1.parts.heldBytes }) > Self.bytesLimit { forgetOldest() }
        if unlisted.count + gone.count > Self.unlistedLimit { unlisted = [] }
        unlisted.formUnion(gone.prefix(Self.unlistedLimit).map(\.hash))
        return gone.map(\.key).sorted()
    }

    private mutating func forgetOldest() {
        guard let oldest = lists.keys.min(), let list = lists.removeValue(forKey: oldest) else { return }
        readings[list.key] = nil
        for part in list.parts.hashes where places[part]?.reading == oldest { places[part] = nil }
        if !lists.values.contains(where: { $0.presentation == list.presentation }) { uses[list.presentation] = nil }
    }

    /// The playlist that lists a part, and the index of the part.
    private func place(of hash: Int) -> (list: List, index: Int)? {
        places[hash].flatMap { place in lists[place.reading].map { ($0, place.index) } }
    }

    // MARK: Access times

    /// Returns the access time of a resource that was used at `time`.
    package mutating func accessTime(of key: ResourceKey, at time: Timestamp) -> Timestamp {
        let hash = PartKeys.hash(of: key), place = place(of: hash)
        if unlisted.contains(hash) { return Self.unlistedTime }
        guard let list = place?.list ?? readings[key].flatMap({ lists[$0] }), !list.isLive else { return time }
        use(list.presentation, at: time)
        return place.flatMap { placed(list, $0.index) } ?? time
    }

    /// Returns the access time of a part whose bytes were stored just now. Nil for a resource that
    /// is no part, or whose presentation was not used.
    package func storedTime(of key: ResourceKey) -> Timestamp? {
        let hash = PartKeys.hash(of: key)
        if unlisted.contains(hash) { return Self.unlistedTime }
        guard let (list, index) = place(of: hash), !list.isLive else { return nil }
        return placed(list, index)
    }

    /// The access time of a part that no playlist lists any more.
    package static let unlistedTime = Timestamp(nanoseconds: 0)

    private func placed(_ list: List, _ index: Int) -> Timestamp? {
        uses[list.presentation].map { Timestamp(nanoseconds: $0.base.nanoseconds.subtractingSaturated(list.position(at: index))) }
    }

    private mutating func use(_ presentation: ResourceKey, at time: Timestamp) {
        guard var use = uses[presentation] else { return uses[presentation] = Use(base: time, last: time) }
        use.last = max(use.last, time)
        if use.last.nanoseconds.subtractingSaturated(use.base.nanoseconds) >= Self.pause {
            use.base = use.last
            let used = lists.filter { $0.value.presentation == presentation }
            owed.removeAll { used[$0.reading] != nil }
            owed += used.map { ($0.key, $0.value.parts.count) }
        }
        uses[presentation] = use
    }

    /// Removes and returns up to `limit` access times of parts whose presentation was used.
    package mutating func takeOwed(_ limit: Int) -> [ResourceKey: Timestamp] {
        while let (reading, count) = owed.popLast() {
            guard count > 0, let list = lists[reading] else { continue }
            let rest = max(0, count - limit)
            if rest > 0 { owed.append((reading, rest)) }
            let times = (rest..<count).compactMap { index in placed(list, index).map { (list.parts[index], $0) } }
            return Dictionary(times, uniquingKeysWith: max)
        }
        return [:]
    }

    /// Whether the resource is a part of a presentation that was used in the last minute.
    package func isInUse(_ key: ResourceKey, now: Timestamp) -> Bool {
        guard let (list, _) = place(of: PartKeys.hash(of: key)), !list.isLive, let use = uses[list.presentation] else { return false }
        return now.nanoseconds.subtractingSaturated(use.last.nanoseconds) < Self.pause
    }
}
