public import SpoolCore
import SpoolSystem

/// Protects a resource from eviction for as long as this object lives.
///
/// Use it while an app plays or hands out stored bytes and the end of that use is not known. The
/// pin is not persisted, and is independent of `MediaCache.pin(_:)`: a resource that the app pinned
/// stays pinned. `MediaCache.clear()` keeps the resource. A removal by name and
/// `eraseEverything()` remove it all the same.
public final class TemporaryPin: Sendable {
    /// The key of the resource.
    public let key: ResourceKey
    private let pins: TemporaryPins

    init(key: ResourceKey, pins: TemporaryPins) {
        self.key = key
        self.pins = pins
        pins.add(key)
    }

    deinit { pins.drop(key) }
}

/// The number of temporary pins of each key.
final class TemporaryPins: Sendable {
    private let counts = Locked<[ResourceKey: Int]>([:])

    func contains(_ key: ResourceKey) -> Bool { counts.withLock { $0[key] != nil } }

    fileprivate func add(_ key: ResourceKey) { counts.withLock { $0[key, default: 0] += 1 } }

    fileprivate func drop(_ key: ResourceKey) {
        counts.withLock { counts in
            let left = (counts[key] ?? 0) - 1
            counts[key] = left > 0 ? left : nil
        }
    }
}
