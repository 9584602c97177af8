package import SpoolCore

#if canImport(FoundationNetworking)
package import FoundationNetworking
#else
package import Foundation
#endif

/// How `URLSession` talks to origins.
package struct URLSessionTransportOptions: Sendable {
    /// The most bytes that one request should ask for: what a paused transfer may leave in memory.
    package var windowBytes: Int64 = 2 * 1024 * 1024
    /// The most bytes that are kept for a paused receiver, in case an origin sends more than it was asked for.
    /// The engine widens its windows up to this while its reader keeps up.
    package var maxBufferedBytes = 16 * 1024 * 1024
    /// The longest body of a request that is sent, in bytes: it is collected in memory first.
    package var maxUploadBytes = 16 * 1024 * 1024
    /// The most time between two bytes, and before the first.
    package var stallTimeout: Nanoseconds = .seconds(8)
    /// The most connections to one host; `URLSession` itself would allow 6, and a receiver that waits holds one.
    package var maxConnectionsPerHost = 16
    /// What `User-Agent` says unless the request has its own.
    package var userAgent = "Spool"
    /// Makes the session's configuration; nil for the default one. Caches, cookies and credentials are switched off in it.
    package var makeConfiguration: (@Sendable () -> URLSessionConfiguration)?
    /// Answers challenges; nil for the system's own trust, and the 401 as the answer.
    package var onChallenge: ChallengeHandler?

    package typealias ChallengeHandler =
        @Sendable (
            _ challenge: URLAuthenticationChallenge,
            _ answer: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
        ) -> Void

    package init() {}
}
