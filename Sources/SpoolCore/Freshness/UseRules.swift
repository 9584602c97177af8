/// The rules by which one reader uses a stored response without asking the origin (RFC 9111 §4).
package struct UseRules: Hashable, Sendable {
    /// The cache policy.
    package var policy: CachePolicy
    /// The mode of the read.
    package var mode: ReadMode
    /// Whether the cache serves several users.
    package var isShared: Bool
    /// The directives of the client's request; empty where there is no HTTP client.
    package var request: CacheControl
    /// Whether the resource is known to be a manifest, which its type may not show.
    package var isManifest = false

    /// Creates the rules.
    package init(
        policy: CachePolicy = .preferStored, mode: ReadMode = .automatic, isShared: Bool = false, request: CacheControl = CacheControl("")
    ) {
        self.policy = policy
        self.mode = mode
        self.isShared = isShared
        self.request = request
    }

    /// The permitted use of a stored response.
    package enum Use: Hashable, Sendable {
        /// Use it.
        case use
        /// Use it, and ask the origin in parallel whether it is current (RFC 5861 §3).
        case useAndRevalidate
        /// Ask the origin first.
        case revalidate
    }

    /// Returns the permitted use of `representation` at `now`.
    package func use(of representation: Representation, now: Timestamp) -> Use {
        if mode == .reload { return .revalidate }
        // The origin refused the resource once, or its end is not certain. One conditional request
        // clears the doubt.
        if policy != .storeEverything, representation.refusedAt != nil || representation.endsByClose { return .revalidate }
        if policy != .storeEverything || isManifest, request.noCache != nil { return .revalidate }
        guard policy(for: representation) == .standard else { return .use }
        let control = CacheControl(response: representation.fields, isShared: isShared)
        if control.noCache == .response || representation.isInvalidated { return .revalidate }
        let freshness = Freshness(representation, isShared: isShared, now: now)
        if let limit = request.maxAge, freshness.age > limit { return .revalidate }
        if let margin = request.minFresh, freshness.remaining < margin { return .revalidate }
        if freshness.isFresh { return .use }
        if forbidsStale(control) { return .revalidate }
        if let allowed = request.maxStale, allowed.allows(freshness.staleness) { return .use }
        if let seconds = control.staleWhileRevalidate, freshness.staleness <= seconds { return .useAndRevalidate }
        return .revalidate
    }

    /// The time until which the response may be used as at `now`, checking only the clock. At most
    /// a day ahead.
    /// - Returns: nil if the response may not be used without asking the origin.
    package func usableUntil(_ representation: Representation, now: Timestamp) -> Timestamp? {
        guard use(of: representation, now: now) == .use else { return nil }
        guard policy(for: representation) == .standard else { return Timestamp(nanoseconds: .max) }
        // Ages are whole seconds, so the last remaining second may end at any moment. Stale use is
        // checked each time.
        let remaining = max(0, Freshness(representation, isShared: isShared, now: now).remaining - 1)
        return Timestamp(nanoseconds: now.nanoseconds.addingSaturated(.seconds(min(remaining, Freshness.maxHeuristicLifetime))))
    }

    /// Whether the response may be used at `now` although the origin could not confirm it, because
    /// it is out of reach or fails (RFC 9111 §4.2.4, §4.3.3; RFC 5861 §4).
    ///
    /// A `no-cache` of the request expresses a preference (RFC 9111 §5.2.1.4). It asks for a
    /// revalidation, and does not make the request fail when none is possible.
    package func mayUseUnvalidated(_ representation: Representation, now: Timestamp) -> Bool {
        if mode == .reload { return false }
        if policy == .storeEverything { return true }
        guard policy(for: representation) == .standard else { return true }
        // One error of the origin does not stand in for another.
        if representation.isInvalidated || representation.status >= 500 { return false }
        let control = CacheControl(response: representation.fields, isShared: isShared)
        let freshness = Freshness(representation, isShared: isShared, now: now)
        if control.noCache == .response, !playsWithoutOrigin(representation) { return false }
        if !freshness.isFresh, forbidsStale(control) { return false }
        guard let seconds = request.staleIfError ?? control.staleIfError else { return true }
        return freshness.staleness <= seconds
    }

    /// Whether the response is a manifest of media that play without the origin. Most live streams
    /// send theirs with `no-cache`, so none of them would play any more.
    private func playsWithoutOrigin(_ representation: Representation) -> Bool {
        policy != .standard && representation.isContent && (isManifest || representation.isPlaylist)
    }

    /// The policy for this representation. Playlists change during playback, and other statuses
    /// than 200 pass, so no policy uses a stale one while the origin can be reached.
    func policy(for representation: Representation) -> CachePolicy {
        isManifest || representation.isPlaylist || !representation.isContent ? .standard : policy
    }

    /// Whether the response must never be used stale (RFC 9111 §5.2.2.2, §5.2.2.8, §5.2.2.10).
    private func forbidsStale(_ control: CacheControl) -> Bool {
        control.mustRevalidate || (isShared && (control.proxyRevalidate || control.sMaxAge != nil))
    }
}

extension CacheControl.Staleness {
    fileprivate func allows(_ seconds: Int64) -> Bool {
        switch self {
        case .any: true
        case .seconds(let limit): seconds <= limit
        }
    }
}
