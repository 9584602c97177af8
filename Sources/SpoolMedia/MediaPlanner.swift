package import SpoolCore

/// Finds the bytes that a player needs for the first seconds of a media file.
///
/// The planner is a value without I/O. Ask `next()` for the step, fetch the bytes that it requests,
/// hand them over by `received(_:at:)`, and ask again. A file of unknown kind is detected by its
/// first bytes.
///
/// An index as in MP4 gives the place of each sample, so a few reads suffice. The planner reads
/// other containers from the beginning, frame by frame. These reads are the bytes of the plan
/// itself, so they are free.
package struct MediaPlanner {
    /// The next thing to do.
    package enum Step: Hashable, Sendable {
        /// Fetch these bytes, and pass them to `received(_:at:)`.
        case read(ByteRange)
        /// The bytes to have for the seconds.
        case plan(MediaPlan)
        /// The structure cannot be read, for this reason. A caller falls back to a number of bytes.
        case unreadable(String)
    }

    private let limits: MediaLimits
    private let wanted: MediaTime
    private var bytes: KnownBytes
    private var reader: (any ContainerReader)?

    /// Creates a planner for the first `seconds` of a file of `length` bytes.
    ///
    /// - Parameters:
    ///   - seconds: The seconds from the beginning, at most a day. A negative number counts as 0.
    ///   - length: The length of the file, or nil if it is unknown.
    package init(seconds: Double, length: Int64?, limits: MediaLimits = MediaLimits()) {
        wanted = MediaTime(seconds: seconds)
        self.limits = limits
        bytes = KnownBytes(length: length.map { min(max($0, 0), ByteRange.maximumOffset) }, limits: limits)
    }

    /// Takes bytes of the file that begin at `offset`. They may be more or fewer than requested.
    package mutating func received(_ new: [UInt8], at offset: Int64) {
        guard offset >= 0, offset <= ByteRange.maximumOffset else { return }
        bytes.add(new, at: offset)
    }

    /// Ends a file of unknown length: `length` bytes have come, and there are no more.
    package mutating func ended(at length: Int64) {
        if bytes.length == nil { bytes.length = min(max(length, 0), ByteRange.maximumOffset) }
    }

    /// Returns the next step.
    ///
    /// The same step comes again while the bytes that it requests have not arrived.
    package mutating func next() -> Step {
        do throws(MediaReadFailure) {
            if bytes.isEnd(0) { throw .malformed("the file is empty") }
            return .plan(try plan())
        } catch {
            switch error {
            case .missing(let range): return .read(range)
            case .malformed(let reason): return .unreadable(reason)
            }
        }
    }

    private mutating func plan() throws(MediaReadFailure) -> MediaPlan {
        var reader: any ContainerReader
        if let known = self.reader { reader = known } else { reader = try detectContainer(bytes, limits) }
        // A reader that lacks bytes keeps how far it came.
        defer { self.reader = reader }
        var plan = try reader.plan(wanted, &bytes)
        // A file that was cut off has tables of bytes behind its end.
        if let whole = ByteRange(0, bytes.length ?? ByteRange.maximumOffset) { plan.ranges = plan.ranges.intersection(whole) }
        return plan
    }
}

/// Reads one kind of container. Its state holds how far it came, so that it can be run again when
/// more bytes have arrived.
protocol ContainerReader: Sendable {
    /// Returns the plan for the first `wanted` seconds.
    ///
    /// - Throws: `.missing` to be run again with these bytes.
    mutating func plan(_ wanted: MediaTime, _ bytes: inout KnownBytes) throws(MediaReadFailure) -> MediaPlan
}

/// A time in a media file, in nanoseconds from its beginning.
struct MediaTime: Hashable, Comparable, Sendable {
    let nanoseconds: Int64

    /// The margin behind the requested seconds: decoders take some frames ahead of the one that
    /// they show.
    static let margin = MediaTime(nanoseconds: 500_000_000)
    /// The longest time: a day. Sums of two times therefore fit.
    static let maximum = MediaTime(nanoseconds: 86_400_000_000_000)

    init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    init(seconds: Double) {
        let clamped = seconds.isNaN ? 0 : min(max(seconds, 0), 86_400)
        nanoseconds = Int64(saturating: clamped * 1e9)
    }

    /// The time of `ticks` of a clock with `scale` ticks a second, at most `maximum`.
    init(ticks: UInt64, scale: UInt64) {
        guard scale > 0 else {
            self = .maximum
            return
        }
        let (seconds, rest) = ticks.quotientAndRemainder(dividingBy: scale)
        guard seconds < 86_400 else {
            self = .maximum
            return
        }
        let fraction = scale <= 1 << 32 ? rest * 1_000_000_000 / scale : rest / (scale / 1_000_000_000)
        nanoseconds = Int64(seconds) * 1_000_000_000 + Int64(fraction)
    }

    /// The number of ticks of a clock with `scale` ticks a second, rounded up.
    func ticks(scale: UInt64) -> UInt64 {
        let (seconds, rest) = UInt64(nanoseconds).quotientAndRemainder(dividingBy: 1_000_000_000)
        let whole = seconds.multipliedReportingOverflow(by: scale)
        guard !whole.overflow, scale <= 1 << 32 else { return .max }
        let (sum, overflow) = whole.partialValue.addingReportingOverflow((rest * scale + 999_999_999) / 1_000_000_000)
        return overflow ? .max : sum
    }

    static func < (a: Self, b: Self) -> Bool { a.nanoseconds < b.nanoseconds }

    static func + (a: Self, b: Self) -> Self { MediaTime(nanoseconds: min(a.nanoseconds + b.nanoseconds, 2 * maximum.nanoseconds)) }
}
