public import SpoolCore

/// The settings in which one reader differs from the configuration of its cache.
public struct ReadOptions: Sendable {
    /// How far fetches go beyond this reader, or nil for the policy of the cache.
    public var fetchPolicy: FetchPolicy?
    /// When stored bytes are used without asking the origin, or nil for the policy of the cache.
    /// Which bytes are stored always follows the policy of the cache.
    public var cachePolicy: CachePolicy?
    /// The way in which the reader uses the store and the origin. The default is `.automatic`.
    public var mode: ReadMode
    /// The priority of the reader when origin requests have to queue. The default is `.playing`.
    public var priority = ReadPriority.playing
    /// Fields for the origin requests of this resource besides those of the configuration, for
    /// example `Authorization`.
    ///
    /// Each origin request has the URL and the fields of the reader that it is made for. A reader
    /// without fields, such as a preload, has those of the last request that the origin answered.
    public var requestFields: HTTPFields = [:]
    /// The conditions under which the origin is asked for this reader, or nil for the network
    /// policy of the cache. A request that serves several readers runs if one of them permits it.
    public var access: NetworkAccess?
    /// How long the origin may take for this reader, or nil for the time of the configuration.
    public var patience: OriginPatience?
    /// Changes the bytes on their way to this reader, or nil for the transform of the
    /// configuration.
    public var contentTransform: (any ContentTransform)?
    /// The directives of the request of an HTTP client (RFC 9111 §5.2.1).
    package var request = CacheControl("")
    /// Whether the client can retry by itself. A read whose responses end without a new byte then
    /// fails soon.
    package var endsSoon = false
    /// Whether the consumer passes on a response of any status. Else a status such as 404 fails the
    /// read.
    package var takesAnyStatus = false
    /// Whether the client named no range. An origin may serve only the client's own form.
    package var asksWhole = false
    /// The number of last bytes that are read, if their position is not known. The reader starts at
    /// 0 then.
    package var suffix: Int64?
    /// Whether the resource is known to be a manifest. It changes while it is played.
    package var isManifest = false
    /// The place of the resource in a presentation that the door follows.
    package var part: PresentationPart?
    /// Whether the origin may hold the answer back until its content exists.
    package var isHeldBack = false
    /// Whether redirects of the origin are followed. If not, a redirect is a response.
    package var followsRedirects = true
    /// The request of the client of a door, whose fields go to the origin.
    package var client: ClientRequest?
    /// The name of the client of a door whose share of the requests the fetches are part of, as the
    /// server counts its connections. Nil for a program of this machine.
    package var requester: [UInt8]?
    /// The web site for which a browser sends the request: the value of its `Origin`, which is
    /// passed to the origin.
    package var site: String?

    /// Creates options that differ from the configuration in the given settings.
    public init(fetchPolicy: FetchPolicy? = nil, cachePolicy: CachePolicy? = nil, mode: ReadMode = .automatic) {
        self.fetchPolicy = fetchPolicy
        self.cachePolicy = cachePolicy
        self.mode = mode
    }
}
