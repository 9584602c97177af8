/// How a proxy listens, and whom it serves.
public struct ProxyOptions: Sendable {
    /// The address to listen on: an IP literal or `localhost`.
    public var host = "127.0.0.1"
    /// The port; 0 for one that is free.
    public var port: UInt16 = 0
    /// The first path segment that every request must have; nil for none. An address that is not loopback demands one.
    public var token: String?
    /// Lets programs of this machine that know it give commands at `/_spool/api/` (POST); nil for none.
    public var commandToken: String?
    /// Answer as if the proxy were this site (`https://example.com`); nil for the URL forms of a general proxy.
    public var fixedOrigin: String?
    /// Names besides IP literals and `localhost` that the `Host` field may have; against DNS rebinding.
    public var allowedHosts: [String] = []
    /// Origins (`https://example.com`) that may be asked; nil for all.
    public var allowedOrigins: [String]?
    /// Web sites (`https://player.example`, or `null` for files) whose pages may ask through browsers, besides those of this machine.
    public var allowedSites: [String] = []
    /// Serve browsers on behalf of any site.
    public var allowsForeignSites = false
    /// Client connections at once. 1024, within the usual limit of descriptors.
    public var connections = 1024
    /// The longest body of a request that is passed on to the fixed origin, in bytes. 4 GiB: a film; bodies are never held as a whole.
    public var passedBodyBytes: Int64 = 4 << 30
    /// What the status page offers to play.
    public var demoTracks: [DemoTrack] = []
    /// Called at the end of each response, on the proxy's thread; for access logs.
    public var onResponse: (@Sendable (ProxyRecord) -> Void)?

    public init() {}
}

/// One answered request.
public struct ProxyRecord: Sendable {
    public var method: String
    /// The request's target without its query.
    public var target: String
    public var status: Int
    /// Body bytes that went to the client.
    public var bytesSent: Int64
    public var milliseconds: Double
    /// Why the body is short, when it is; nil for a complete answer.
    public var problem: String?
}

/// Something to play on the status page.
public struct DemoTrack: Hashable, Sendable {
    public var title: String
    /// The original URL.
    public var url: String

    public init(title: String, url: String) {
        self.title = title
        self.url = url
    }
}
