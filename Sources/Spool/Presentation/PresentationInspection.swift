import SpoolCore
import SpoolManifests
import SpoolStore

/// Finds out what is stored of a presentation, without the network.
///
/// The manifests are read on a data lane, and the parts are looked up on the index lane, some
/// hundred in one job, so that other jobs get their turn in between.
struct PresentationInspection: Sendable {
    typealias Done = Completion<PresentationInventory?>

    let cache: MediaCache
    /// Called once, on a lane. The result is nil unless the manifest is stored as a whole.
    let done: Done

    /// The parts that one job on the index lane looks up.
    private static let partsAtOnce = 256
    /// The most parts of all renditions together. A day of two-second segments in twenty renditions
    /// is below it.
    static let maxParts = 1 << 20

    /// The inspection so far. One object, because a copy for each job would cost the square of the
    /// number of renditions.
    fileprivate final class Walk: @unchecked Sendable {
        // Safe to share: one job at a time uses it, and passes it on to the next one.
        var inventory: PresentationInventory
        var parts: ArraySlice<StreamPart>
        /// The index of the rendition that the parts belong to, or nil for those of all renditions.
        var track: Int?
        /// The playlist of that rendition.
        var playlist: String?
        /// The renditions whose playlist is done. Another one with that playlist has the same parts.
        var known: [String: PresentationInventory.Track] = [:]
        /// The keys that were looked up without success.
        var missing: Set<ResourceKey> = []
        var partCount = 0

        /// Begins with the parts that belong to all renditions.
        init(_ inventory: PresentationInventory, _ parts: [StreamPart]) { (self.inventory, self.parts) = (inventory, parts[...]) }
    }

    // MARK: The manifest

    /// Begins with the manifest of this key.
    func start(_ key: ResourceKey) {
        cache.status(of: key) { $0.or(done, read) }
    }

    private func read(_ status: ResourceStatus?) {
        guard let status, ManifestSuspicion(contentType: status.representation.contentType, url: status.url) != .none else {
            return done(.success(nil))
        }
        StoredManifest.read(status, from: cache, variables: [:]) { result in
            result.or(done) { manifest in
                guard let manifest else { return done(.success(nil)) }
                let inventory = PresentationInventory(manifest: status, text: manifest.text, outline: manifest.outline)
                let shared = [StreamPart(url: manifest.text.url)] + manifest.outline.sharedParts
                inspectNext(Walk(inventory, shared))
            }
        }
    }

    // MARK: Renditions

    /// Inspects the parts that are left, or with the rendition behind those that are done.
    ///
    /// A loop, because a manifest may have thousands of renditions without parts.
    private func inspectNext(_ walk: Walk) {
        while walk.parts.isEmpty {
            walk.endTrack()
            let index = walk.inventory.tracks.count
            guard index < walk.inventory.outline.renditions.count else { return done(.success(walk.inventory)) }
            let rendition = walk.inventory.outline.renditions[index]
            walk.beginTrack(rendition.playlist)
            guard let playlist = rendition.playlist else {
                walk.begin(rendition.parts)
                continue
            }
            guard walk.known[playlist] == nil, let key = cache.presentations.key(of: playlist) else { continue }
            return readPlaylist(key, walk)
        }
        lookUp(walk)
    }

    private func readPlaylist(_ key: ResourceKey, _ walk: Walk) {
        cache.status(of: key) { result in
            result.or(done) { status in
                if let status { read(status, walk) } else { inspectNext(walk) }
            }
        }
    }

    /// Reads the playlist of a rendition.
    private func read(_ status: ResourceStatus, _ walk: Walk) {
        walk.inventory.add(status)
        StoredManifest.read(status, from: cache, variables: walk.inventory.outline.variables) { result in
            switch result {
            case .failure(let error): return done(.failure(error))
            case .success(let manifest?) where !manifest.outline.isMultivariant:
                walk.inventory.outline.isLive = walk.inventory.outline.isLive || manifest.outline.isLive
                walk.begin(
                    [StreamPart(url: status.url), StreamPart(url: manifest.text.url)] + manifest.outline.renditions.flatMap(\.parts))
            case .success: break
            }
            inspectNext(walk)
        }
    }

    // MARK: Parts

    private func lookUp(_ walk: Walk) {
        guard walk.partCount <= Self.maxParts else {
            let reason = "\(walk.inventory.manifest.url) lists more than \(Self.maxParts) parts; use its resources one by one"
            return done(.failure(CacheError(.unsupportedURL, reason, key: walk.inventory.manifest.key)))
        }
        var keyed: [(StreamPart, ResourceKey)] = []
        for part in walk.parts.prefix(Self.partsAtOnce) {
            if let key = cache.presentations.key(of: part.url) { keyed.append((part, key)) }
        }
        let wanted = Set(keyed.map(\.1)).filter { walk.inventory.members[$0] == nil && !walk.missing.contains($0) }
        let live = cache.engine.liveStatus(of: wanted)
        cache.onIndexLane(
            walk.inventory.manifest.key,
            { [keyed] (result: Result<[ResourceStatus], CacheError>) in
                result.or(done) { found in
                    walk.take(found, of: wanted, keyed, count: Self.partsAtOnce)
                    inspectNext(walk)
                }
            }
        ) { [store = cache.store] () throws(StoreError) in
            var found: [ResourceStatus] = []
            for key in wanted.sorted() {
                if let status = ResourceStatus(stored: try store.lookup(key), live: live[key]) { found.append(status) }
            }
            return found
        }
    }
}

extension PresentationInspection.Walk {
    fileprivate func beginTrack(_ playlist: String?) {
        inventory.tracks.append(playlist.flatMap { known[$0] } ?? PresentationInventory.Track())
        (track, self.playlist) = (inventory.tracks.count - 1, playlist)
    }

    fileprivate func endTrack() {
        if let track, let playlist { known[playlist] = inventory.tracks[track] }
        (track, playlist) = (nil, nil)
    }

    /// Begins with the parts of a rendition.
    fileprivate func begin(_ parts: [StreamPart]) {
        var seen = Set<StreamPart>()
        self.parts = parts.filter { seen.insert($0).inserted }[...]
        partCount += self.parts.count
        if let track, !parts.isEmpty { inventory.tracks[track].partCount = self.parts.count }
    }

    /// Takes the stored resources of the first `count` parts, and counts those parts.
    fileprivate func take(
        _ found: [ResourceStatus], of wanted: Set<ResourceKey>, _ keyed: [(StreamPart, ResourceKey)], count: Int
    ) {
        for status in found { inventory.add(status) }
        missing.formUnion(wanted.subtracting(found.map(\.key)))
        if let track { inventory.tracks[track].storedPartCount += keyed.count { inventory.hasPart($0.0, $0.1) } }
        parts = parts.dropFirst(count)
    }
}

extension Engine {
    /// The states of the sessions of some keys.
    fileprivate func liveStatus(of keys: Set<ResourceKey>) -> [ResourceKey: ResourceStatus.Live] {
        let sessions = sessions.withLock { table in keys.compactMap { table.peek($0) } }
        return Dictionary(sessions.map { ($0.key, $0.liveStatus) }, uniquingKeysWith: { first, _ in first })
    }
}
