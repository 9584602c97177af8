/// The age of a stored response, with its fields parsed once (RFC 9111 §4.2.3).
package struct ResponseAge: Hashable, Sendable {
    /// The age at the arrival of the response, in nanoseconds.
    let initial: Nanoseconds
    let responseTime: Timestamp

    /// The age at `now` in whole seconds, never negative. A negative difference between clocks adds
    /// nothing, and sums that overflow become the largest number.
    package func seconds(now: Timestamp) -> Int64 {
        initial.addingSaturated(now.nanosecondsSince(responseTime)) / .seconds(1)
    }
}

extension Representation {
    /// The age of the stored response, according to its fields: the age that earlier caches
    /// reported, the duration of the request, and the time since.
    package var age: ResponseAge {
        let apparent = date.map { responseTime.nanosecondsSince($0) } ?? 0
        let corrected = reportedAge.addingSaturated(responseTime.nanosecondsSince(requestTime))
        return ResponseAge(initial: max(apparent, corrected), responseTime: responseTime)
    }

    /// The age of the stored response at `now` in whole seconds.
    package func currentAge(now: Timestamp) -> Int64 { age.seconds(now: now) }

    /// The time at which the origin made the response, by the origin's clock.
    private var date: Timestamp? { fields[.date].flatMap { HTTPDate.parse($0, now: responseTime) } }

    /// The value of `Age` in nanoseconds. Of several values the first counts, and an invalid one
    /// counts as 0 (RFC 9111 §5.1).
    private var reportedAge: Nanoseconds {
        guard let value = fields[.age] else { return 0 }
        let first = value.prefix { $0 != "," && $0 != " " }
        // `deltaSeconds` is at most 2³¹, so the product fits.
        return .seconds(CacheControl.deltaSeconds(String(first)) ?? 0)
    }
}

extension Timestamp {
    /// The time since `earlier`; 0 if that is not earlier.
    fileprivate func nanosecondsSince(_ earlier: Timestamp) -> Nanoseconds {
        max(0, nanoseconds.subtractingSaturated(earlier.nanoseconds))
    }
}
