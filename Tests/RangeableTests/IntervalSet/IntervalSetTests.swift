import Foundation
import Rangeable
import Testing

@Suite struct `interval sets` {
    @Test func `intervals that touch merge, and a gap of one keeps them apart`() {
        var set = IntervalSet<Int>([0...9, 10...19])
        #expect(set.intervals == [0...19])
        set.insert(21...30)
        #expect(set.intervals == [0...19, 21...30])
        set.insert(20...20)
        #expect(set.intervals == [0...30])
    }

    @Test func `an insertion that covers many intervals leaves one`() {
        var set = IntervalSet<Int>([10...11, 20...21, 30...31, 50...51])
        set.insert(5...40)
        #expect(set.intervals == [5...40, 50...51])
    }

    @Test func `an insertion inside an interval changes nothing`() {
        var set = IntervalSet<Int>([0...100, 200...300])
        let before = set
        set.insert(10...20)
        set.insert(200...300)
        #expect(set == before)
    }

    @Test func `an empty range is contained in every set and changes none`() {
        var set = IntervalSet<Int>([0...3])
        set.insert(7..<7)
        set.remove(2..<2)
        #expect(set.intervals == [0...3])
        #expect(set.contains(9..<9))
        #expect(set.gaps(in: 9..<9).isEmpty)
        #expect(set.firstGap(in: 9..<9) == nil)
        #expect(set.prefix(from: 2, upTo: 2) == nil)
    }

    @Test func `half-open queries have half-open results`() {
        let set = IntervalSet<Int>([5...9, 15...19])
        #expect(set.gaps(in: 0..<20) == [0..<5, 10..<15])
        #expect(set.firstGap(in: 5..<20) == 10..<15)
        #expect(set.prefix(from: 6, upTo: 100) == 6..<10)
        #expect(set.prefix(from: 6, upTo: 8) == 6..<8)
        #expect(set.prefix(from: 4, upTo: 8) == nil)
        #expect(set.contains(15..<20))
        #expect(!set.contains(15..<21))
    }

    @Test func `removal from the middle leaves both sides`() {
        var set = IntervalSet<Int>([0...9])
        set.remove(3..<5)
        #expect(set.intervals == [0...2, 5...9])
        set.remove(2...5)
        #expect(set.intervals == [0...1, 6...9])
        set.removeAll()
        #expect(set.isEmpty)
    }

    @Test func `the whole line is one interval whose elementCount is nil`() {
        var set = IntervalSet<Int64>()
        set.insert(.min...(-1))
        #expect(set.elementCount == 1 << 63)
        set.insert(0...(.max))
        #expect(set.intervals == [.min...(.max)])
        #expect(set.elementCount == nil)
        #expect(set.gaps(in: Int64.min...Int64.max).isEmpty)
        set.remove(0...0)
        #expect(set.elementCount == .max)
        #expect(set.firstGap(in: Int64.min...Int64.max) == 0...0)
    }

    @Test func `equality does not depend on how a set was made`() {
        let a = IntervalSet<Int>([0...3, 4...9])
        let b = IntervalSet<Int>([5...9, 0...6])
        #expect(a == b)
        #expect(a.hashValue == b.hashValue)
    }

    @Test func `ten thousand random changes leave the set equal to the bitmap`() {
        var random = SeededGenerator.fromEnvironment()
        var pair = Pair(bitmap: Bitmap<Int64>(0...1999))
        for step in 0..<10_000 {
            let lower = Int64.random(in: 0...1999, using: &random)
            // Lengths are mostly short, so that the set stays fragmented, and sometimes long, so
            // that many intervals merge at once.
            let length = Int64.random(in: 0...(step.isMultiple(of: 97) ? 900 : 12), using: &random)
            let interval = lower...min(lower + length, 1999)
            if Bool.random(using: &random) { pair.insert(interval) } else { pair.remove(interval) }
            guard step.isMultiple(of: 50) else { continue }
            pair.set.checkInvariants()
            #expect(pair.set.intervals == pair.bitmap.intervals, "seed \(random.seed), step \(step)")
            #expect(pair.set.gaps(in: interval) == pair.bitmap.runs(of: false, in: interval), "seed \(random.seed), step \(step)")
        }
    }

    @Test func `random combinations of fragmented sets equal those of the bitmaps`() {
        var random = SeededGenerator.fromEnvironment()
        for round in 0..<60 {
            var a = Pair(bitmap: Bitmap<Int64>(0...499)), b = a
            for _ in 0..<Int.random(in: 0...40, using: &random) {
                let lower = Int64.random(in: 0...490, using: &random)
                a.insert(lower...lower + Int64.random(in: 0...9, using: &random))
                let other = Int64.random(in: 0...490, using: &random)
                b.insert(other...other + Int64.random(in: 0...9, using: &random))
            }
            checkCombinations(a, b, "seed \(random.seed), round \(round)")
        }
    }

    // MARK: Values

    @Test(arguments: [10, 1000, 40_000])
    func `a copy and its original change independently`(count: Int) {
        var original = IntervalSet((0..<count).map { $0 * 4...$0 * 4 + 1 })
        let before = original
        var copy = original
        copy.insert(2...count)
        copy.remove(0...1)
        #expect(original == before)
        #expect(original.intervalCount == count)
        original.removeAll()
        #expect(copy.contains(2...count) && !copy.contains(0))
        #expect(before.intervals.count == count)
    }

    @Test func `iteration continues over the set as it was at the start`() {
        var set = IntervalSet((0..<1000).map { $0 * 4...$0 * 4 + 1 })
        var walked = 0
        for interval in set {
            set.remove(interval)
            walked += 1
        }
        #expect(walked == 1000)
        #expect(set.isEmpty)
    }

    @Test func `a set is encoded as its intervals, and decoded in any order`() throws {
        let set: IntervalSet<Int64> = [20...29, .min...9]
        let data = try JSONEncoder().encode(set)
        #expect(String(decoding: data, as: UTF8.self) == "[[-9223372036854775808,9],[20,29]]")
        #expect(try JSONDecoder().decode(IntervalSet<Int64>.self, from: data) == set)
        let read = try JSONDecoder().decode(IntervalSet<Int64>.self, from: Data("[[20,29],[0,9],[10,10]]".utf8))
        #expect(read == [0...10, 20...29])
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(IntervalSet<Int64>.self, from: Data("[[9,0]]".utf8))
        }
    }

    @Test func `sets of every integer width reach from end to end`() {
        checkExtremes(of: UInt8.self)
        checkExtremes(of: Int8.self)
        checkExtremes(of: UInt64.self)
        checkExtremes(of: Int64.self)
        if #available(macOS 15, iOS 18, tvOS 18, visionOS 2, *) { checkExtremes(of: Int128.self) }
    }

    private func checkExtremes<Bound: FixedWidthInteger & Sendable>(of type: Bound.Type) {
        var set = IntervalSet<Bound>([.min ... .min, .max ... .max])
        #expect(set.gaps(in: .min ... .max) == [.min + 1...(.max - 1)])
        #expect(set.firstGap(in: .max ... .max) == nil)
        #expect(set.prefix(from: .max, through: .max) == .max ... .max)
        #expect(set.firstInterval(atOrAfter: .min + 1) == .max ... .max)
        set.formSymmetricDifference([.min ... .max])
        #expect(set.intervals == [.min + 1...(.max - 1)])
        set.insert(.max ... .max)
        set.insert(Bound.min..<Bound.max)
        #expect(set.intervals == [.min ... .max])
        #expect(set.elementCount == nil)
        #expect(set.runs(in: .min ... .max).map(\.isMember) == [true])
        set.remove(.min ... .max)
        #expect(set.isEmpty)
    }
}
