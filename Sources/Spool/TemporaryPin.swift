public import SpoolCore
import SpoolSystem

/// Keeps what is stored of a resource from eviction for as long as it lives.
///
/// For who plays or hands out what is stored and can't say when that ends otherwise. It is not persisted, and has nothing to do with
/// `MediaCache.pin(_:)`: what an app pinned stays pinned. A removal by command takes the resource out all the same.
public final class TemporaryPin: Sendable {
    public let key: ResourceKey
    private let pins: TemporaryPins

    init(key: ResourceKey, pins: TemporaryPins) {
        self.key = key
        self.pins = pins
        pins.add(key)
    }

    deinit { pins.drop(key) }
}

/// How many temporary pins each key has.
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
