package import SpoolCore

/// How long an origin may take before a request fails.
///
/// The defaults are those of a player: an origin may connect within 10 seconds and prepare its
/// answer for a minute, as transcoders, stitched podcasts and blocking playlists do.
public struct OriginPatience: Hashable, Sendable {
    /// The most time to look up a name, connect and finish the TLS handshake. The default is 10
    /// seconds.
    public var connect: Duration = .seconds(10)
    /// The most time from the request to the head of its answer, if a reader waits for the answer.
    /// The default is 60 seconds.
    public var head: Duration = .seconds(60)
    /// The same where stored bytes can be used in place of the answer, and for requests that no
    /// reader waits for. The default is 8 seconds.
    ///
    /// After this time a longer request no longer keeps other requests to its host waiting, and is
    /// sent a second time. The first answer counts.
    public var brief: Duration = .seconds(8)

    /// Creates the default patience.
    public init() {}

    /// The shortest and the longest time that a request may get.
    package static let bounds: ClosedRange<Duration> = .milliseconds(1)...(.seconds(3600))

    /// Whether every time is within the bounds.
    package var isValid: Bool { [connect, head, brief].allSatisfy(Self.bounds.contains) }
}

extension OriginRequest {
    /// Sets how long the request may take.
    ///
    /// - Parameter isBrief: Whether no reader depends on the answer.
    package mutating func wait(_ patience: OriginPatience, isBrief: Bool) {
        connectTimeout = patience.connect.inNanoseconds
        let brief = patience.brief.inNanoseconds
        headTimeout = isBrief ? min(brief, patience.head.inNanoseconds) : patience.head.inNanoseconds
        // An answer that the origin holds back is not late.
        lateAfter = headTimeout.flatMap { $0 > brief && !isHeldBack ? brief : nil }
    }
}

extension Duration {
    /// The duration within `OriginPatience.bounds`, without parts of a nanosecond.
    package var inNanoseconds: Nanoseconds {
        Nanoseconds(saturating: min(max(self, OriginPatience.bounds.lowerBound), OriginPatience.bounds.upperBound))
    }
}
