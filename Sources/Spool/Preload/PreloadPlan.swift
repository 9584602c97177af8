package import SpoolCore
package import SpoolManifests
package import SpoolMedia

/// Decides which bytes a preload reads next. A value without I/O.
package struct PreloadPlan {
    /// The next thing to do.
    package enum Step: Hashable {
        /// Read the range, and pass its bytes to `received` if they are examined. Then pass it to
        /// `passed`.
        case read(ByteRange, isExamined: Bool)
        /// The resource is a manifest, with these bytes.
        case manifest([UInt8])
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

    /// The seconds before a time in the middle whose samples are planned as well, and the margin of
    /// a plan: most encoders set a picture that stands alone at least every 4 seconds.
    private static let leadSeconds: Double = 4.5

    /// The first bytes that decide whether a resource is a manifest.
    private static let mostHeadBytes: Int64 = 8
    /// The most bytes of a resource that a common type makes a suspect.
    private static let possibleBytes = Int(Representation.maxVagueBytes)

    /// The search for a manifest.
    private enum Search {
        /// The resource is no manifest.
        case over
        /// The first bytes that were read, and the most that are. `isWhole` is whether one read
        /// takes all of them.
        case bytes([UInt8], limit: Int, isWhole: Bool)
    }

    private let amount: PreloadAmount
    private let limits: MediaLimits
    private var search = Search.over
    private var length: Int64?
    /// The planners of seconds at the beginning: one. Of seconds in the middle: for the headers
    /// alone, for what lies before them, and for the file up to their end. A planner that has its
    /// plan is nil.
    private var planners: [MediaPlanner?] = []
    /// The results of the planners, in their order.
    private var plans: [ByteRangeSet] = []
    /// The bytes that were read.
    private(set) var passedBytes = ByteRangeSet()
    /// The bytes to have, or nil until they are known.
    package private(set) var planned: ByteRangeSet?
    /// The reason why seconds are preloaded by bytes.
    package private(set) var bytesReason: String?

    /// Creates the plan for a resource whose length is known, or nil.
    ///
    /// - Parameter suspicion: Whether the resource may be the manifest of a presentation. Then it
    ///   is read as a whole.
    package init(_ amount: PreloadAmount, length: Int64?, suspicion: ManifestSuspicion = .none, limits: MediaLimits = MediaLimits()) {
        self.amount = amount.ofFile
        self.limits = limits
        self.length = length
        let isNamed = suspicion == .named, limit = isNamed ? ManifestLimits().maxBytes : Self.possibleBytes
        if suspicion != .none, length ?? 0 <= Int64(limit) { search = .bytes([], limit: limit, isWhole: isNamed) } else { begin() }
    }

    /// Creates the plan for a range of a resource.
    package init(_ range: ByteRange, length: Int64?) {
        amount = .whole
        limits = MediaLimits()
        self.length = length
        planned = ByteRangeSet([range])
        if let length { ended(at: length) }
    }

    /// Plans what was asked for.
    private mutating func begin() {
        search = .over
        switch amount {
        case .bytes(let count, let start): plan(upTo: max(0, start).addingSaturated(max(0, count)), from: max(0, start))
        case .whole, .segments: plan(upTo: .max)
        case .seconds(let seconds, let begin):
            let times = begin > 0 ? [0, begin - Self.leadSeconds, begin + max(0, seconds)] : [seconds]
            planners = times.map { MediaPlanner(seconds: $0, length: length, limits: limits) }
            plans = planners.map { _ in ByteRangeSet() }
        }
    }

    private mutating func plan(upTo end: Int64, from start: Int64 = 0) {
        let end = min(end, length ?? ByteRange.maximumOffset, ByteRange.maximumOffset)
        planned = ByteRangeSet(ByteRange(start, end).map { [$0] } ?? [])
    }

    /// The progress of the plan.
    package var progress: PreloadProgress {
        // A resource of unknown length has no known total.
        let isOpen = planned?.upperBound == ByteRange.maximumOffset
        return PreloadProgress(doneBytes: passedBytes.totalBytes, totalBytes: isOpen ? nil : planned?.totalBytes)
    }

    /// Returns the next step.
    package mutating func next() -> Step {
        if let step = searched() { return step }
        if let step = examine() { return step }
        guard let gap = planned?.subtracting(passedBytes).ranges.first else { return .done }
        return .read(gap, isExamined: false)
    }

    /// Returns the next step of the search for a manifest, or nil once the resource is known to be
    /// none.
    private mutating func searched() -> Step? {
        guard case .bytes(let bytes, let limit, let isWhole) = search else { return nil }
        guard !isMisled, bytes.count <= limit else {
            begin()
            return nil
        }
        if bytes.count < length ?? .max {
            // Two reads of a response that must not be stored are two requests. So a resource that
            // has the type or the name of a manifest is read in one.
            return Self.reading(bytes.count, isWhole || bytes.count >= headBytes ? Int(length ?? Int64(limit + 1)) : headBytes)
        }
        planned = ByteRangeSet(ByteRange(0, Int64(bytes.count)).map { [$0] } ?? [])
        return .manifest(bytes)
    }

    /// Whether the first bytes show that the resource is no manifest, so that the rest of the range
    /// is not needed.
    var isMisled: Bool {
        guard case .bytes(let bytes, _, _) = search else { return false }
        return bytes.count >= headBytes && !ManifestReader.mayBegin(bytes.prefix(headBytes))
    }

    /// The number of first bytes that decide whether the resource is a manifest.
    private var headBytes: Int { Int(min(length ?? Self.mostHeadBytes, Self.mostHeadBytes)) }

    private static func reading(_ lower: Int, _ upper: Int) -> Step? {
        ByteRange(Int64(lower), Int64(upper)).map { .read($0, isExamined: true) }
    }

    /// Asks the planners until each has a plan.
    ///
    /// All planners move through the file together, so each releases the bytes behind it. The first
    /// without a plan, which is that of the fewest seconds, decides what is read next.
    private mutating func examine() -> Step? {
        guard !planners.isEmpty else { return nil }
        var read: ByteRange?
        for index in planners.indices {
            switch planners[index]?.next() {
            case .read(let range): read = read ?? range
            case .plan(let plan): (planners[index], plans[index]) = (nil, plan.ranges)
            case .unreadable(let reason):
                giveUp(reason)
                return nil
            case nil: break
            }
        }
        if let read { return .read(read, isExamined: true) }
        planners = []
        planned = plans.count == 3 ? plans[2].subtracting(plans[1]).union(plans[0]) : plans[0]
        return nil
    }

    /// Plans seconds by bytes, for this reason.
    private mutating func giveUp(_ reason: String) {
        planners = []
        bytesReason = reason
        plan(upTo: Self.bytes(for: amount))
    }

    private static func bytes(for amount: PreloadAmount) -> Int64 {
        guard case .seconds(let seconds, _) = amount, seconds > 0 else { return leastBytes }
        return max(leastBytes, Int64(saturating: min(seconds, mostSeconds) * Double(bytesPerSecond)))
    }

    /// Takes examined bytes.
    package mutating func received(_ bytes: [UInt8], at offset: Int64) {
        switch search {
        case .over: for index in planners.indices { planners[index]?.received(bytes, at: offset) }
        case .bytes(let known, let limit, let isWhole):
            // The bytes are moved, so that a long manifest is not copied for each chunk.
            search = .over
            var all = known
            if offset == all.count { all += bytes }
            search = .bytes(all, limit: limit, isWhole: isWhole)
        }
    }

    /// Counts bytes that were read.
    package mutating func passed(_ range: ByteRange) { passedBytes.insert(range) }

    /// Ends the resource at `offset`, before the end of the range that was being read.
    package mutating func ended(at offset: Int64) {
        if !planners.isEmpty, let length, offset < length { giveUp("it ends at byte \(offset), before its length of \(length)") }
        length = min(length ?? .max, offset)
        for index in planners.indices { planners[index]?.ended(at: offset) }
        planned = planned.map { planned in ByteRange(0, offset).map { planned.intersection($0) } ?? ByteRangeSet() }
    }
}
