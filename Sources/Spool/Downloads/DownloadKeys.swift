import SpoolCore
import SpoolStore
import SpoolSystem

/// The list of downloads, as the engine below it sees it.
protocol EngineDownloads: Sendable {
    /// Reads the list again, because another process may have changed it. Runs on the index lane.
    func storeChanged()
    /// Runs a finished download again, because its origin has another version. Callable on any
    /// thread.
    func replaced(_ key: ResourceKey)
    /// Ends all transfers, because the cache is closed. Callable on any thread.
    func close()
}

/// The keys of the downloads of a store and of their parts, for threads that may not wait for the
/// index.
final class DownloadKeys: Sendable {
    private struct State {
        var entries: Set<ResourceKey> = []
        /// The parts of presentations, by the keys of their entries.
        var parts: [ResourceKey: Set<ResourceKey>] = [:]
        /// The number of entries that a part belongs to.
        var owners: [ResourceKey: Int] = [:]

        mutating func insert(_ part: ResourceKey, of entry: ResourceKey) {
            if parts[entry, default: []].insert(part).inserted { owners[part, default: 0] += 1 }
        }

        mutating func remove(_ part: ResourceKey, of entry: ResourceKey) {
            guard parts[entry]?.remove(part) != nil else { return }
            let count = owners[part] ?? 1
            owners[part] = count > 1 ? count - 1 : nil
        }
    }

    private let state = Locked(State())

    var isEmpty: Bool { state.withLock { $0.entries.isEmpty } }

    var count: Int { state.withLock { $0.entries.count + $0.owners.count } }

    /// Returns whether a resource is in the list, or a part of an entry.
    func contains(_ key: ResourceKey) -> Bool { state.withLock { $0.entries.contains(key) || $0.owners[key] != nil } }

    /// Returns whether a resource is in the list.
    func isEntry(_ key: ResourceKey) -> Bool { state.withLock { $0.entries.contains(key) } }

    func set(_ key: ResourceKey, isDownload: Bool) {
        state.withLock { state in
            if isDownload { return _ = state.entries.insert(key) }
            state.entries.remove(key)
            for part in state.parts[key] ?? [] { state.remove(part, of: key) }
            state.parts[key] = nil
        }
    }

    /// - Parameter entries: The keys of the list, each with its parts.
    func replace(by entries: [ResourceKey: [ResourceKey]]) {
        state.withLock { state in
            state = State(entries: Set(entries.keys))
            for (entry, parts) in entries { for part in parts { state.insert(part, of: entry) } }
        }
    }

    /// Reads the keys of the list in a store. Runs on the index lane.
    func read(from store: any ResourceStore) throws(StoreError) { replace(by: try store.downloadKeys()) }

    // MARK: Parts

    /// The result of entering a part.
    enum Insertion {
        case inserted
        case isKnown
        /// There is no such entry.
        case noEntry
        /// The store keeps no more parts.
        case full
    }

    /// Enters a part of an entry.
    func insert(part: ResourceKey, of entry: ResourceKey) -> Insertion {
        state.withLock { state in
            guard state.entries.contains(entry) else { return .noEntry }
            guard state.parts[entry]?.contains(part) != true else { return .isKnown }
            guard state.owners.count < StoredDownload.maximumPartCount else { return .full }
            state.insert(part, of: entry)
            return .inserted
        }
    }

    func remove(part: ResourceKey, of entry: ResourceKey) { state.withLock { $0.remove(part, of: entry) } }

    /// The parts of an entry.
    func parts(of entry: ResourceKey) -> Set<ResourceKey> { state.withLock { $0.parts[entry] ?? [] } }

    /// The parts that belong to this entry only.
    func ownParts(of entry: ResourceKey) -> [ResourceKey] {
        state.withLock { state in
            (state.parts[entry] ?? []).filter { state.owners[$0] == 1 && !state.entries.contains($0) }.sorted()
        }
    }
}
