import Foundation
import Rangeable

/// An insertion of an interval followed by a query, repeated, in this process.
///
/// Up to 1000 intervals the set grows from nothing. Beyond, it has all but the last 2000 when the
/// clock starts. No two intervals touch.
struct IntervalRow: Row {
    let count: Int
    let order: IntervalOrder

    let ours = "IntervalSet"
    var name: String { order == .random ? "interval-\(count)" : "interval-ordered-\(count)" }

    private static let rounds = 10
    private static let slowRounds = 3
    private static let measuredPairs = 2000
    /// A round of small sets is repeated until it has this many insertions.
    private static let leastInsertions = 20_000
    /// The largest size for peers. Beyond it, an insertion into a flat array would delay all other
    /// rows.
    private static let mostIntervalsOfPeers = 100_000

    func run(on bench: Workbench) throws -> [Measure] {
        var time = Measure("pair", "ns CPU")
        let rounds = bench.options.rounds ?? (count > 10_000 ? Self.slowRounds : Self.rounds)
        for round in 0...rounds {
            let work = IntervalWork(
                count: count, measured: count > 1000 ? Self.measuredPairs : count, order: order, seed: UInt64(round))
            let repeats = max(1, Self.leastInsertions / work.insertions.count / (count > 1000 ? 10 : 1))
            var results = [("IntervalSet", work.averageNanoseconds(repeats, empty: { IntervalSet<Int>() }))]
            if count <= Self.mostIntervalsOfPeers {
                results += [
                    ("IndexSet", work.averageNanoseconds(repeats, empty: { IndexSet() })),
                    ("RangeSet", work.averageNanoseconds(repeats, empty: { RangeSet<Int>() })),
                ]
            }
            guard round > 0 else { continue }
            for (program, value) in results { time.add(value, of: program) }
        }
        return [time]
    }
}

/// The order of the intervals.
enum IntervalOrder {
    /// Insertions and queries at random places.
    case random
    /// The order of a cache's stored bytes: one interval after the other, with queries nearby. Each
    /// sixteenth is at a random place, as after a seek.
    case mostlySequential

    static let seekInterval = 16
}

/// The insertions and queries of one round, the same for every kind of set.
private struct IntervalWork {
    /// The intervals in the set when the clock starts, in ascending order.
    let before: [Range<Int>]
    let insertions: [Range<Int>]
    let queries: [Range<Int>]

    var count: Int { before.count + insertions.count }

    /// Islands of 10 in slots of 20.
    init(count: Int, measured: Int, order: IntervalOrder, seed: UInt64) {
        var random = SplitMix(seed: seed)
        let slots = Self.slots(count: count, order, &random)
        func island(_ slot: Int) -> Range<Int> { slot * 20..<slot * 20 + 10 }
        before = slots[..<(count - measured)].sorted().map(island)
        insertions = slots[(count - measured)...].map(island)
        queries = insertions.enumerated().map { index, insertion in
            let isAnywhere = order == .random || index % IntervalOrder.seekInterval == 0
            let place = isAnywhere ? Int.random(in: 0..<count * 20, using: &random) : insertion.lowerBound
            let lower = isAnywhere ? place : max(0, place - Int.random(in: 0..<100, using: &random))
            return lower..<lower + 5
        }
    }

    /// Returns all slots, in the order of insertion.
    private static func slots(count: Int, _ order: IntervalOrder, _ random: inout SplitMix) -> [Int] {
        let shuffled = Array(0..<count).shuffled(using: &random)
        guard order == .mostlySequential else { return shuffled }
        var seeks = shuffled[..<(count / IntervalOrder.seekInterval)]
        var others = shuffled[seeks.endIndex...].sorted()[...]
        return (0..<count).map { index in
            let isSeek = index % IntervalOrder.seekInterval == IntervalOrder.seekInterval - 1
            return (isSeek ? seeks.popLast() : others.popFirst()) ?? others.popFirst() ?? seeks.removeLast()
        }
    }

    /// Returns the CPU time of one insertion and one query, averaged over all.
    func averageNanoseconds<Set: BenchmarkedSet>(_ repeats: Int, empty: () -> Set) -> Double {
        var found = 0
        // Each set is filled separately. A copy of another would copy its storage inside the
        // measured time.
        var sets = (0..<repeats).map { _ in
            before.reduce(into: empty()) { $0.insertRange($1) }
        }
        let start = ownCPUNanoseconds()
        for turn in sets.indices {
            for index in insertions.indices {
                sets[turn].insertRange(insertions[index])
                if sets[turn].containsRange(queries[index]) { found += 1 }
            }
        }
        let total = ownCPUNanoseconds() - start
        // The results are used, so that no compiler can remove the queries.
        precondition(found >= 0)
        return Double(total) / Double(repeats * insertions.count)
    }
}

/// The common operations of the three kinds of sets.
private protocol BenchmarkedSet {
    mutating func insertRange(_ range: Range<Int>)
    func containsRange(_ range: Range<Int>) -> Bool
}

extension IntervalSet: BenchmarkedSet where Bound == Int {
    fileprivate mutating func insertRange(_ range: Range<Int>) { insert(range) }
    fileprivate func containsRange(_ range: Range<Int>) -> Bool { contains(range) }
}

extension IndexSet: BenchmarkedSet {
    fileprivate mutating func insertRange(_ range: Range<Int>) { insert(integersIn: range) }
    fileprivate func containsRange(_ range: Range<Int>) -> Bool { contains(integersIn: range) }
}

extension RangeSet: BenchmarkedSet where Bound == Int {
    fileprivate mutating func insertRange(_ range: Range<Int>) { insert(contentsOf: range) }
    /// The standard library's set has no such query. Its ranges are sorted, so a binary search
    /// finds the answer.
    fileprivate func containsRange(_ range: Range<Int>) -> Bool {
        let ranges = self.ranges
        var low = 0, high = ranges.count
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].upperBound <= range.lowerBound { low = middle + 1 } else { high = middle }
        }
        return low < ranges.count && ranges[low].lowerBound <= range.lowerBound && ranges[low].upperBound >= range.upperBound
    }
}
