/// The policy for storing responses, and for using stored ones without asking the origin.
///
/// Set for a cache, and optionally for one reader.
public enum CachePolicy: Hashable, Sendable {
    /// Follows the rules of HTTP caching (RFC 9111): fresh responses are used, stale ones are
    /// revalidated first.
    case standard
    /// Uses stored audio and video without asking the origin, unless the origin demands a check in
    /// so many words: `no-cache`, a lifetime below a minute, or `must-revalidate` after the stated
    /// lifetime. Then one conditional request confirms the bytes for one play. The play waits for
    /// the answer for at most a second, and stored bytes serve when the origin is out of reach.
    /// Everything else is treated as under `standard`. The default.
    case explicit
    /// Uses stored bytes without asking the origin, as long as they are of one version. Respects
    /// `no-store`. Playlists and manifests (HLS, DASH) are treated as under `standard`.
    case preferStored
    /// Stores everything that can be stored, whatever the response fields are, and uses it without
    /// asking the origin. Suits origins that forbid storing although their owner permits it. A
    /// stale playlist or manifest is still revalidated while the origin can be reached, because a
    /// live stream would stand still otherwise.
    case storeEverything
}

/// How one reader uses the store.
public enum ReadMode: Hashable, Sendable {
    /// Follows the cache policy.
    case automatic
    /// Uses stored bytes only. The read fails with `.notStored` where they end.
    case onlyStored
    /// Asks the origin first whether the stored version is current. Only a changed version is
    /// fetched again.
    case reload
    /// Uses stored bytes, and passes other bytes on without storing them.
    case doNotStore
}
