import Spool
package import SpoolCore
import SpoolSystem

/// Facts about resources that were learnt by earlier assets, and that the next asset needs.
package final class KnownResources: Sendable {
    /// The largest number of remembered fallbacks, and of remembered file extensions. The oldest
    /// are dropped. Each takes a few hundred bytes.
    private static let maxRemembered = 256

    private let fallbacks = Locked(RecentTable<ResourceKey, FallbackReason>(limit: maxRemembered))
    private let extensions = Locked(RecentTable<ResourceKey, String>(limit: maxRemembered))

    /// Creates a memory without facts.
    package init() {}

    /// Returns the reason for which the resource's last asset was sent to the original URL, or nil.
    func fallback(of key: ResourceKey) -> FallbackReason? { fallbacks.withLock { $0[key] } }

    func remember(_ reason: FallbackReason, for key: ResourceKey) { fallbacks.withLock { $0[key] = reason } }

    /// Lets the resource be tried through the cache again.
    func forgetFallback(of key: ResourceKey) { fallbacks.withLock { $0[key] = nil } }

    /// Lets the next asset of a body without length use the loader, once the body is stored as a
    /// whole and so has a length.
    func forgetOpenEndedIfComplete(_ key: ResourceKey, in cache: MediaCache) {
        cache.status(of: key) { [weak self] result in
            guard case .success(let status?) = result, status.isComplete else { return }
            self?.fallbacks.withLock { if $0[key] == .openEnded { $0[key] = nil } }
        }
    }

    /// Returns the file extension for the discovered type of the resource, or nil.
    package func fileExtension(of key: ResourceKey) -> String? { extensions.withLock { $0[key] } }

    func learn(fileExtension: String, of key: ResourceKey) { extensions.withLock { $0[key] = fileExtension } }
}
