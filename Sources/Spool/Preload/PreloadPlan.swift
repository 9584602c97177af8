package import SpoolCore
import SpoolMedia

/// Decides which bytes a preload reads next. A value without I/O.
package struct PreloadPlan {
    /// The next thing to do.
    package enum Step: Hashable {
        /// Read the range, and pass its bytes to `received` if they are examined. Then pass it to
        /// `passed`.
        case read(ByteRange, isExamined: Bool)
        /// All planned bytes were read.
        case done
    }

    /// The bytes for a second of a file that cannot be read. High-definition video has about as
    /// many.
    private static let bytesPerSecond: Int64 = 1 << 20
    /// The least bytes of a file that cannot be read.
    private static let leastBytes: Int64 = 2 << 20
    /// The most seconds that count: a day.
    private static let mostSeconds: Double = 86_400

    private let amount: PreloadAmount
    private var length: Int64?
    private var planner: MediaPlanner?
    private var passedBytes = ByteRangeSet()
    /// The bytes to have, or nil until they are known.
    package private(set) var planned: ByteRangeSet?
    /// The reason why seconds are preloaded by bytes.
    package private(set) var bytesReason: String?

    /// Creates the plan for a resource whose length is known, or nil.
    package init(_ amount: PreloadAmount, length: Int64?) {
        self.amount = amount
        self.length = length
        switch amount {
        case .bytes(let count): plan(upTo: count)
        case .whole: plan(upTo: .max)
        case .seconds(let seconds): planner = MediaPlanner(seconds: seconds, length: length)
        }
    }

    private mutating func plan(upTo count: Int64) {
        let end = min(count, length ?? ByteRange.maximumOffset, ByteRange.maximumOffset)
        planned = ByteRangeSet(ByteRange(0, end).map { [$0] } ?? [])
    }

    /// The progress of the plan.
    package var progress: PreloadProgress {
        // A resource of unknown length has no known total.
        let isOpen = planned?.upperBound == ByteRange.maximumOffset
        return PreloadProgress(doneBytes: passedBytes.totalBytes, totalBytes: isOpen ? nil : planned?.totalBytes)
    }

    /// Returns the next step.
    package mutating func next() -> Step {
        if let step = examine() { return step }
        guard let gap = planned?.subtracting(passedBytes).ranges.first else { return .done }
        return .read(gap, isExamined: false)
    }

    /// Asks the planner until it has a plan.
    private mutating func examine() -> Step? {
        switch planner?.next() {
        case nil: return nil
        case .read(let range): return .read(range, isExamined: true)
        case .plan(let plan): planned = plan.ranges
        case .unreadable(let reason): giveUp(reason)
        }
        planner = nil
        return nil
    }

    /// Plans seconds by bytes, for this reason.
    private mutating func giveUp(_ reason: String) {
        planner = nil
        bytesReason = reason
        plan(upTo: Self.bytes(for: amount))
    }

    private static func bytes(for amount: PreloadAmount) -> Int64 {
        guard case .seconds(let seconds) = amount, seconds > 0 else { return leastBytes }
        return max(leastBytes, Int64(min(seconds, mostSeconds) * Double(bytesPerSecond)))
    }

    /// Takes examined bytes.
    package mutating func received(_ bytes: [UInt8], at offset: Int64) { planner?.received(bytes, at: offset) }

    /// Counts bytes that were read.
    package mutating func passed(_ range: ByteRange) { passedBytes.insert(range) }

    /// Ends the resource at `offset`, before the end of the range that was being read.
    package mutating func ended(at offset: Int64) {
        if planner != nil, let length, offset < length { giveUp("it ends at byte \(offset), before its length of \(length)") }
        length = min(length ?? .max, offset)
        planner?.ended(at: offset)
        planned = planned.map { planned in ByteRange(0, offset).map { planned.intersection($0) } ?? ByteRangeSet() }
    }
}
