#if !os(watchOS)
import AVFoundation

/// The loaders of the items in a player's list, so that one which is in it no more can be told to stop.
///
/// Loaders and not assets: the copies that a looper makes share one.
@MainActor struct KeptLoaders {
    struct Entry {
        weak var loader: AssetLoader?
        weak var asset: AVURLAsset?
    }

    private var entries: [ObjectIdentifier: Entry] = [:]

    /// Takes the list as it is now: gives each loader its urgency, and answers with those that left.
    mutating func follow(_ items: [AVPlayerItem], current: AVPlayerItem?) -> [Entry] {
        var now: [ObjectIdentifier: Entry] = [:]
        let playing = AssetLoader.of(current)
        for item in items {
            guard let loader = AssetLoader.of(item) else { continue }
            now[ObjectIdentifier(loader)] = Entry(loader: loader, asset: item.asset as? AVURLAsset)
            loader.prioritized(loader === playing ? .playing : .upcoming)
        }
        defer { entries = now }
        return entries.filter { now[$0.key] == nil }.map(\.value)
    }

    func contains(_ loader: AssetLoader) -> Bool { entries[ObjectIdentifier(loader)] != nil }
}

extension AssetLoader {
    /// The loader behind an item, also when its asset is a copy of another class.
    @MainActor static func of(_ item: AVPlayerItem?) -> AssetLoader? {
        (item?.asset as? AVURLAsset)?.resourceLoader.delegate as? AssetLoader
    }
}
#endif
