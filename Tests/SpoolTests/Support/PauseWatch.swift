import Spool
import SpoolCore
import SpoolSystem

/// Keeps the pauses of fetches and downloads, each as the key with the reason.
final class PauseWatch: CacheWatch {
    private let state = Locked<[String]>([])

    func record(_ event: CacheEvent) {}

    func paused(_ key: ResourceKey, because reason: String) { state.withLock { $0.append("\(key): \(reason)") } }

    func downloadFailed(_ key: ResourceKey, because reason: String) {}

    var pauses: [String] { state.withLock { $0 } }
}
