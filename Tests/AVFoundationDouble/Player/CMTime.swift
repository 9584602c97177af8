/// A time or duration of media, as a fraction.
public struct CMTime: Comparable, Sendable {
    /// The numerator, in units of the timescale.
    public var value: Int64
    /// The number of units in a second.
    public var timescale: Int32
    /// Whether the time is valid.
    public var isValid: Bool
    /// Whether the time is indefinite.
    public var isIndefinite: Bool

    /// Makes a time from a fraction.
    public init(value: Int64, timescale: Int32) {
        self.init(value: value, timescale: timescale, isValid: timescale > 0, isIndefinite: false)
    }

    /// Makes a time from seconds, rounded to the timescale.
    public init(seconds: Double, preferredTimescale: Int32) {
        self.init(value: Int64((seconds * Double(preferredTimescale)).rounded()), timescale: preferredTimescale)
    }

    private init(value: Int64, timescale: Int32, isValid: Bool, isIndefinite: Bool) {
        self.value = value
        self.timescale = timescale
        self.isValid = isValid
        self.isIndefinite = isIndefinite
    }

    /// Zero seconds.
    public static let zero = CMTime(value: 0, timescale: 1)
    /// An invalid time.
    public static let invalid = CMTime(value: 0, timescale: 0)
    /// A time without a definite value.
    public static let indefinite = CMTime(value: 0, timescale: 0, isValid: true, isIndefinite: true)

    /// Whether the time has a value.
    public var isNumeric: Bool { isValid && !isIndefinite }

    /// The time in seconds, or NaN if the time is not numeric.
    public var seconds: Double { isNumeric ? Double(value) / Double(timescale) : .nan }

    /// Compares the seconds.
    public static func < (left: CMTime, right: CMTime) -> Bool { left.seconds < right.seconds }
    /// Compares the seconds of numeric times, and the flags of others.
    public static func == (left: CMTime, right: CMTime) -> Bool {
        left.isNumeric && right.isNumeric
            ? left.seconds == right.seconds : left.isValid == right.isValid && left.isIndefinite == right.isIndefinite
    }
}

/// A range of media time.
public struct CMTimeRange: Equatable, Sendable {
    /// The start of the range.
    public var start: CMTime
    /// The length of the range.
    public var duration: CMTime

    /// Makes a range.
    public init(start: CMTime, duration: CMTime) {
        self.start = start
        self.duration = duration
    }

    /// The end of the range.
    public var end: CMTime { CMTime(seconds: start.seconds + duration.seconds, preferredTimescale: 1000) }
}
