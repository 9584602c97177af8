import Spool
import SpoolCore
import SpoolManifests
import SpoolSystem

/// Decides which answers are paced: those with segments of presentations that miss a variant.
///
/// A player that gets one variant from the store at the speed of a disk may choose a higher one that
/// its link can't carry. Belongs to the loop's thread.
final class StreamPacing {
    private let cache: MediaCache
    private let wallNow: @Sendable () -> Timestamp
    /// The presentation of each playlist and each segment, by URL.
    private var roots: [String: ResourceKey] = [:]
    private var looks: [ResourceKey: Look] = [:]

    /// The most URLs that are remembered. Beyond it all are forgotten until their manifest is asked
    /// for again.
    private static let capacity = 1 << 17
    /// The time for which the result of a look serves.
    private static let lookLife: Nanoseconds = .seconds(10)

    /// A look at the stored parts of a presentation.
    private struct Look {
        var began: Timestamp
        /// Whether every variant is stored; nil while the look is under way.
        let isWhole: Locked<Bool?>
    }

    init(cache: MediaCache, wallNow: @escaping @Sendable () -> Timestamp) {
        self.cache = cache
        self.wallNow = wallNow
    }

    /// Remembers the parts that a manifest names.
    func note(_ bytes: [UInt8], of cause: ManifestMemo.Cause) {
        guard let outline = try? StreamOutline.read(bytes, at: cause.url, variables: cause.variables) else { return }
        let root = roots[cause.url] ?? cause.key
        for rendition in outline.renditions {
            if let playlist = rendition.playlist { note(playlist, of: root) }
            for part in rendition.parts { note(part.url, of: root) }
        }
    }

    private func note(_ url: String, of root: ResourceKey) {
        if roots.count >= Self.capacity { roots.removeAll(keepingCapacity: true) }
        roots[url] = root
    }

    /// Whether the answer with this resource is paced.
    func isPaced(_ url: String) -> Bool {
        guard let root = roots[url] else { return false }
        let now = wallNow()
        let look = looks[root]
        if look.map({ now.nanoseconds.subtractingSaturated($0.began.nanoseconds) >= Self.lookLife }) ?? true { begin(root, now, look) }
        // Until it is known, the presentation counts as one that misses something.
        return !(looks[root]?.isWhole.withLock { $0 } ?? false)
    }

    /// Looks anew. The last result serves until the new one is known.
    private func begin(_ root: ResourceKey, _ now: Timestamp, _ last: Look?) {
        if looks.count >= Self.maxLooks { looks.removeAll() }
        let isWhole = Locked(last?.isWhole.withLock { $0 } ?? nil)
        looks[root] = Look(began: now, isWhole: isWhole)
        cache.presentations.inventory(of: root) { result in
            guard case .success(let inventory?) = result else { return }
            let playable = inventory.playable
            let isComplete = !playable.isEmpty && inventory.outline.variants.allSatisfy(playable.contains)
            isWhole.withLock { $0 = isComplete }
        }
    }

    /// The most presentations whose state is remembered.
    private static let maxLooks = 256
}
