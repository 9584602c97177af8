import Rangeable

/// Four calls on a container of elements, repeated, in this process: an insertion, a stab, a first
/// gap and transitions.
///
/// The containers differ in size only: at every place two or three of eight elements are active,
/// before the clock starts and after. So any additional cost in a large container is the price of
/// its size. Three queries of four are at the place of the insertion, the fourth at a random place,
/// as after a seek.
///
/// Small containers take turns, so that none stays in the processor's nearest caches, as a large
/// one does not. Distant memory is the price of much memory, in any number of containers.
struct RangeableRow: Row {
    let name = "rangeable"
    let ours = "100000"

    private static let counts = [10, 1000, 10_000, 100_000, 1_000_000]
    private static let rounds = 10
    private static let leastGroups = 2000
    /// So few insertions do not change a container's density.
    private static func groups(_ count: Int) -> Int { min(max(1, count / 10), leastGroups) }

    func run(on bench: Workbench) throws -> [Measure] {
        var time = Measure("group", "ns CPU")
        for round in 0...(bench.options.rounds ?? Self.rounds) {
            for count in Self.counts {
                let work = RangeableWork(count: count, measured: Self.groups(count), seed: UInt64(round))
                let value = try work.averageNanoseconds(max(1, Self.leastGroups / work.groups.count))
                if round > 0 { time.add(value, of: "\(count)") }
            }
        }
        return [time]
    }
}

/// The calls of one round.
private struct RangeableWork {
    /// The elements in the container when the clock starts.
    let before: [Int]
    let groups: [(number: Int, place: Int)]

    init(count: Int, measured: Int, seed: UInt64) {
        var random = SplitMix(seed: seed)
        let numbers = Array(0..<count).shuffled(using: &random)
        before = numbers[measured...].sorted()
        groups = numbers[..<measured].enumerated().map { index, number in
            let start = Self.range(number).lowerBound
            return (number, index % 4 == 3 ? Int.random(in: 0..<count * 10, using: &random) : start)
        }
    }

    /// An element's intervals begin every 80 and are 26 long. One interval begins every 10.
    private static func range(_ number: Int) -> ClosedRange<Int> { number * 10...number * 10 + 25 }
    private static func element(_ number: Int) -> Int { number % 8 }

    /// Returns the CPU time of one group of calls, averaged over all.
    func averageNanoseconds(_ repeats: Int) throws -> Double {
        var found = 0
        var containers = try (0..<repeats).map { _ in
            try before.reduce(into: Rangeable<Int>()) { try Self.insert($1, into: &$0) }
        }
        let start = ownCPUNanoseconds()
        for turn in containers.indices {
            for (number, place) in groups {
                try Self.insert(number, into: &containers[turn])
                found += containers[turn][place].count
                found += containers[turn].intervals(of: Self.element(number)).firstGap(in: place...place + 99) == nil ? 0 : 1
                found += containers[turn].transitions(over: place...place + 30).count
            }
        }
        let total = ownCPUNanoseconds() - start
        // The results are used, so that no compiler can remove the queries.
        precondition(found >= 0)
        return Double(total) / Double(repeats * groups.count)
    }

    private static func insert(_ number: Int, into container: inout Rangeable<Int>) throws {
        let range = range(number)
        try container.insert(element(number), start: range.lowerBound, end: range.upperBound)
    }
}
