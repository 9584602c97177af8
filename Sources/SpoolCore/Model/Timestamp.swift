/// A moment of wall-clock time, in nanoseconds since 1970-01-01T00:00:00Z.
///
/// Used for HTTP times and access times. Timers use the monotonic clock instead.
public struct Timestamp: Hashable, Comparable, Sendable {
    /// Nanoseconds since 1970-01-01T00:00:00Z; negative before.
    public var nanoseconds: Int64

    /// Creates a moment from nanoseconds since 1970.
    public init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// Creates a moment from whole seconds since 1970, clamped to the range of nanoseconds in
    /// `Int64` (the years 1678 to 2262).
    public init(seconds: Int64) {
        nanoseconds = .seconds(seconds)
    }

    /// Whole seconds since 1970, rounded down.
    public var seconds: Int64 {
        let (quotient, remainder) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        return remainder < 0 ? quotient - 1 : quotient
    }

    /// Whether the first moment is earlier than the second.
    public static func < (a: Timestamp, b: Timestamp) -> Bool { a.nanoseconds < b.nanoseconds }
}

/// A moment of the monotonic clock, in nanoseconds since an arbitrary origin. Timers and rates use
/// it.
package struct MonotonicInstant: Hashable, Comparable, Sendable {
    /// Nanoseconds since the origin of the clock.
    package var nanoseconds: Int64

    /// Creates a moment from nanoseconds.
    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// Whether the first moment is earlier than the second.
    package static func < (a: MonotonicInstant, b: MonotonicInstant) -> Bool { a.nanoseconds < b.nanoseconds }

    /// The time from the second moment to the first.
    package static func - (a: MonotonicInstant, b: MonotonicInstant) -> Nanoseconds { a.nanoseconds - b.nanoseconds }

    /// The moment that is `b` later, or the last moment that the clock has.
    package static func + (a: MonotonicInstant, b: Nanoseconds) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: a.nanoseconds.addingSaturated(b))
    }
}

/// A span of time in nanoseconds.
package typealias Nanoseconds = Int64

extension Nanoseconds {
    /// The span of `count` milliseconds, clamped to the range of `Int64`.
    package static func milliseconds(_ count: Int64) -> Nanoseconds { count.multipliedSaturated(by: 1_000_000) }
    /// The span of `count` seconds, clamped to the range of `Int64`.
    package static func seconds(_ count: Int64) -> Nanoseconds { count.multipliedSaturated(by: 1_000_000_000) }
}
