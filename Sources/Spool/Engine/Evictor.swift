import SpoolCore
import SpoolStore
import SpoolSystem

/// Keeps what is stored within the quota: whole resources go, longest unused first, never one that is read or fetched.
///
/// Every call is made on the index lane.
final class Evictor: Sendable {
    /// Keys that are looked at in one turn.
    private static let batch = 64

    private let store: any ResourceStore
    private let quotaBytes: Int64?
    private let pins: TemporaryPins
    private let record: @Sendable (CacheEvent) -> Void
    /// Ends a resource's session if nobody uses it; false when it is in use. Set once, when the cache is made.
    private let release: Locked<@Sendable (ResourceKey) -> Bool> = Locked { _ in false }
    private let refuse: Locked<@Sendable (ResourceKey) -> Void> = Locked { _ in }

    init(store: any ResourceStore, quotaBytes: Int64?, pins: TemporaryPins, record: @escaping @Sendable (CacheEvent) -> Void) {
        self.store = store
        self.quotaBytes = quotaBytes
        self.pins = pins
        self.record = record
    }

    /// - Parameters:
    ///   - release: ends the session of a key if it is idle, so that nobody uses what is about to go; false when it is in use.
    ///   - refuse: tells a session to store nothing more.
    func connect(release: @escaping @Sendable (ResourceKey) -> Bool, refuse: @escaping @Sendable (ResourceKey) -> Void) {
        self.release.withLock { $0 = release }
        self.refuse.withLock { $0 = refuse }
    }

    /// Whether the media occupy more than the quota. A store that can't tell is not over it, and the trouble is an event.
    var isOverQuota: Bool {
        guard let quotaBytes else { return false }
        do { return try store.totalSizeBytes() > quotaBytes } catch {
            record(.storeTrouble("total size: \(error)"))
            return false
        }
    }

    /// Evicts until the quota holds. When what is left is all in use, `key` stores nothing more: its readers are served from the origin.
    func makeRoom(sparing key: ResourceKey) {
        do {
            var isProgressing = true
            while isOverQuota && isProgressing {
                isProgressing = false
                for candidate in try store.evictionCandidates(after: nil, limit: Self.batch).map(\.key)
                where candidate != key && !pins.contains(candidate) {
                    guard isOverQuota else { return }
                    guard release.withLock({ $0 })(candidate) else { continue }
                    let before = try store.totalSizeBytes()
                    guard try store.remove(candidate) else { continue }
                    record(.evicted(candidate, bytes: max(0, before - (try store.totalSizeBytes()))))
                    isProgressing = true
                }
            }
        } catch {
            record(.storeTrouble("eviction: \(error)"))
        }
        if isOverQuota { refuse.withLock { $0 }(key) }
    }
}
