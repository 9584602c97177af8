/// How long a stored response is fresh, and how old it is (RFC 9111 §4.2). In whole seconds.
package struct Freshness: Hashable, Sendable {
    /// For how long after its making the response is fresh.
    package let lifetime: Int64
    /// How long ago it was made, as far as can be known.
    package let age: Int64

    /// The largest lifetime that is guessed where the origin gave none: a day, as RFC 9111 §4.2.2 has clients warn beyond it.
    package static let maxHeuristicLifetime: Int64 = 86_400
    /// What part of the time since the last change is guessed to pass before the next: a tenth (RFC 9111 §4.2.2).
    package static let heuristicDivisor: Int64 = 10

    /// - Parameter isShared: whether the cache serves several users, so that `s-maxage` counts.
    package init(_ representation: Representation, isShared: Bool, now: Timestamp) {
        age = representation.currentAge(now: now)
        lifetime = Self.lifetime(representation, isShared: isShared)
    }

    /// Negative or 0 when it is stale; then for how long.
    package var remaining: Int64 { lifetime.subtractingSaturated(age) }

    package var isFresh: Bool { remaining > 0 }

    /// For how long it has been stale; 0 while it is fresh.
    package var staleness: Int64 { max(0, age.subtractingSaturated(lifetime)) }

    /// The first of `s-maxage`, `max-age`, `Expires`, and a guess from `Last-Modified` (RFC 9111 §4.2.1).
    private static func lifetime(_ representation: Representation, isShared: Bool) -> Int64 {
        let control = CacheControl(representation.fields)
        if isShared, let seconds = control.sMaxAge { return seconds }
        if let seconds = control.maxAge { return seconds }
        let date = representation.fields["Date"].flatMap { HTTPDate.parse($0, now: representation.responseTime) }
        let made = date ?? representation.responseTime
        if let expires = representation.fields["Expires"] {
            // What is no date is in the past (RFC 9111 §5.3).
            guard let end = HTTPDate.parse(expires, now: representation.responseTime) else { return 0 }
            return max(0, end.seconds.subtractingSaturated(made.seconds))
        }
        guard let modified = representation.fields["Last-Modified"].flatMap({ HTTPDate.parse($0, now: representation.responseTime) }),
            modified < made
        else { return 0 }
        return min(made.seconds.subtractingSaturated(modified.seconds) / heuristicDivisor, maxHeuristicLifetime)
    }
}
