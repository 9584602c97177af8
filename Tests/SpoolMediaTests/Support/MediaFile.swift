import SpoolCore
import SpoolMedia
import Testing

/// A file in memory, and what a planner does with it.
struct MediaFile {
    var bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The result of one run of a planner.
    struct Run {
        /// The plan, or nil for a file that cannot be read.
        var plan: MediaPlan?
        /// The reason for which the file cannot be read.
        var reason: String?
        /// The bytes that the planner asked for.
        var read = ByteRangeSet()
        var reads = 0

        /// The planned ranges, in the form of Swift.
        var ranges: [Range<Int64>] { plan?.ranges.ranges.map { $0.lowerBound..<$0.upperBound } ?? [] }
    }

    /// Runs a planner for the first seconds.
    ///
    /// - Parameters:
    ///   - isLengthKnown: Whether the planner gets the length at the beginning. Otherwise it gets it
    ///     when it asks for bytes behind the end.
    ///   - piece: The most bytes that the planner gets at once.
    func plan(
        seconds: Double, limits: MediaLimits = MediaLimits(), isLengthKnown: Bool = true, piece: Int = .max
    ) throws -> Run {
        var planner = MediaPlanner(seconds: seconds, length: isLengthKnown ? Int64(bytes.count) : nil, limits: limits)
        var run = Run()
        // Each step but the last brings at least one byte.
        for _ in 0...2 * bytes.count + 16 {
            switch planner.next() {
            case .read(let range):
                run.reads += 1
                let lower = Int(min(range.lowerBound, Int64(bytes.count)))
                let upper = min(Int(min(range.upperBound, Int64(bytes.count))), piece == .max ? .max : lower + piece)
                guard lower < upper else {
                    planner.ended(at: Int64(bytes.count))
                    continue
                }
                run.read.insert(ByteRange(lower: Int64(lower), upper: Int64(upper)))
                planner.received(Array(bytes[lower..<upper]), at: Int64(lower))
            case .plan(let plan):
                run.plan = plan
                return run
            case .unreadable(let reason):
                run.reason = reason
                return run
            }
        }
        throw Endless()
    }

    /// The planner asked for more bytes than the file has.
    struct Endless: Error {}
}

extension MediaLimits {
    /// Limits with short reads, so that small files need several.
    static var short: MediaLimits {
        var limits = MediaLimits()
        limits.readBytes = 64
        return limits
    }
}

/// A number in network order.
func big(_ value: Int, _ size: Int) -> [UInt8] {
    (0..<size).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
}

/// A number with its least significant byte first.
func little(_ value: Int, _ size: Int) -> [UInt8] { big(value, size).reversed() }

func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }
