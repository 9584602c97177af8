/// The freshness lifetime and the age of a stored response, in whole seconds (RFC 9111 §4.2).
package struct Freshness: Hashable, Sendable {
    /// The number of seconds for which the response is fresh after the origin made it.
    package let lifetime: Int64
    /// The number of seconds since the origin made the response, as far as that can be determined.
    package let age: Int64

    /// The longest lifetime that is assumed when the origin states none: a day, as RFC 9111 §4.2.2
    /// has clients warn beyond it.
    package static let maxHeuristicLifetime: Int64 = 86_400
    /// The divisor of the heuristic lifetime: a tenth of the time since the last change (RFC 9111
    /// §4.2.2).
    package static let heuristicDivisor: Int64 = 10

    /// Computes the freshness of a representation at `now`.
    /// - Parameter isShared: whether the cache serves several users, so that `s-maxage` counts.
    package init(_ representation: Representation, isShared: Bool, now: Timestamp) {
        age = representation.currentAge(now: now)
        lifetime = Self.lifetime(representation, isShared: isShared)
    }

    /// The seconds for which it remains fresh; 0 or less when it is stale.
    package var remaining: Int64 { lifetime.subtractingSaturated(age) }

    /// Whether the response is fresh.
    package var isFresh: Bool { remaining > 0 }

    /// The seconds for which it has been stale; 0 while it is fresh.
    package var staleness: Int64 { max(0, age.subtractingSaturated(lifetime)) }

    /// Whether the origin states how long the response is fresh.
    static func isStated(_ fields: HTTPFields, _ control: CacheControl, isShared: Bool) -> Bool {
        control.maxAge != nil || (isShared && control.sMaxAge != nil) || fields.contains(.expires)
    }

    /// The lifetime by the first of these: `s-maxage`, `max-age`, `Expires`, and a heuristic from
    /// `Last-Modified` (RFC 9111 §4.2.1).
    private static func lifetime(_ representation: Representation, isShared: Bool) -> Int64 {
        let control = CacheControl(response: representation.fields, isShared: isShared)
        if isShared, let seconds = control.sMaxAge { return seconds }
        if let seconds = control.maxAge { return seconds }
        // `CDN-Cache-Control` takes the place of `Expires` as well (RFC 9213 §2.1).
        if isShared, TargetedCacheControl.directives(representation.fields) != nil { return 0 }
        let date = representation.fields[.date].flatMap { HTTPDate.parse($0, now: representation.responseTime) }
        let made = date ?? representation.responseTime
        if let expires = representation.fields[.expires] {
            // An invalid date counts as a time in the past (RFC 9111 §5.3).
            guard let end = HTTPDate.parse(expires, now: representation.responseTime) else { return 0 }
            return max(0, end.seconds.subtractingSaturated(made.seconds))
        }
        guard StatusRules.isHeuristicallyCacheable(representation.status) || control.public,
            let modified = representation.fields[.lastModified].flatMap({ HTTPDate.parse($0, now: representation.responseTime) }),
            modified < made
        else { return 0 }
        return min(made.seconds.subtractingSaturated(modified.seconds) / heuristicDivisor, maxHeuristicLifetime)
    }
}
