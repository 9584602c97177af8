#if os(Linux)
package import SpoolCore

/// The settings of libcurl, with every bound and its reason.
package struct CurlTransportOptions: Sendable {
    /// The protocol version of requests.
    package enum HTTPVersion: Sendable {
        /// HTTP/1.1, the default. A paused transfer stops the origin by TCP itself, so it costs no
        /// memory.
        case http1
        /// HTTP/2 with TLS origins that offer it. It takes one connection for many transfers, but
        /// each paused one buffers.
        case http2
    }

    /// The protocol version to ask for.
    package var version: HTTPVersion = .http1
    /// The most time to look up a name, connect and finish the TLS handshake, for requests that
    /// name none.
    package var connectTimeout: Nanoseconds = .seconds(10)
    /// The most time from the request to the first byte of the answer, for requests that name none.
    package var firstByteTimeout: Nanoseconds = .seconds(60)
    /// The same time for an answer that the origin may hold back until its content exists. A live
    /// stream holds one for up to three target durations (rfc8216bis §6.2.5.2).
    package var heldBackTimeout: Nanoseconds = .seconds(60)
    /// The most time from the first line of the answer to the end of its head, 1xx responses
    /// included. It bounds a head that comes in small parts.
    package var headTimeout: Nanoseconds = .seconds(30)
    /// The silence of a body after which the receiver decides whether the transfer goes on
    /// (`TransferReceiver.bodyIsQuiet`). Pauses do not count.
    package var stallTimeout: Nanoseconds = .seconds(8)
    /// The time after which the system probes a silent connection, and the time between probes. It
    /// closes the connection when `lostProbes` of them have no answer, so a dead peer holds one for
    /// a minute.
    package static let probeInterval = Nanoseconds.seconds(15)
    /// The probes without an answer after which a connection is dead.
    package static let lostProbes: Int32 = 3
    /// The most connections at once. Each paused HTTP/1.1 transfer holds one, so this is more than
    /// the limiters of the engine let run at once (`FetchScheduler.mostRequests`): 112 fetches and 56
    /// forwarded requests. The rest is for requests that are sent twice because their answer is
    /// late. Further requests wait for a free connection.
    package var maxConnections = 192
    /// The connections beyond those of the limiters.
    package static let spareConnections = 24
    /// The most idle connections that are kept for later requests.
    package var maxIdleConnections = 32
    /// The size of the receive buffer of a running transfer, in bytes, and so the most that one
    /// read of the socket brings. A paused transfer takes as much again, because libcurl keeps the
    /// bytes that were not taken. 16 KiB cost a quarter more time for each byte than 64 KiB.
    package var receiveBufferBytes = 32 * 1024
    /// The size of the receive buffer of a transfer that begins while no other runs. 256 KiB take a
    /// tenth less CPU for each byte, and one such buffer is affordable.
    package var loneReceiveBufferBytes = 256 * 1024
    /// The size of the receive buffer of a request whose body libcurl may decode. One read then brings
    /// about 4 MiB at most, because gzip makes a byte of 1032. libcurl hands all of it on at once.
    package static let codedReceiveBufferBytes = 4 * 1024
    /// The CPU time in which a transfer that stops takes the bytes that have arrived.
    package var stopTime: Nanoseconds = .milliseconds(2)
    /// The CPU time of one turn of the loop after which other transfers stop in the next turn.
    /// Thousands of readers may leave at once, and the same loop serves those that stay.
    package var stopTurnTime: Nanoseconds = .milliseconds(5)
    /// The value of `User-Agent` for requests without one.
    package var userAgent = "Spool"
    /// A file of certificates (PEM) to trust instead of the bundle of the system. The directory
    /// that libcurl was built with is trusted as well.
    package var certificateFile: String?
    /// Whether a public name may lead to a private address. A proxy of the environment looks up
    /// names by itself, and has to enforce this itself.
    package var privateNames = PrivateNames.allowed
    /// Whether the proxies of the environment (`http_proxy`, `https_proxy`, `all_proxy`,
    /// `no_proxy`) are used. An origin on loopback is always asked directly.
    package var usesEnvironmentProxies = true

    /// Called with a sentence about a check that the system does not permit, once for each.
    package var onTrouble: @Sendable (String) -> Void = { _ in }

    /// Creates the default options.
    package init() {}

    /// The most bytes that one request should ask for over HTTP/2, because a paused stream may
    /// buffer up to its window.
    package static let http2WindowBytes: Int64 = 2 * 1024 * 1024
}
#endif
