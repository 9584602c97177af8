import SpoolCore
import SpoolSystem

/// The keys of the downloads of a store, for threads that may not wait for the index.
final class DownloadKeys: Sendable {
    private let keys = Locked<Set<ResourceKey>>([])

    var isEmpty: Bool { keys.withLock { $0.isEmpty } }

    var count: Int { keys.withLock { $0.count } }

    func contains(_ key: ResourceKey) -> Bool { keys.withLock { $0.contains(key) } }

    func set(_ key: ResourceKey, isDownload: Bool) {
        keys.withLock { keys in
            if isDownload { keys.insert(key) } else { keys.remove(key) }
        }
    }

    func replace(by new: [ResourceKey]) { keys.withLock { $0 = Set(new) } }
}
