import Spool
import SpoolCore
import SpoolSystem
import SpoolTestSupport
import Testing

extension DoorWorld {
    /// Adds a resource to the list of downloads, and runs the list. A simulation has one thread,
    /// which cannot wait for the `async` calls of the list.
    func download(_ url: String = DoorWorld.url, fields: HTTPFields = [:]) throws -> ResourceKey {
        let key = try world.cache.key(for: url)
        change { list in
            list.isStarted = true
            _ = list.add(key, url: url, group: "", priority: 0, details: DownloadDetails(requestFields: fields))
            return [key]
        }
        return key
    }

    /// Changes the list, and keeps the entries of the returned keys.
    func change(_ body: @escaping @Sendable (inout DownloadList) -> [ResourceKey]) {
        let isChanged = Locked(false)
        world.cache.downloads.change({ list in if case .success = list { isChanged.withLock { $0 = true } } }, body)
        #expect(run { isChanged.withLock { $0 } })
    }

    /// Whether all bytes of a download are stored and match their checks.
    func isDownloaded(_ key: ResourceKey) -> Bool { world.cache.downloads.isFinished(key) }

    /// The number of stored bytes of a resource.
    func storedBytes(of key: ResourceKey) -> Int64 { world.cache.storedNow(of: key)?.totalBytes ?? 0 }
}
