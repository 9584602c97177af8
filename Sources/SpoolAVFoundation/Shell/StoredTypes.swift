#if !os(watchOS)
package import Spool
import SpoolCore
import SpoolSystem

/// Reads the types of stored resources from the index, so that an asset has the extension of its
/// type also after a relaunch.
///
/// The factory makes assets on the caller's thread, which must not wait for the index. So the index
/// is read once, soon after the first factory of a cache was made. An asset that is made before
/// that has the extension of its URL.
package struct StoredTypes {
    /// The number of resources that one call of the index lane reads.
    static let pageCount = 64
    /// The time before the first call.
    static let pause: Nanoseconds = .seconds(1)
    /// The most such calls. Later resources, in the order of their keys, are not read.
    static let maxPages = 32

    private let cache: MediaCache

    /// Reads the index of `cache`.
    package init(cache: MediaCache) { self.cache = cache }

    /// Adds the extensions of stored resources whose URLs have none of their own.
    ///
    /// It begins after a pause, so that the index is free for the first play of a launch.
    package func read(into resources: KnownResources) {
        _ = cache.environment.time.after(Self.pause, on: cache.environment.indexLane) { [weak resources] in
            if let resources { read(page: 0, after: nil, into: resources) }
        }
    }

    private func read(page: Int, after key: ResourceKey?, into resources: KnownResources) {
        guard page < Self.maxPages else { return }
        cache.list(after: key, limit: Self.pageCount) { [weak resources] result in
            guard case .success(let found) = result, let resources else { return }
            for status in found { learn(status, resources) }
            if let last = found.last, found.count == Self.pageCount { read(page: page + 1, after: last.key, into: resources) }
        }
    }

    private func learn(_ status: ResourceStatus, _ resources: KnownResources) {
        guard MediaKind.ofFileExtension(pathExtension(url: status.url)) == nil, resources.fileExtension(of: status.key) == nil,
            let essence = status.representation.contentType.flatMap({ MediaType($0)?.essence }),
            let kind = MediaKind.ofMediaType(essence), !kind.isPlaylist
        else { return }
        resources.learn(fileExtension: kind.fileExtension, of: status.key)
    }
}
#endif
