/// A time or duration of media, as a fraction.
public struct CMTime: Comparable, Sendable {
    public var value: Int64
    public var timescale: Int32
    public var isValid: Bool
    public var isIndefinite: Bool

    public init(value: Int64, timescale: Int32) {
        self.init(value: value, timescale: timescale, isValid: timescale > 0, isIndefinite: false)
    }

    public init(seconds: Double, preferredTimescale: Int32) {
        self.init(value: Int64((seconds * Double(preferredTimescale)).rounded()), timescale: preferredTimescale)
    }

    private init(value: Int64, timescale: Int32, isValid: Bool, isIndefinite: Bool) {
        self.value = value
        self.timescale = timescale
        self.isValid = isValid
        self.isIndefinite = isIndefinite
    }

    public static let zero = CMTime(value: 0, timescale: 1)
    public static let invalid = CMTime(value: 0, timescale: 0)
    public static let indefinite = CMTime(value: 0, timescale: 0, isValid: true, isIndefinite: true)

    public var isNumeric: Bool { isValid && !isIndefinite }

    /// The time in seconds, or NaN if the time is not numeric.
    public var seconds: Double { isNumeric ? Double(value) / Double(timescale) : .nan }

    public static func < (left: CMTime, right: CMTime) -> Bool { left.seconds < right.seconds }
    public static func == (left: CMTime, right: CMTime) -> Bool {
        left.isNumeric && right.isNumeric
            ? left.seconds == right.seconds : left.isValid == right.isValid && left.isIndefinite == right.isIndefinite
    }
}

/// A range of media time.
public struct CMTimeRange: Equatable, Sendable {
    public var start: CMTime
    public var duration: CMTime

    public init(start: CMTime, duration: CMTime) {
        self.start = start
        self.duration = duration
    }

    public var end: CMTime { CMTime(seconds: start.seconds + duration.seconds, preferredTimescale: 1000) }
}
