/// How old a stored response is, with all that its fields say read once (RFC 9111 §4.2.3).
package struct ResponseAge: Hashable, Sendable {
    /// The age when the response came, in nanoseconds.
    private let initial: Nanoseconds
    private let responseTime: Timestamp

    /// Counts the age that caches before us reported, what the response took to come, and the time since.
    init(initial: Nanoseconds, responseTime: Timestamp) {
        self.initial = initial
        self.responseTime = responseTime
    }

    /// The age at `now` in whole seconds, never negative. Clocks that disagree add nothing; sums that do not fit become the largest number.
    package func seconds(now: Timestamp) -> Int64 {
        initial.addingSaturated(now.nanosecondsSince(responseTime)) / .seconds(1)
    }
}

extension Representation {
    /// The age of the stored response, by its fields.
    package var age: ResponseAge {
        let apparent = date.map { responseTime.nanosecondsSince($0) } ?? 0
        let corrected = reportedAge.addingSaturated(responseTime.nanosecondsSince(requestTime))
        return ResponseAge(initial: max(apparent, corrected), responseTime: responseTime)
    }

    /// The age of the stored response at `now` in whole seconds.
    package func currentAge(now: Timestamp) -> Int64 { age.seconds(now: now) }

    /// When the origin made the response, by its own clock.
    private var date: Timestamp? { fields["Date"].flatMap { HTTPDate.parse($0, now: responseTime) } }

    /// The field `Age` in nanoseconds; of several values the first counts, what is no number counts as none (RFC 9111 §5.1).
    private var reportedAge: Nanoseconds {
        guard let value = fields["Age"] else { return 0 }
        let first = value.prefix { $0 != "," && $0 != " " }
        // At most 2³¹ seconds, so the product fits.
        return .seconds(CacheControl.deltaSeconds(String(first)) ?? 0)
    }
}

extension Timestamp {
    /// The time from `earlier` to here; 0 when that is not earlier.
    fileprivate func nanosecondsSince(_ earlier: Timestamp) -> Nanoseconds {
        max(0, nanoseconds.subtractingSaturated(earlier.nanoseconds))
    }
}
