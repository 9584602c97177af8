import Spool
package import SpoolCore
import SpoolSystem

/// Facts about resources that were learnt by earlier assets, and that the next asset needs.
package final class KnownResources: Sendable {
    /// The largest number of remembered fallbacks, and of remembered file extensions. The oldest
    /// are dropped. Each takes a few hundred bytes.
    private static let maxRemembered = 256

    private let fallbacks = Locked(Remembered<FallbackReason>())
    private let extensions = Locked(Remembered<String>())

    /// Creates a memory without facts.
    package init() {}

    /// Returns the reason for which the resource's last asset was sent to the original URL, or nil.
    func fallback(of key: ResourceKey) -> FallbackReason? { fallbacks.withLock { $0.values[key] } }

    func remember(_ reason: FallbackReason, for key: ResourceKey) { fallbacks.withLock { $0.note(reason, key) } }

    /// Lets the resource be tried through the cache again.
    func forgetFallback(of key: ResourceKey) { fallbacks.withLock { $0.forget(key) } }

    /// Lets the next asset of a body without length use the loader, once the body is stored as a
    /// whole and so has a length.
    func forgetOpenEndedIfComplete(_ key: ResourceKey, in cache: MediaCache) {
        cache.status(of: key) { [weak self] result in
            guard case .success(let status?) = result, status.isComplete else { return }
            self?.fallbacks.withLock { if $0.values[key] == .openEnded { $0.forget(key) } }
        }
    }

    /// Returns the file extension for the discovered type of the resource, or nil.
    package func fileExtension(of key: ResourceKey) -> String? { extensions.withLock { $0.values[key] } }

    func learn(fileExtension: String, of key: ResourceKey) { extensions.withLock { $0.note(fileExtension, key) } }

    /// Facts by key. The oldest are dropped beyond a limit.
    private struct Remembered<Fact> {
        private(set) var values: [ResourceKey: Fact] = [:]
        private var order: [ResourceKey] = []

        mutating func note(_ fact: Fact, _ key: ResourceKey) {
            if values.updateValue(fact, forKey: key) == nil { order.append(key) }
            if order.count > KnownResources.maxRemembered { values[order.removeFirst()] = nil }
        }

        mutating func forget(_ key: ResourceKey) {
            if values.removeValue(forKey: key) != nil { order.removeAll { $0 == key } }
        }
    }
}
