import SpoolCore
import SpoolSystem

/// A weak reference to the session of a resource that a door keeps from one request to the next, so
/// that a hit needs no look-up.
package struct SessionLink: Sendable {
    fileprivate weak var session: ResourceSession?

    /// Creates a link to no session.
    package init() {}
}

extension Engine {
    /// Returns a reader of bytes that can be sent at once.
    ///
    /// - Parameter link: The reference that the door keeps. The call updates it.
    /// - Returns: The hit, or nil if anything has to be waited for, fetched or decided first.
    func hit(
        _ link: inout SessionLink, key: ResourceKey, url: MediaURL, spec: RangeHeader.Spec?, policy: CachePolicy, max: Int64
    ) -> StoredHit? {
        if isTransforming { return nil }
        if let hit = link.session?.hit(spec, url: url, policy: policy, max: max) { return hit }
        if link.session?.isDetached == false { return nil }
        link.session = sessions.withLock { $0.peek(key) }
        return link.session?.hit(spec, url: url, policy: policy, max: max)
    }
}
