import Rangeable
import Testing

/// Tests sets of so many intervals that their tree has several levels.
@Suite struct `interval sets of many intervals` {
    /// Returns intervals of 2 values in slots of 4.
    private func islands(_ slots: some Sequence<Int>) -> IntervalSet<Int> {
        IntervalSet(slots.map { $0 * 4...$0 * 4 + 1 })
    }

    @Test func `every order of insertion gives the same set`() {
        var random = SeededGenerator.fromEnvironment()
        let count = 40_000
        let ascending = islands(0..<count), descending = islands((0..<count).reversed())
        let shuffled = islands((0..<count).shuffled(using: &random))
        for set in [ascending, descending, shuffled] {
            set.checkInvariants()
            #expect(set.intervalCount == count)
            #expect(set == ascending, "seed \(random.seed)")
        }
        #expect(shuffled.hashValue == ascending.hashValue)
        #expect(ascending.elementCount == UInt(2 * count))
        #expect(ascending.min == 0)
        #expect(ascending.max == 4 * count - 3)
        #expect(ascending.elementsEqual((0..<count).map { $0 * 4...$0 * 4 + 1 }))
    }

    @Test func `one insertion over everything leaves one interval, and one removal leaves none`() {
        for (first, last) in [(0, 19_999), (1, 19_998), (5000, 19_999), (0, 7000), (127, 128), (300, 19_000)] {
            var inserted = islands(0..<20_000), removed = inserted
            let interval = first * 4 + 1...last * 4
            inserted.insert(interval)
            removed.remove(interval)
            inserted.checkInvariants()
            removed.checkInvariants()
            #expect(inserted.intervalCount == 20_000 - (last - first))
            // The first and the last interval keep one value each.
            #expect(removed.intervalCount == 20_000 - (last - first) + 1)
            #expect(removed.contains(first * 4) && !removed.contains(first * 4 + 1) && removed.contains(last * 4 + 1))
            #expect(inserted.contains(interval))
        }
    }

    @Test func `a set that shrinks to nothing and grows again keeps its invariants`() {
        var random = SeededGenerator.fromEnvironment()
        var set = islands(0..<5000)
        for slot in (0..<5000).shuffled(using: &random) {
            set.remove(slot * 4...slot * 4 + 1)
            if slot.isMultiple(of: 97) { set.checkInvariants() }
        }
        #expect(set.isEmpty, "seed \(random.seed)")
        #expect(set.max == nil)
        set.formUnion(islands(0..<5000))
        #expect(set == islands(0..<5000))
    }

    @Test func `random changes of a large world equal those of the bitmap`() {
        var random = SeededGenerator.fromEnvironment()
        let size: Int64 = 30_000
        var pair = Pair(bitmap: Bitmap<Int64>(0...size - 1))
        for step in 1...30_000 {
            let lower = Int64.random(in: 0..<size, using: &random)
            // Lengths are mostly short, so that the set stays fragmented; rarely one covers a tenth
            // of the world.
            let length = Int64.random(in: 0...(step.isMultiple(of: 5000) ? size / 10 : 2), using: &random)
            let interval = lower...min(lower + length, size - 1)
            if Bool.random(using: &random) { pair.insert(interval) } else { pair.remove(interval) }
            guard step.isMultiple(of: 5000) else { continue }
            pair.set.checkInvariants()
            #expect(pair.set.intervals == pair.bitmap.intervals, "seed \(random.seed), step \(step)")
            let part = lower...min(lower + 3000, size - 1)
            #expect(pair.set.gaps(in: part) == pair.bitmap.runs(of: false, in: part), "seed \(random.seed), step \(step)")
            #expect(pair.set.intervals(in: part) == pair.bitmap.runs(of: true, in: part), "seed \(random.seed), step \(step)")
        }
        #expect(pair.set.intervalCount > 3000)
    }

    @Test func `large and small sets combine like their bitmaps`() {
        var random = SeededGenerator.fromEnvironment()
        for sizes in [(3000, 3000), (3000, 3), (3, 3000), (3000, 0), (0, 3000)] {
            var a = Pair(bitmap: Bitmap<Int64>(0...9999)), b = a
            for _ in 0..<sizes.0 { a.insert(interval(&random)) }
            for _ in 0..<sizes.1 { b.insert(interval(&random)) }
            checkCombinations(a, b, "seed \(random.seed), sizes \(sizes)")
        }
    }

    private func interval(_ random: inout SeededGenerator) -> ClosedRange<Int64> {
        let lower = Int64.random(in: 0...9995, using: &random)
        return lower...lower + Int64.random(in: 0...4, using: &random)
    }
}
