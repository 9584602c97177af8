import Rangeable
import Testing

/// Tests every container of a small world, and random ones of large worlds, against a naive model,
/// in the middle of the integers and at both ends.
@Suite struct `containers of a small world` {
    private static func worlds(_ width: Int) -> [ClosedRange<Int>] {
        [0...width - 1, Int.min...Int.min + width - 1, Int.max - width + 1...Int.max]
    }

    /// Returns every container of two elements, in both orders.
    private func containers(_ world: ClosedRange<Int>) throws -> [RangeableTwins] {
        let width = world.upperBound - world.lowerBound + 1
        return try [[0, 1], [1, 0]].flatMap { order in
            try (0..<1 << (2 * width)).map { mask in
                var twins = RangeableTwins(world)
                for element in order {
                    for offset in 0..<width where mask >> (element * width + offset) & 1 == 1 {
                        try twins.insert(element, offset...offset)
                    }
                }
                return twins
            }
        }
    }

    @Test(arguments: worlds(4))
    func `every query and change of every container matches the model`(world: ClosedRange<Int>) throws {
        let intervals = allIntervals(below: 4)
        for twins in try containers(world) {
            #expect(twins.areSame)
            #expect(twins.differences(stabs: 0..<4, ranges: intervals) == [])
            for interval in intervals {
                for element in 0...1 {
                    check(twins) { $0.remove(element, interval) }
                    try check(twins) { try $0.insert(element, interval) }
                }
                check(twins) { $0.removeRanges(interval) }
            }
            check(twins) { $0.remove(1) }
            check(twins) { $0.removeAll() }
        }
    }

    private func check(_ twins: RangeableTwins, _ change: (inout RangeableTwins) throws -> Void) rethrows {
        var changed = twins
        try change(&changed)
        #expect(changed.areSame, "\(twins.container) became \(changed.container)")
        let moves = changed.container.version - twins.container.version
        #expect(moves == (changed.model == twins.model ? 0 : 1), "\(twins.container) became \(changed.container)")
    }

    @Test func `every pair of containers combines like its models`() throws {
        let all = try containers(0...2)
        // The first half has one order of the elements; the other half would only swap their names.
        for a in all.prefix(all.count / 2) {
            for b in all { check(a, b) }
        }
    }

    private func check(_ a: RangeableTwins, _ b: RangeableTwins) {
        typealias Change = (inout Rangeable<Int>) -> Void
        let operations: [(Rangeable<Int>, Change, (Bool, Bool) -> Bool)] = [
            (a.container.union(b.container), { $0.formUnion(b.container) }, { $0 || $1 }),
            (a.container.intersection(b.container), { $0.formIntersection(b.container) }, { $0 && $1 }),
            (a.container.subtracting(b.container), { $0.subtract(b.container) }, { $0 && !$1 }),
            (a.container.symmetricDifference(b.container), { $0.formSymmetricDifference(b.container) }, { $0 != $1 }),
        ]
        for (result, change, rule) in operations {
            var twins = a
            twins.container = result
            twins.model = a.model.combined(with: b.model, rule)
            #expect(twins.areSame, "\(a.container) with \(b.container) gave \(result)")

            var changed = a.container
            change(&changed)
            #expect(changed == result)
            #expect(changed.version - a.container.version == (twins.model == a.model ? 0 : 1))
        }
    }

    // MARK: Large worlds

    @Test(arguments: worlds(600))
    func `random changes of a large world match the model`(world: ClosedRange<Int>) throws {
        var random = SeededGenerator.fromEnvironment()
        var twins = RangeableTwins(world)
        for step in 0..<2000 {
            try change(&twins, &random)
            guard step.isMultiple(of: 25) else { continue }
            let context = "seed \(random.seed), step \(step)"
            twins.container.checkInvariants()
            #expect(twins.areSame, "\(context)")
            let stabs = (0..<6).map { _ in Int.random(in: 0..<600, using: &random) }
            #expect(twins.differences(stabs: stabs, ranges: [interval(&random, 600), 0...599]) == [], "\(context)")
        }
    }

    @Test func `random set operations of large worlds match the model`() throws {
        var random = SeededGenerator.fromEnvironment()
        for round in 0..<20 {
            var a = RangeableTwins(0...599), b = a
            for _ in 0..<Int.random(in: 0...150, using: &random) { try change(&a, &random) }
            for _ in 0..<Int.random(in: 0...150, using: &random) { try change(&b, &random) }
            check(a, b)
            a.container.formSymmetricDifference(b.container)
            a.container.checkInvariants()
            #expect(Bool(true), "seed \(random.seed), round \(round)")
        }
    }

    /// Makes mostly short intervals, so that the world stays fragmented, and rarely a large
    /// removal.
    private func change(_ twins: inout RangeableTwins, _ random: inout SeededGenerator) throws {
        let element = Int.random(in: 0..<12, using: &random)
        switch Int.random(in: 0..<200, using: &random) {
        case 0: twins.remove(element)
        case 1: twins.removeRanges(interval(&random, 600))
        case 2: twins.remove(element, interval(&random, 600))
        case 3: if Int.random(in: 0..<10, using: &random) == 0 { twins.removeAll() }
        case 4..<10: try twins.insert(element, interval(&random, 100))
        case 10..<140: try twins.insert(element, interval(&random, 6))
        default: twins.remove(element, interval(&random, 6))
        }
    }

    private func interval(_ random: inout SeededGenerator, _ length: Int) -> ClosedRange<Int> {
        let lower = Int.random(in: 0..<600, using: &random)
        return lower...min(599, lower + Int.random(in: 0..<length, using: &random))
    }
}
