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
    /// Whether the URL names media by its extension.
    package var namesMedia = false
    /// The place of the resource in a presentation that its door follows, or nil.
    package var part: PresentationPart?
    /// How long a play may wait for the answer to a question about stored media, or nil if the
    /// origin is not to be asked (`CachePolicy.explicit`).
    package var longestQuestion: Nanoseconds? = .seconds(1)

    /// Creates the rules.
    package init(
        policy: CachePolicy = .preferStored, mode: ReadMode = .automatic, isShared: Bool = false,
        request: CacheControl = CacheControl(directives: [])
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
        /// Use it if the origin has confirmed it for the present play. Else ask the origin, and
        /// wait for at most `longestQuestion`.
        case confirmForPlay
        /// Ask the origin, and wait for at most `longestQuestion`.
        case confirm
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
        // A part that a live playlist names may exist by now, whatever lifetime its failure states.
        if part?.isLive == true, !representation.isContent { return .revalidate }
        switch policy(for: representation) {
        case .preferStored, .storeEverything: return .use
        case .explicit: return explicitUse(of: representation, now: now)
        case .standard: break
        }
        let control = CacheControl(response: representation.fields, isShared: isShared)
        if control.noCache == .response || representation.isInvalidated { return .revalidate }
        let freshness = Freshness(representation, isShared: isShared, now: now)
        // Clients send `max-age=0` for a check, also within the second in which a response arrives.
        if let limit = request.maxAge, freshness.age > limit || limit == 0 { return .revalidate }
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
        // Only `must-revalidate` makes an explicit demand begin with time.
        guard policy(for: representation) == .standard || demandsLater(representation) else { return Timestamp(nanoseconds: .max) }
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
        // The origin is not out of reach (RFC 9111 §4.2.4, §5.2.1.7).
        if policy == .standard, request.onlyIfCached { return false }
        if policy == .explicit, representation.isContent, !isManifest, !representation.isPlaylist { return true }
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
        if isManifest || representation.isPlaylist || !representation.isContent { return .standard }
        guard policy == .explicit, part == nil, !(representation.isPlayable ?? namesMedia) else { return policy }
        // Servers send large files of any kind as bytes without a type.
        let isVague = representation.isPlayable == nil && representation.length ?? .max > Representation.maxVagueBytes
        return isVague ? policy : .standard
    }

    // MARK: Explicit demands

    /// The longest stated lifetime that says that the content changes soon, in seconds.
    private static let shortLifetime: Int64 = 60
    /// The length of an AES-128 key (RFC 8216 §4.3.2.4). A wrong key turns a picture into garbage,
    /// so no deadline makes a stored one serve.
    private static let keyBytes: Int64 = 16

    private func explicitUse(of representation: Representation, now: Timestamp) -> Use {
        guard mode != .onlyStored, longestQuestion != nil else { return .use }
        let isKey = representation.length == Self.keyBytes
        if let since = part?.confirmedSince, !isKey || part?.isLive == true {
            if representation.responseTime >= since { return .use }
            if part?.isLive == true { return isKey ? .revalidate : .confirm }
        }
        guard demandsCheck(representation, now: now) else { return .use }
        return isKey ? .revalidate : .confirmForPlay
    }

    /// Whether the origin demands in so many words that the response is confirmed before its use.
    /// Neither `Pragma`, nor `no-cache` with field names, nor a missing lifetime is such a demand.
    private func demandsCheck(_ representation: Representation, now: Timestamp) -> Bool {
        let control = CacheControl(response: representation.fields, isShared: isShared)
        if control.noCache == .response || representation.isInvalidated { return true }
        guard Freshness.isStated(representation.fields, control, isShared: isShared) else { return false }
        let freshness = Freshness(representation, isShared: isShared, now: now)
        return freshness.lifetime < Self.shortLifetime
            || (!freshness.isFresh && (control.mustRevalidate || control.proxyRevalidate))
    }

    /// Whether the origin demands a check once the stated lifetime has ended.
    private func demandsLater(_ representation: Representation) -> Bool {
        guard policy(for: representation) == .explicit else { return false }
        let control = CacheControl(response: representation.fields, isShared: isShared)
        return (control.mustRevalidate || control.proxyRevalidate)
            && Freshness.isStated(representation.fields, control, isShared: isShared)
    }

    /// Whether the response must never be used stale (RFC 9111 §5.2.2.2, §5.2.2.8, §5.2.2.10).
    private func forbidsStale(_ control: CacheControl) -> Bool {
        control.mustRevalidate || (isShared && (control.proxyRevalidate || control.sMaxAge != nil))
    }
}

/// The place of a resource in a presentation.
package struct PresentationPart: Hashable, Sendable {
    /// Whether the presentation grows while it is played.
    package var isLive: Bool
    /// Bytes that arrived or were confirmed since this time are those that the manifest means. Nil
    /// if nothing shows that.
    package var confirmedSince: Timestamp?

    /// Creates the place of a part.
    package init(isLive: Bool, confirmedSince: Timestamp?) {
        (self.isLive, self.confirmedSince) = (isLive, confirmedSince)
    }
}

extension Representation {
    /// Whether the media type is audio or video, or nil for a type that servers send for anything.
    var isPlayable: Bool? {
        guard let essence = contentType.flatMap(MediaType.init)?.essence, !essence.hasSuffix("/octet-stream") else { return nil }
        return essence.hasPrefix("audio/") || essence.hasPrefix("video/") || essence == "application/ogg" || essence == "application/mp4"
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
