/// The rules by which one reader uses a stored response without asking the origin (RFC 9111 §4).
package struct UseRules: Hashable, Sendable {
    package var policy: CachePolicy
    package var mode: ReadMode
    /// Whether the cache serves several users.
    package var isShared: Bool
    /// The directives of the client's request; none where there is no HTTP client.
    package var request: CacheControl

    package init(
        policy: CachePolicy = .preferStored, mode: ReadMode = .automatic, isShared: Bool = false, request: CacheControl = CacheControl("")
    ) {
        self.policy = policy
        self.mode = mode
        self.isShared = isShared
        self.request = request
    }

    /// What may be done with a stored response.
    package enum Use: Hashable, Sendable {
        /// Use it.
        case use
        /// Use it, and ask the origin beside that whether it is current (RFC 5861 §3).
        case useAndRevalidate
        /// Ask the origin first.
        case revalidate
    }

    /// What may be done with `representation` at `now`.
    package func use(of representation: Representation, now: Timestamp) -> Use {
        if mode == .reload { return .revalidate }
        if policy != .storeEverything, request.noCache != nil { return .revalidate }
        guard policy(for: representation) == .standard else { return .use }
        let control = CacheControl(representation.fields)
        if control.noCache == .response { return .revalidate }
        let freshness = Freshness(representation, isShared: isShared, now: now)
        if let limit = request.maxAge, freshness.age > limit { return .revalidate }
        if let margin = request.minFresh, freshness.remaining < margin { return .revalidate }
        if freshness.isFresh { return .use }
        if forbidsStale(control) { return .revalidate }
        if let allowed = request.maxStale, allowed.allows(freshness.staleness) { return .use }
        if let seconds = control.staleWhileRevalidate, freshness.staleness <= seconds { return .useAndRevalidate }
        return .revalidate
    }

    /// Until when the response may be used as at `now`, without asking and without a look at anything but the clock; nil when it may not.
    /// At most a day, which is looked no further ahead.
    package func usableUntil(_ representation: Representation, now: Timestamp) -> Timestamp? {
        guard use(of: representation, now: now) == .use else { return nil }
        guard policy(for: representation) == .standard else { return Timestamp(nanoseconds: .max) }
        // Ages are whole seconds, so the last of those that remain may be over in a moment. What is used stale is looked at each time.
        let remaining = max(0, Freshness(representation, isShared: isShared, now: now).remaining - 1)
        return Timestamp(nanoseconds: now.nanoseconds.addingSaturated(.seconds(min(remaining, Freshness.maxHeuristicLifetime))))
    }

    /// Whether the response may be used at `now` although the origin could not say that it is current: it is out of reach, or
    /// fails (RFC 9111 §4.2.4, §4.3.3; RFC 5861 §4).
    ///
    /// A request's `no-cache` says what the client prefers (RFC 9111 §5.2.1.4): it asks for the origin's word, and is no reason to
    /// fail where that can't be had.
    package func mayUseUnvalidated(_ representation: Representation, now: Timestamp) -> Bool {
        if mode == .reload { return false }
        if policy == .storeEverything { return true }
        guard policy(for: representation) == .standard else { return true }
        let control = CacheControl(representation.fields)
        let freshness = Freshness(representation, isShared: isShared, now: now)
        if control.noCache == .response || (!freshness.isFresh && forbidsStale(control)) { return false }
        guard let seconds = request.staleIfError ?? control.staleIfError else { return true }
        return freshness.staleness <= seconds
    }

    /// Playlists change while they are played, so no policy uses a stale one while the origin can be asked.
    private func policy(for representation: Representation) -> CachePolicy {
        representation.isPlaylist ? .standard : policy
    }

    /// Whether the response is never used stale (RFC 9111 §5.2.2.2, §5.2.2.8, §5.2.2.10).
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
