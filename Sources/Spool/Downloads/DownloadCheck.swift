import SpoolCore
import SpoolStore
import SpoolSystem

/// Compares all stored bytes of a finished download with their checks: those of a resource, or those
/// of all parts of a presentation, one after the other.
final class DownloadCheck: Sendable {
    /// The sum of a check.
    struct Sum: Sendable {
        /// The stored bytes, those of further parts of the same files included.
        var storedBytes: Int64 = 0
    }

    private struct State {
        var remaining: [ResourceKey]
        var isOver = false
    }

    private let cache: MediaCache
    private let key: ResourceKey
    private let done: Completion<Sum>
    private let state: Locked<State>

    /// - Parameters:
    ///   - key: The key of the download. Its resource must be stored as a whole.
    ///   - parts: The other resources of a presentation.
    ///   - done: Called once, on a lane.
    init(_ cache: MediaCache, _ key: ResourceKey, parts: Set<ResourceKey>, _ done: @escaping Completion<Sum>) {
        self.cache = cache
        self.key = key
        self.done = done
        state = Locked(State(remaining: parts.sorted() + [key]))
    }

    /// Enters the received bytes into the index, and begins.
    func start() { cache.enterReceived { [self] _ in next() } }

    /// Ends the check without a result.
    func cancel() { state.withLock { $0.isOver = true } }

    private func next() {
        let (key, isOver) = state.withLock { ($0.remaining.popLast(), $0.isOver) }
        if isOver { return }
        guard let key else { return sum() }
        cache.verify(key, isRepairing: true, progress: { _ in }) { [self] found in
            do throws(CacheError) {
                guard let damaged = try found.get()?.damaged.totalBytes, damaged == 0 else { throw incomplete(key) }
                next()
            } catch {
                end(.failure(error))
            }
        }
    }

    private func sum() {
        cache.onIndexLane(
            key,
            { [self] (found: Result<(StoredResource?, Int64), CacheError>) in
                do throws(CacheError) {
                    let (resource, bytes) = try found.get()
                    // Without a known length, the next process could not see that nothing is missing.
                    guard let resource, resource.representation.length == resource.spans.totalBytes else { throw incomplete(key) }
                    end(.success(Sum(storedBytes: bytes)))
                } catch {
                    end(.failure(error))
                }
            }
        ) { [cache, key] () throws(StoreError) in (try cache.store.lookup(key), try cache.store.storedBytes(ofDownload: key)) }
    }

    /// Returns the error of a resource of which bytes are missing.
    private func incomplete(_ key: ResourceKey) -> CacheError {
        if let reason = cache.engine.liveSession(of: key)?.liveStatus.passReason {
            return CacheError(.notStored, "\(key) was fetched, and is not stored: \(reason)", key: key)
        }
        return CacheError(.originMalformed, "bytes are missing after the check, and are fetched again", key: key)
    }

    private func end(_ result: Result<Sum, CacheError>) {
        let isFirst = state.withLock { !exchange(&$0.isOver, with: true) }
        if isFirst { done(result) }
    }
}
