package import SpoolCore

#if canImport(FoundationNetworking)
package import FoundationNetworking
#else
package import Foundation
#endif

/// The settings of `URLSession` for origins.
package struct URLSessionTransportOptions: Sendable {
    /// The most bytes that the first requests of a play should ask for, because a paused transfer
    /// may keep as many in memory.
    package var windowBytes: Int64 = 2 * 1024 * 1024
    /// The most bytes that are kept for a paused receiver. Later requests of a play ask for more,
    /// and those of versions that cannot be combined are open-ended, so that one response brings
    /// all of it.
    package var maxBufferedBytes = 16 * 1024 * 1024
    /// The longest body of a request, in bytes. It is collected in memory first.
    package var maxUploadBytes = 16 * 1024 * 1024
    /// The most time from the request for media to the head of its answer. Slow origins prepare
    /// their answer: transcoders, stitched advertisements, cold archives. A player alone waits 60
    /// s.
    package var firstByteTimeout: Nanoseconds = .seconds(60)
    /// The same for a HEAD and for a request with a condition, without whose answer stored bytes
    /// are used.
    package var shortFirstByteTimeout: Nanoseconds = .seconds(8)
    /// The most time between two bytes of a body, while the receiver takes them.
    package var stallTimeout: Nanoseconds = .seconds(8)
    /// The most connections to one host. `URLSession` itself would allow 6, and a receiver that
    /// waits holds one.
    package var maxConnectionsPerHost = 16
    /// The value of `User-Agent` for requests without one, or nil for that of the session. On
    /// Apple's systems that is the one of CFNetwork, which names the app. A player sends another
    /// (`PlayerUserAgent`).
    package var userAgent = Self.defaultUserAgent

    #if canImport(Darwin)
    private static let defaultUserAgent: String? = nil
    #else
    private static let defaultUserAgent: String? = "Spool"
    #endif
    /// Makes the configuration of the session, or nil for the default one. Caches, cookies and
    /// credentials are switched off in it.
    package var makeConfiguration: (@Sendable () -> URLSessionConfiguration)?
    /// Answers challenges. Nil means the trust of the system, and the 401 as the answer.
    package var onChallenge: ChallengeHandler?

    /// Receives an authentication challenge, and calls `answer` once, on any thread.
    package typealias ChallengeHandler =
        @Sendable (
            _ challenge: URLAuthenticationChallenge,
            _ answer: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
        ) -> Void

    /// Creates the default options.
    package init() {}
}
