#if !os(watchOS)
import AVFoundation

/// The loaders of the items in a player's list, so that the loader of a removed item can be parked.
///
/// It keeps loaders rather than assets, because the copies that a looper makes share one.
@MainActor struct KeptLoaders {
    private struct Entry {
        weak var loader: AssetLoader?
    }

    private var entries: [ObjectIdentifier: Entry] = [:]
    /// The loaders that left the list and were not parked yet.
    private var departed: [ObjectIdentifier: Entry] = [:]

    /// Updates the list, sets the urgency of each loader, and returns the loaders that left since
    /// the last call.
    mutating func follow(_ items: [AVPlayerItem], current: AVPlayerItem?) -> [AssetLoader] {
        var now: [ObjectIdentifier: Entry] = [:]
        let playing = AssetLoader.of(current)
        for item in items {
            guard let loader = AssetLoader.of(item) else { continue }
            now[ObjectIdentifier(loader)] = Entry(loader: loader)
            loader.prioritized(loader === playing ? .playing : .upcoming)
        }
        let left = entries.filter { now[$0.key] == nil && $0.value.loader != nil }
        entries = now
        departed = departed.filter { $0.value.loader != nil }.merging(left) { _, new in new }
        return left.values.compactMap(\.loader)
    }

    /// Removes `loader` from the departed ones.
    ///
    /// - Returns: False when the list has the loader again.
    mutating func takeDeparted(_ loader: AssetLoader) -> Bool {
        departed.removeValue(forKey: ObjectIdentifier(loader)) != nil && !contains(loader)
    }

    private func contains(_ loader: AssetLoader) -> Bool { entries[ObjectIdentifier(loader)] != nil }
}

extension AssetLoader {
    /// Returns the loader behind an item, also when its asset is a copy of another class.
    @MainActor static func of(_ item: AVPlayerItem?) -> AssetLoader? {
        (item?.asset as? AVURLAsset)?.resourceLoader.delegate as? AssetLoader
    }
}
#endif
