import SpoolCore
import Testing

@Suite struct `the field Range` {
    private static func ranges(_ bounds: (Int64, Int64)...) -> RangeResolution {
        .ranges(bounds.map { ByteRange(lower: $0.0, upper: $0.1) })
    }

    // The examples of RFC 9110 §14.1.2 and the edge cases around them, for a representation of
    // 10 000 bytes.
    @Test(arguments: [
        ("bytes=0-499", ranges((0, 500))),
        ("bytes=500-999", ranges((500, 1000))),
        ("bytes=-500", ranges((9500, 10_000))),
        ("bytes=9500-", ranges((9500, 10_000))),
        ("bytes=0-0,-1", ranges((0, 1), (9999, 10_000))),
        ("bytes= 0-999, 4500-5499, -1000", ranges((0, 1000), (4500, 5500), (9000, 10_000))),
        // Ranges that overlap or touch become one part (§14.1.2 calls both forms legal for the same
        // bytes).
        ("bytes=500-600,601-999", ranges((500, 1000))),
        ("bytes=500-700,601-999", ranges((500, 1000))),
        // The ranges keep the order of the request.
        ("bytes=9000-,0-9", ranges((9000, 10_000), (0, 10))),
        // A later range that joins two earlier ones takes the place of the first.
        ("bytes=20-29,5000-,0-9,10-19", ranges((0, 30), (5000, 10_000))),
        // The last position is clipped. A suffix longer than the representation selects all of it.
        ("bytes=9999-20000", ranges((9999, 10_000))),
        ("bytes=-20000", ranges((0, 10_000))),
        ("bytes=0-", ranges((0, 10_000))),
        ("BYTES=0-0", ranges((0, 1))),
        (" bytes=0-0 ", ranges((0, 1))),
        ("bytes=,, 0-0 ,\t,", ranges((0, 1))),
        // A range beyond the end does not invalidate the others.
        ("bytes=0-0,20000-", ranges((0, 1))),
        ("bytes=00000000000000000000000-01", ranges((0, 2))),
        // No range is satisfiable.
        ("bytes=10000-", .unsatisfiable),
        ("bytes=10000-10001", .unsatisfiable),
        ("bytes=-0", .unsatisfiable),
        ("bytes=-0,10000-", .unsatisfiable),
        // Positions beyond 63 bits lie beyond every end or are clipped to it.
        ("bytes=9999999999999999999-", .unsatisfiable),
        ("bytes=99999999999999999999999-99999999999999999999999", .unsatisfiable),
        ("bytes=0-99999999999999999999999", ranges((0, 10_000))),
        ("bytes=-99999999999999999999999", ranges((0, 10_000))),
        ("bytes=9223372036854775807-9223372036854775807", .unsatisfiable),
        ("bytes=5-1152921504606846975", ranges((5, 10_000))),
        ("bytes=5-1152921504606846976", ranges((5, 10_000))),
        ("bytes=5-9223372036854775806", ranges((5, 10_000))),
        ("bytes=-9223372036854775807", ranges((0, 10_000))),
    ])
    func `ranges resolve as RFC 9110 requires`(value: String, expected: RangeResolution) throws {
        let header = try #require(RangeHeader(value))
        #expect(header.resolve(length: 10_000) == expected)
    }

    @Test(arguments: [
        "", "bytes", "bytes=", "bytes=,", "bytes=-", "bytes=--1", "bytes=5-2", "bytes=0-1,5-2", "bytes=a-b", "bytes=0-1x",
        "bytes=0 - 1", "bytes =0-1", "bytes:0-1", "bytes=0-1;2-3", "bytes=0-1 2-3", "bytes=+1-2", "bytes=1", "bytes=0x0-1",
        "seconds=0-1", "byte=0-1", "bytesx=0-1", "bytes=１-２", "bytes=0-1,\u{0}",
    ])
    func `a value that violates the grammar is ignored`(value: String) {
        #expect(RangeHeader(value) == nil)
    }

    // 2^60 is the bound.
    @Test(arguments: [
        ("bytes=1152921504606846975-", false), ("bytes=1152921504606846976-", true),
        ("bytes=1152921504606846976-1152921504606846976", true),
        ("bytes=9223372036854775807-", true), ("bytes=99999999999999999999-", true), ("bytes=0-9223372036854775807", false),
        ("bytes=-9223372036854775807", false),
        ("bytes=9223372036854775807-,0-1", false), ("bytes=9223372036854775807-,1152921504606846976-", true),
    ])
    func `only a first position beyond the bound is unsatisfiable for every length`(value: String, isBeyond: Bool) throws {
        #expect(try #require(RangeHeader(value)).isBeyondBound == isBeyond)
    }

    @Test func `positions beyond the bound are clamped to it`() {
        let bound: Int64 = 1_152_921_504_606_846_976
        let specs = RangeHeader("bytes=5-9223372036854775806, 9223372036854775807-, -99999999999999999999")?.specs
        #expect(specs == [.bounded(first: 5, last: bound), .from(first: bound), .suffix(count: bound)])
    }

    @Test func `sixty-four ranges are answered, one more is ignored`() {
        let many = (0..<64).map { "\($0 * 2)-\($0 * 2)" }
        let header = RangeHeader("bytes=" + many.joined(separator: ","))
        #expect(header?.specs.count == 64)
        #expect(RangeHeader("bytes=" + (many + ["500-500"]).joined(separator: ",")) == nil)
    }

    @Test func `a range of an empty representation selects the whole`() {
        for value in ["bytes=0-", "bytes=0-0", "bytes=-1"] {
            #expect(RangeHeader(value)?.resolve(length: 0) == .whole)
        }
    }

    @Test func `differing Range lines are ignored`() {
        #expect(RangeHeader(["Range": "bytes=0-1", "range": "bytes=2-3"] as HTTPFields) == nil)
        #expect(RangeHeader(["Range": "bytes=0-1", "range": "bytes=0-1"] as HTTPFields) != nil)
        #expect(RangeHeader([:] as HTTPFields) == nil)
    }

    @Test func `a request for one range survives a round trip`() {
        #expect(RangeHeader(ByteRange(lower: 0, upper: 500)).fieldValue == "bytes=0-499")
        #expect(RangeHeader("bytes=9500-")?.fieldValue == "bytes=9500-")
        #expect(RangeHeader(ByteRange(lower: 0, upper: .max)).fieldValue == "bytes=0-9223372036854775806")
    }

    /// Tests every pair of ranges over a representation of three bytes against sets of offsets.
    @Test func `coalescing neither loses nor adds a byte`() throws {
        let specs = (0..<4).flatMap { a in (a..<4).map { "\(a)-\($0)" } } + ["0-", "2-", "3-", "-0", "-1", "-2", "-9"]
        for first in specs {
            for second in specs {
                let asked = try [first, second].map { try #require(RangeHeader("bytes=\($0)")).resolve(length: 3) }
                let both = try #require(RangeHeader("bytes=\(first),\(second)")).resolve(length: 3)
                let bytes = asked.flatMap(\.offsets)
                #expect(Set(both.offsets) == Set(bytes), "\(first), \(second)")
                #expect(Set(both.offsets).count == both.offsets.count, "\(first), \(second)")
            }
        }
    }

    @Test func `mutated values never trap, and parsed values survive a round trip`() {
        mutate(["bytes=0-499", "bytes=-500, 7-", "bytes=0-0,-1,9223372036854775807-"]) { value in
            guard let header = RangeHeader(value) else { return }
            #expect(RangeHeader(header.fieldValue) == header, "\(value)")
            for length: Int64 in [0, 1, 500, .max] {
                guard case .ranges(let ranges) = header.resolve(length: length) else { continue }
                #expect(ranges.allSatisfy { $0.upperBound <= length }, "\(value)")
            }
        }
    }
}

extension RangeResolution {
    fileprivate var offsets: [Int64] {
        guard case .ranges(let ranges) = self else { return [] }
        return ranges.flatMap { Array($0.lowerBound..<$0.upperBound) }
    }
}
