public import SpoolCore
import SpoolStore
import SpoolSystem

// What stays whatever room is needed.

extension MediaCache {
    /// Keeps what is stored of a resource, and what will be, from eviction; also after the next start, until `unpin` or `remove`.
    ///
    /// The bytes count towards the quota all the same: who pins more than it allows gets nothing else stored.
    /// - Returns: false when it was pinned already.
    /// - Throws: `.store`, `.storeLocked` when another process has the store, `.closed`.
    @discardableResult
    public func pin(_ key: ResourceKey) async throws(CacheError) -> Bool {
        try await withCheckedContinuation { continuation in setPinned(key, true) { continuation.resume(returning: $0) } }.get()
    }

    /// Lets a resource be evicted again when its turn comes.
    ///
    /// - Returns: false when it was not pinned.
    /// - Throws: `.store`, `.storeLocked` when another process has the store, `.closed`.
    @discardableResult
    public func unpin(_ key: ResourceKey) async throws(CacheError) -> Bool {
        try await withCheckedContinuation { continuation in setPinned(key, false) { continuation.resume(returning: $0) } }.get()
    }

    /// The most keys that one call of `pinsWithoutBytes` returns.
    public static let pinPage = 1000

    /// Pinned resources of which nothing is stored yet, at most `pinPage` of them; call again with the last key for those that follow.
    ///
    /// `resources(after:)` lists those of which something is stored. A pin that version 0.1 or earlier made before the first byte came is
    /// missing here until it is pinned anew.
    public func pinsWithoutBytes(after key: ResourceKey? = nil) async throws(CacheError) -> [ResourceKey] {
        try await withCheckedContinuation { continuation in
            onIndexLane(nil, { continuation.resume(returning: $0) }) { [store] () throws(StoreError) in
                try store.pinsWithoutBytes(after: key, limit: Self.pinPage)
            }
        }.get()
    }

    /// Keeps what is stored of a resource from eviction for as long as the answer lives.
    public func temporaryPin(_ key: ResourceKey) -> TemporaryPin { TemporaryPin(key: key, pins: temporaryPins) }

    /// The same with a callback, which is called on the index lane.
    package func setPinned(
        _ key: ResourceKey, _ isPinned: Bool, _ done: @escaping @Sendable (Result<Bool, CacheError>) -> Void
    ) {
        let time = environment.time.wallNow
        onIndexLane(key, done) { [store] () throws(StoreError) in try store.setPinned(key, isPinned, time: time) }
    }
}
