/// When responses are stored, and when stored ones are used without asking the origin.
///
/// Given for a cache and, where it differs, for one reader.
public enum CachePolicy: Hashable, Sendable {
    /// By the rules of HTTP caching (RFC 9111): fresh responses are used, stale ones are revalidated first.
    case standard
    /// Stored bytes are used without asking while they hold together; `no-store` is respected. The default: media seldom change
    /// under one URL, and playback must not wait for the origin. Playlists and manifests (HLS, DASH) are treated as under `standard`.
    case preferStored
    /// Everything that can be stored is, whatever the origin says, and used without asking. For origins that forbid storing what
    /// their owner wants kept. A stale playlist or manifest is still revalidated while the origin can be reached: a live stream would
    /// stand still otherwise.
    case storeEverything
}

/// What one reader makes of the store.
public enum ReadMode: Hashable, Sendable {
    /// As the policy says.
    case automatic
    /// Stored bytes only; the read fails with `.notStored` where they end.
    case onlyStored
    /// The origin is asked first whether what is stored is still current; only what changed is fetched again.
    case reload
    /// Stored bytes are used, others are passed on without being stored.
    case doNotStore
}
