#if os(Linux)
package import SpoolCore

/// How libcurl talks to origins. Every bound is here, with its reason.
package struct CurlTransportOptions: Sendable {
    package enum HTTPVersion: Sendable {
        /// HTTP/1.1: a paused transfer stops the origin by TCP itself, so it costs no memory. The default.
        case http1
        /// HTTP/2 where a TLS origin offers it: one connection for many transfers, but each paused one buffers.
        case http2
    }

    /// The protocol version to ask for.
    package var version: HTTPVersion = .http1
    /// The most time to look up a name, connect and finish the TLS handshake.
    package var connectTimeout: Nanoseconds = .seconds(8)
    /// The most time from sending the request to the first byte of the answer.
    package var firstByteTimeout: Nanoseconds = .seconds(8)
    /// The most time from the first line of the answer to the end of its head, 1xx responses included: a head that trickles in is given up.
    package var headTimeout: Nanoseconds = .seconds(30)
    /// The most time between two bytes while the receiver takes them; a paused transfer does not count.
    package var stallTimeout: Nanoseconds = .seconds(8)
    /// The most connections at once. Each paused HTTP/1.1 transfer holds one, so this is more than the engine's 64 fetches;
    /// further requests wait for a free one.
    package var maxConnections = 128
    /// The most idle connections that are kept for the next request.
    package var maxIdleConnections = 32
    /// The most idle handles that are kept; each has a receive buffer only while it is in use.
    package var maxPooledHandles = 32
    /// What one read of the socket may bring, in bytes, and the memory that each running transfer takes: as much again while it is paused, when
    /// libcurl keeps what was not taken. 16 KiB cost a quarter more time for each byte than 64.
    package var receiveBufferBytes = 32 * 1024
    /// The same for a transfer that begins while no other runs: 256 KiB take a tenth less CPU for each byte, and one of them is affordable.
    package var loneReceiveBufferBytes = 256 * 1024
    /// What `User-Agent` says unless the request has its own.
    package var userAgent = "Spool"
    /// A file of certificates (PEM) to trust instead of the system's bundle; the directory that libcurl was built with counts besides.
    package var certificateFile: String?
    /// Whether a public name may lead to a private address. A proxy of the environment looks names up by itself: then it has to see to that.
    package var privateNames = PrivateNames.allowed
    /// Whether the proxies of the environment (`http_proxy`, `https_proxy`, `all_proxy`, `no_proxy`) are used.
    /// An origin on loopback is always asked directly.
    package var usesEnvironmentProxies = true

    package init() {}

    /// What one request should ask for at most over HTTP/2: a paused stream may buffer up to its window.
    package static let http2WindowBytes: Int64 = 2 * 1024 * 1024
}
#endif
