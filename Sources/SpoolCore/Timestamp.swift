/// A moment of wall-clock time, in nanoseconds since 1970-01-01T00:00:00Z.
///
/// Used for what HTTP says about time and for access times; never for timers, which are monotonic.
public struct Timestamp: Hashable, Comparable, Sendable {
    /// Nanoseconds since 1970-01-01T00:00:00Z; negative before.
    public var nanoseconds: Int64

    public init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// A moment in whole seconds since 1970; clamped to what nanoseconds can express (the years 1678 to 2262).
    public init(seconds: Int64) {
        let (value, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        nanoseconds = overflow ? (seconds < 0 ? .min : .max) : value
    }

    /// Whole seconds since 1970, rounded down.
    public var seconds: Int64 {
        let (quotient, remainder) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        return remainder < 0 ? quotient - 1 : quotient
    }

    public static func < (a: Timestamp, b: Timestamp) -> Bool { a.nanoseconds < b.nanoseconds }
}

/// A moment of the monotonic clock, in nanoseconds since an arbitrary origin; what timers and rates use.
package struct MonotonicInstant: Hashable, Comparable, Sendable {
    package var nanoseconds: Int64

    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    package static func < (a: MonotonicInstant, b: MonotonicInstant) -> Bool { a.nanoseconds < b.nanoseconds }

    package static func - (a: MonotonicInstant, b: MonotonicInstant) -> Nanoseconds { a.nanoseconds - b.nanoseconds }

    package static func + (a: MonotonicInstant, b: Nanoseconds) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: a.nanoseconds + b)
    }
}

/// A span of time in nanoseconds.
package typealias Nanoseconds = Int64

extension Nanoseconds {
    package static func milliseconds(_ count: Int64) -> Nanoseconds { count * 1_000_000 }
    package static func seconds(_ count: Int64) -> Nanoseconds { count * 1_000_000_000 }
}
