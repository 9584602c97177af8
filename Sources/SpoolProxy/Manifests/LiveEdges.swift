import SpoolCore
import SpoolManifests

/// The newest resources of live playlists: the last segments and parts, and those that are
/// announced.
///
/// The origin may hold back the answer about an announced one until it exists, a failure means
/// little, and a resource that parts address by byte range may have grown since it was stored.
struct LiveEdges {
    /// The place of a resource at the edge of a playlist.
    struct Edge: Equatable {
        fileprivate var playlist: URLHash
        /// The target duration of the playlist.
        var targetSeconds: Int64
        /// Whether the playlist only announces the resource, so that its origin may hold the answer
        /// back until it exists.
        var isAnnounced = false
    }

    /// The most resources of one playlist that count.
    static let resourcesOfPlaylist = 8
    /// The most references of a playlist that are looked at.
    private static let references = 64
    /// The most playlists.
    private static let capacity = 256

    /// The time for which a live playlist was followed without a gap.
    private struct Follow {
        /// The arrival of the first version, and of the last one.
        var since: Timestamp
        var last: Timestamp
        /// The number of the first segment in the last version.
        var sequence: Int64?
        var targetDuration: Nanoseconds
    }

    private var edges: [URLHash: Edge] = [:]
    /// The live playlists that are followed, by their URLs without query.
    private var follows = BoundedTable<URLHash, Follow>(capacity: capacity, bytes: capacity * MemoryLayout<Follow>.stride) { _, _ in
        MemoryLayout<Follow>.stride
    }
    /// The resources at the edge of each playlist, by the playlist's URL without query: an answer
    /// to delivery directives is of the same playlist.
    private var resources: [URLHash: [URLHash]] = [:]

    /// The place of a resource, or nil when it is at no edge.
    func edge(of url: String) -> Edge? { edges.isEmpty ? nil : edges[URLHash(url)] }

    /// Notes that a client reads a version of a live playlist that arrived or was confirmed at
    /// `time`.
    mutating func followed(_ url: String, at time: Timestamp, _ entry: ManifestMemo.Entry) {
        guard case .atMost(let milliseconds) = entry.lifetime else { return }
        let playlist = URLHash(String(url.prefix { $0 != "?" }))
        let target = Nanoseconds.milliseconds(milliseconds).multipliedSaturated(by: 2)
        var follow = Follow(since: time, last: time, sequence: entry.mediaSequence, targetDuration: target)
        if let before = follows[playlist] {
            let gap = time.nanoseconds.subtractingSaturated(before.last.nanoseconds)
            let goesBack = entry.mediaSequence.map { $0 < before.sequence ?? .min } ?? false
            if gap <= target.multipliedSaturated(by: 2), !goesBack { follow.since = before.since }
            follow.last = max(time, before.last)
        }
        follows[playlist] = follow
    }

    /// The time since which parts of a live playlist are those that it means: they arrived within a
    /// target duration, or since the playlist has been followed.
    func confirmedSince(_ url: String, now: Timestamp) -> Timestamp? {
        guard let follow = follows[URLHash(String(url.prefix { $0 != "?" }))] else { return nil }
        let recent = Timestamp(nanoseconds: now.nanoseconds.subtractingSaturated(follow.targetDuration))
        // A gap that lasts until now counts as one.
        let gap = now.nanoseconds.subtractingSaturated(follow.last.nanoseconds)
        return gap > follow.targetDuration.multipliedSaturated(by: 2) ? recent : min(recent, follow.since)
    }

    /// Takes the newest version of a playlist. One that is not live has no edge.
    mutating func update(_ url: String, _ contents: ManifestContents) {
        let playlist = URLHash(String(url.prefix { $0 != "?" }))
        for url in resources.removeValue(forKey: playlist) ?? [] where edges[url]?.playlist == playlist { edges[url] = nil }
        guard contents.kind == .hlsMedia, case .atMost(let milliseconds) = contents.lifetime else { return }
        if resources.count >= Self.capacity { (edges, resources) = ([:], [:]) }
        // The lifetime is half a target duration.
        var edge = Edge(playlist: playlist, targetSeconds: max(1, milliseconds / 500))
        for reference in contents.references.suffix(Self.references).reversed() where reference.role.isOfEdge {
            guard resources[playlist, default: []].count < Self.resourcesOfPlaylist else { break }
            guard let url = reference.url.map({ URLHash($0) }), edges[url]?.playlist != playlist else { continue }
            edge.isAnnounced = reference.role == .hint
            edges[url] = edge
            resources[playlist, default: []].append(url)
        }
    }
}

extension ManifestReference.Role {
    fileprivate var isOfEdge: Bool { self == .segment || self == .part || self == .hint }
}
