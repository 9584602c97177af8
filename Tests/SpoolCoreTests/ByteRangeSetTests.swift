import SpoolCore
import Testing

@Suite struct `byte range sets` {
    private func range(_ lower: Int64, _ upper: Int64) -> ByteRange { ByteRange(lower: lower, upper: upper) }

    @Test func `an empty set has one gap`() {
        let set = ByteRangeSet()
        #expect(set.isEmpty)
        #expect(set.totalBytes == 0)
        #expect(set.upperBound == nil)
        #expect(set.gaps(in: range(3, 9)) == [range(3, 9)])
        #expect(set.firstGap(in: range(3, 9)) == range(3, 9))
        #expect(set.prefix(from: 0, upTo: 9) == nil)
        #expect(set.firstRange(atOrAfter: 0) == nil)
    }

    @Test func `ranges that touch become one`() {
        var set = ByteRangeSet([range(10, 20), range(0, 10), range(21, 30)])
        #expect(set.ranges == [range(0, 20), range(21, 30)])
        #expect(set.rangeCount == 2)
        #expect(set.totalBytes == 29)
        #expect(set.upperBound == 30)
        set.insert(range(20, 21))
        #expect(set.ranges == [range(0, 30)])
    }

    @Test func `a prefix begins exactly at the given offset`() {
        let set = ByteRangeSet([range(5, 10), range(20, 30)])
        #expect(set.prefix(from: 5, upTo: 100) == range(5, 10))
        #expect(set.prefix(from: 9, upTo: 100) == range(9, 10))
        #expect(set.prefix(from: 22, upTo: 25) == range(22, 25))
        #expect(set.prefix(from: 4, upTo: 100) == nil)
        #expect(set.prefix(from: 10, upTo: 100) == nil)
        #expect(set.prefix(from: 5, upTo: 5) == nil)
    }

    @Test func `the first range at or after an offset is clipped to that offset`() {
        let set = ByteRangeSet([range(5, 10), range(20, 30)])
        #expect(set.firstRange(atOrAfter: 0) == range(5, 10))
        #expect(set.firstRange(atOrAfter: 7) == range(7, 10))
        #expect(set.firstRange(atOrAfter: 10) == range(20, 30))
        #expect(set.firstRange(atOrAfter: 30) == nil)
    }

    @Test func `union, intersection and subtraction give the expected ranges`() {
        let a = ByteRangeSet([range(0, 10), range(20, 30)]), b = ByteRangeSet([range(5, 25)])
        #expect(a.union(b).ranges == [range(0, 30)])
        #expect(a.intersection(b).ranges == [range(5, 10), range(20, 25)])
        #expect(a.intersection(range(8, 22)).ranges == [range(8, 10), range(20, 22)])
        #expect(a.subtracting(b).ranges == [range(0, 5), range(25, 30)])
        #expect(b.subtracting(a).ranges == [range(10, 20)])
        var c = a
        c.formUnion(b)
        c.subtract(a)
        c.remove(range(10, 12))
        #expect(c.ranges == [range(12, 20)])
    }

    @Test func `the last addressable byte behaves like any other byte`() {
        var set = ByteRangeSet([range(.max - 2, .max)])
        #expect(set.upperBound == .max)
        #expect(set.contains(.max - 1))
        #expect(!set.contains(.max))
        #expect(set.prefix(from: .max - 2, upTo: .max) == range(.max - 2, .max))
        set.insert(range(0, .max))
        #expect(set.totalBytes == .max)
        set.remove(range(.max - 1, .max))
        #expect(set.gaps(in: range(0, .max)) == [range(.max - 1, .max)])
    }

    @Test func `a negative or huge offset is not a member and does not trap`() {
        let set = ByteRangeSet([range(0, 10)])
        #expect(!set.contains(-1))
        #expect(set.prefix(from: -5, upTo: 10) == nil)
        #expect(set.firstRange(atOrAfter: .min) == range(0, 10))
        #expect(set.prefix(from: 3, upTo: .min) == nil)
    }
}
