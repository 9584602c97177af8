import Rangeable
import Testing

/// Tests every set and every range of small worlds that reach both ends of their type, against a
/// bitmap.
@Suite struct `interval sets of a small world` {
    @Test func `every set of unsigned bytes made of cells equals its bitmap`() {
        forEverySet(of: UInt8.self, check: checkQuestionsAndChanges)
    }

    @Test func `every set of signed bytes made of cells equals its bitmap`() {
        forEverySet(of: Int8.self, check: checkQuestionsAndChanges)
    }

    @Test func `every pair of sets combines like its bitmaps`() {
        let all = sets(of: Int8.self, cells: cells(of: Int8.self, atEachEnd: 2))
        for a in all {
            for b in all { checkAlgebra(a, b) }
        }
    }

    // MARK: The world

    /// Single values at both ends of the type and one cell for all values between, which cover each
    /// case of touching and overlap.
    private func cells<Bound: FixedWidthInteger & Sendable>(of type: Bound.Type, atEachEnd count: Bound) -> [ClosedRange<Bound>] {
        let low = (0..<count).map { Bound.min + $0...Bound.min + $0 }
        let high = (0..<count).reversed().map { Bound.max - $0...Bound.max - $0 }
        return low + [Bound.min + count...Bound.max - count] + high
    }

    private func sets<Bound>(of type: Bound.Type, cells: [ClosedRange<Bound>]) -> [Pair<Bound>] {
        (0..<1 << cells.count).map { mask in
            var pair = Pair(bitmap: Bitmap(Bound.min...Bound.max))
            // The order alternates between down and up, so that insertions come from every side.
            let order = mask.isMultiple(of: 2) ? Array(cells.indices) : cells.indices.reversed()
            for index in order where mask & 1 << index != 0 { pair.insert(cells[index]) }
            return pair
        }
    }

    private func forEverySet<Bound>(of type: Bound.Type, check: (Pair<Bound>, ClosedRange<Bound>) -> Void) {
        let cells = cells(of: type, atEachEnd: 4)
        for pair in sets(of: type, cells: cells) {
            pair.set.checkInvariants()
            #expect(pair.set.intervals == pair.bitmap.intervals)
            for first in cells.indices {
                for last in first..<cells.count {
                    check(pair, cells[first].lowerBound...cells[last].upperBound)
                }
            }
        }
    }

    // MARK: The checks

    private func checkQuestionsAndChanges<Bound>(_ pair: Pair<Bound>, _ interval: ClosedRange<Bound>) {
        let (set, bitmap) = (pair.set, pair.bitmap)
        let members = bitmap.runs(of: true, in: interval), gaps = bitmap.runs(of: false, in: interval)
        let context = "\(set), \(interval)"

        #expect(set.contains(interval.lowerBound) == bitmap[interval.lowerBound], "\(context)")
        #expect(set.contains(interval) == gaps.isEmpty, "\(context)")
        #expect(set.gaps(in: interval) == gaps, "\(context)")
        #expect(set.firstGap(in: interval) == gaps.first, "\(context)")
        #expect(set.intervals(in: interval) == members, "\(context)")
        #expect(set.intersection(interval).intervals == members, "\(context)")
        let prefix = members.first.flatMap { $0.lowerBound == interval.lowerBound ? $0 : nil }
        #expect(set.prefix(from: interval.lowerBound, through: interval.upperBound) == prefix, "\(context)")
        let onward = bitmap.runs(of: true, in: interval.lowerBound...Bound.max).first
        #expect(set.firstInterval(atOrAfter: interval.lowerBound) == onward, "\(context)")

        let runs = set.runs(in: interval)
        #expect(runs.filter(\.isMember).map(\.interval) == members, "\(context)")
        #expect(runs.filter { !$0.isMember }.map(\.interval) == gaps, "\(context)")
        #expect(runs.map(\.interval.lowerBound) == runs.map(\.interval.lowerBound).sorted(), "\(context)")

        var inserted = pair, removed = pair
        inserted.insert(interval)
        removed.remove(interval)
        inserted.set.checkInvariants()
        removed.set.checkInvariants()
        #expect(inserted.set.intervals == inserted.bitmap.intervals, "\(context)")
        #expect(removed.set.intervals == removed.bitmap.intervals, "\(context)")
    }

    private func checkAlgebra(_ a: Pair<Int8>, _ b: Pair<Int8>) {
        let context = "\(a.set), \(b.set)"
        checkCombinations(a, b, context)
        #expect((a.set == b.set) == (a.bitmap == b.bitmap), "\(context)")
        #expect(a.set.elementCount.map(Int.init) ?? 256 == a.bitmap.bits.filter { $0 }.count, "\(context)")
    }
}
