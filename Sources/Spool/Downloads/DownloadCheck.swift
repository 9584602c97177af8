import SpoolCore
import SpoolStore
import SpoolSystem

/// Compares all stored bytes of a finished download with their checks: those of a resource, or those
/// of all parts of a presentation, one after the other. Each must have all bytes that the download
/// needs.
final class DownloadCheck: Sendable {
    /// The sum of a check.
    struct Sum: Sendable {
        /// The stored bytes, those of further parts of the same files included.
        var storedBytes: Int64 = 0
    }

    private struct State {
        /// The resources to check, each with the bytes that it must have.
        var remaining: [(key: ResourceKey, needed: ByteRangeSet)]
        var isOver = false
    }

    private let cache: MediaCache
    private let key: ResourceKey
    private let done: Completion<Sum>
    private let state: Locked<State>

    /// - Parameters:
    ///   - key: The key of the download. Its resource must be stored as a whole.
    ///   - parts: The other resources of a presentation, each with the bytes that it must have.
    ///   - done: Called once, on a lane.
    init(_ cache: MediaCache, _ key: ResourceKey, parts: [ResourceKey: ByteRangeSet], _ done: @escaping Completion<Sum>) {
        self.cache = cache
        self.key = key
        self.done = done
        let parts = parts.sorted { $0.key < $1.key }.map { (key: $0.key, needed: $0.value) }
        state = Locked(State(remaining: parts + [(key: key, needed: .whole)]))
    }

    /// Enters the received bytes into the index, and begins.
    func start() { cache.enterReceived { [self] _ in next() } }

    /// Ends the check without a result.
    func cancel() { state.withLock { $0.isOver = true } }

    private func next() {
        let (part, isOver) = state.withLock { ($0.remaining.popLast(), $0.isOver) }
        if isOver { return }
        guard let (key, needed) = part else { return sum() }
        cache.verify(key, isRepairing: true, progress: { _ in }) { [self] found in
            do throws(CacheError) {
                guard let damaged = try found.get()?.damaged.totalBytes, damaged == 0 else { throw incomplete(key) }
                compare(key, needed)
            } catch {
                end(.failure(error))
            }
        }
    }

    /// Goes on if all needed bytes of a resource are stored. A reader may have found some of them
    /// damaged after they had come, and they are a gap since.
    private func compare(_ key: ResourceKey, _ needed: ByteRangeSet) {
        cache.engine.onIndexLane(
            key, { [cache] () throws(StoreError) in try cache.store.lookup(key)?.has(needed) == true },
            failed: { [self] in end(.failure($0)) }
        ) { [self] isWhole in if isWhole { next() } else { end(.failure(incomplete(key))) } }
    }

    private func sum() {
        cache.onIndexLane(key, { [self] bytes in end(bytes.map { Sum(storedBytes: $0) }) }) { [cache, key] () throws(StoreError) in
            try cache.store.storedBytes(ofDownload: key)
        }
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

extension ByteRangeSet {
    /// All bytes of a resource of any length.
    static var whole: ByteRangeSet { ByteRangeSet([ByteRange(0, ByteRange.maximumOffset)].compactMap(\.self)) }
}

extension StoredResource {
    /// Whether all of these bytes are stored, as far as the resource has them. Without a known
    /// length, the next process could not see that nothing is missing.
    fileprivate func has(_ needed: ByteRangeSet) -> Bool {
        guard let all = ByteRange(0, representation.length ?? ByteRange.maximumOffset) else { return true }
        return needed.intersection(all).subtracting(spans).isEmpty
    }
}
