public import SpoolCore

/// How one reader differs from the configuration.
public struct ReadOptions: Sendable {
    /// How far fetches go beyond this reader; nil for the cache's policy.
    public var fetchPolicy: FetchPolicy?
    /// When stored bytes are used without asking the origin; nil for the cache's policy. What is stored follows the cache's policy.
    public var cachePolicy: CachePolicy?
    /// What the reader makes of the store.
    public var mode: ReadMode
    /// How urgent its bytes are when origin requests have to queue.
    public var priority = ReadPriority.playing
    /// Fields sent with the origin requests of this resource besides the configuration's, for example `Authorization`.
    ///
    /// Readers of one resource share its requests: the newest reader that brings fields decides from its coming on, as does the newest
    /// URL. A renewed signature or token takes effect with the next origin request.
    public var requestFields: HTTPFields = [:]
    /// Which networks the origin requests of this resource may use; nil to leave that as it is. The newest reader decides here, too.
    public var access: NetworkAccess?
    /// Changes the bytes on their way to this reader; nil for the configuration's transform.
    public var contentTransform: (any ContentTransform)?
    /// The directives of an HTTP client's request (RFC 9111 §5.2.1).
    package var request = CacheControl("")
    /// The client can ask again by itself: a read whose answers end without a new byte fails soon.
    package var endsSoon = false
    /// The web site on whose behalf a browser asks: the value of its `Origin`, which the origin is told.
    package var site: String?

    public init(fetchPolicy: FetchPolicy? = nil, cachePolicy: CachePolicy? = nil, mode: ReadMode = .automatic) {
        self.fetchPolicy = fetchPolicy
        self.cachePolicy = cachePolicy
        self.mode = mode
    }
}
