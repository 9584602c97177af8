package import SpoolSystem

/// The options of a proxy: how it listens, and which clients it serves.
public struct ProxyOptions: Sendable {
    /// The address to listen on: an IP literal or `localhost`.
    public var host = "127.0.0.1"
    /// The port, or 0 for a free one.
    public var port: UInt16 = 0
    /// The first path segment that every request must have. The default is 128 random bits, so that
    /// no other program on the device can read through the proxy. With nil there is none, which
    /// only an address of loopback permits.
    public var token: String? = SystemRandom().word()
    /// The site that the proxy stands in for (`https://example.com`), or nil for the URL forms of a
    /// general proxy.
    public var fixedOrigin: String?
    /// Names and addresses that the `Host` field may have besides the proxy's own addresses and
    /// `localhost`. `*` allows all. Others are refused, as a protection against DNS rebinding.
    public var allowedHosts: [String] = []
    /// The origins (`https://example.com`) that the proxy may contact, or nil for all.
    public var allowedOrigins: [String]?
    /// Web sites (`https://player.example`, or `null` for files) whose pages may use the proxy
    /// through a browser, besides pages on this machine.
    public var allowedSites: [String] = []
    /// Whether the proxy serves browsers on behalf of any site.
    public var allowsForeignSites = false
    /// The largest number of client connections. The default of 1024 is within the usual limit of
    /// descriptors.
    public var maximumConnections = 1024
    /// The number of event loops, each with a thread of its own, from 1 to 64. Connections are
    /// shared equally between them. One loop, the default, serves a few gigabits a second; more of
    /// them use more cores.
    public var loopCount = 1
    /// The numbers of event loops that a proxy may have.
    package static let loopCounts = 1...64
    /// The longest body of a request that is forwarded to the fixed origin, in bytes. The default
    /// of 4 GiB allows a film. A body is never held as a whole.
    public var passedBodyBytes: Int64 = 4 << 30
    /// Called at the end of each response, on the proxy's thread. Use it for access logs.
    public var onResponse: (@Sendable (ProxyRecord) -> Void)?

    /// The proxies before this one, through which all clients come, or nil when clients connect
    /// themselves. Then clients count as those of the network, and a token, `fixedOrigin` or
    /// `allowedOrigins` is required.
    package var fronts: FrontProxies?
    /// A listening Unix socket, on which the proxies before this one connect too. The server closes
    /// it.
    package var frontListener: Int32?
    /// The most connections of one client of the network, or nil for the server's own bound.
    package var connectionsPerClient: Int?
    /// The most memory of manifests for one client of the network, in bytes.
    package var manifestBytesOfClient = ManifestRoom.bytesOfClient
    /// The secret by which programs of the same user give commands to the proxy's pages, and get
    /// resources as origins send them. Nil disables both.
    package var programToken: String?
    /// The listening socket that the process inherited, or nil to open one at the address.
    var inheritedListener: Int32?

    /// Listens on a socket that another process has opened.
    package mutating func listen(on descriptor: Int32, _ address: SocketAddress) {
        host = address.host
        port = address.port
        inheritedListener = descriptor
    }

    /// Creates the default options.
    public init() {}
}

/// One answered request.
public struct ProxyRecord: Sendable {
    /// The client's address, or nil when it is not known. Behind a proxy that the options name, it
    /// is the address that the proxy states.
    public var client: String?
    /// The method of the request.
    public var method: String
    /// The request's target without its query.
    public var target: String
    /// The status of the response. 499 means that the client left before a response.
    public var status: Int
    /// The body bytes that went to the client.
    public var bytesSent: Int64
    /// The duration from the end of the request's head to the end of the response, in milliseconds.
    public var milliseconds: Double
    /// The reason for a short or missing body, or nil for a complete response.
    public var problem: String?
    /// `Content-Range` of the response, for example `bytes 0-99/5000`, or nil.
    package var range: String?
    /// The client's program by its `User-Agent`, or nil.
    package var userAgent: String?
    /// `Cache-Status` of the response (RFC 9211), for example `spool; hit`, or nil.
    package var cacheStatus: String?
}
