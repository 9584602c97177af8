import Spool
import SpoolCore
import SpoolManifests
import SpoolSystem

/// Decides which answers are paced: those with segments of presentations that miss a variant.
///
/// A player that gets one variant from the store at the speed of a disk may choose a higher one
/// that its link can't carry. Safe to use from any thread.
final class StreamPacing: Sendable {
    private let cache: MediaCache
    private let wallNow: @Sendable () -> Timestamp
    private let state = Locked(State())

    private struct State {
        /// The presentation of each playlist and each segment, by URL.
        var roots: [String: ResourceKey] = [:]
        var looks: [ResourceKey: Look] = [:]

        mutating func note(_ url: String, of root: ResourceKey) {
            if roots.count >= StreamPacing.capacity { roots.removeAll(keepingCapacity: true) }
            roots[url] = root
        }

        /// Returns the presentation of a resource, the result of the last look at it, and whether
        /// that is too old. The caller of an old one looks anew.
        mutating func look(for url: String, _ now: Timestamp) -> (root: ResourceKey, isWhole: Bool, isOld: Bool)? {
            guard let root = roots[url] else { return nil }
            let last = looks[root]
            let isOld = last.map { now.nanoseconds.subtractingSaturated($0.began.nanoseconds) >= StreamPacing.lookLife } ?? true
            if isOld {
                if looks.count >= StreamPacing.maxLooks { looks.removeAll() }
                looks[root] = Look(began: now, isWhole: last?.isWhole ?? false)
            }
            return (root, last?.isWhole ?? false, isOld)
        }
    }

    /// The most URLs that are remembered. Beyond it all are forgotten until their manifest is asked
    /// for again.
    private static let capacity = 1 << 17
    /// The time for which the result of a look serves.
    private static let lookLife: Nanoseconds = .seconds(10)

    /// A look at the stored parts of a presentation.
    private struct Look {
        var began: Timestamp
        /// Whether every variant is stored. Until it is known, the presentation counts as one that
        /// misses something.
        var isWhole = false
    }

    init(cache: MediaCache, wallNow: @escaping @Sendable () -> Timestamp) {
        self.cache = cache
        self.wallNow = wallNow
    }

    /// Remembers the parts that a manifest names.
    func note(_ bytes: [UInt8], of cause: ManifestMemo.Cause) {
        guard let outline = try? StreamOutline.read(bytes, at: cause.url, variables: cause.variables) else { return }
        state.withLock { state in
            let root = state.roots[cause.url] ?? cause.key
            for rendition in outline.renditions {
                if let playlist = rendition.playlist { state.note(playlist, of: root) }
                for part in rendition.parts { state.note(part.url, of: root) }
            }
        }
    }

    /// Whether the answer with this resource is paced.
    func isPaced(_ url: String) -> Bool {
        let now = wallNow()
        guard let (root, isWhole, isOld) = state.withLock({ $0.look(for: url, now) }) else { return false }
        if isOld { begin(root) }
        return !isWhole
    }

    /// Looks anew. The last result serves until the new one is known.
    private func begin(_ root: ResourceKey) {
        cache.presentations.inventory(of: root) { [weak self] result in
            guard case .success(let inventory?) = result else { return }
            let playable = inventory.playable
            let isComplete = !playable.isEmpty && inventory.outline.variants.allSatisfy(playable.contains)
            self?.state.withLock { $0.looks[root]?.isWhole = isComplete }
        }
    }

    /// The most presentations whose state is remembered.
    private static let maxLooks = 256
}
