import SpoolCore
import Testing

/// Arithmetic on numbers from the network or the disk. No result traps or wraps.
struct SaturatingTests {
    private static let extremes: [Int64] = [.min, .min + 1, -2, -1, 0, 1, 2, 1 << 60, .max - 1, .max]

    @Test func `sums, differences and products of any two numbers are exact or clamped`() {
        for a in Self.extremes {
            for b in Self.extremes {
                check(a.addingSaturated(b), a.addingReportingOverflow(b), near: Double(a) + Double(b))
                check(a.subtractingSaturated(b), a.subtractingReportingOverflow(b), near: Double(a) - Double(b))
                check(a.multipliedSaturated(by: b), a.multipliedReportingOverflow(by: b), near: Double(a) * Double(b))
            }
        }
    }

    private func check(_ result: Int64, _ exact: (partialValue: Int64, overflow: Bool), near value: Double) {
        #expect(result == (exact.overflow ? (value < 0 ? .min : .max) : exact.partialValue))
    }

    @Test(arguments: [
        (0.0, Int64(0)), (-0.9, 0), (2.9, 2), (-2.9, -2), (0x1p62, 1 << 62), (0x1p63, .max), (-0x1p63, .min), (1e300, .max),
        (-.infinity, .min), (.infinity, .max), (.nan, 0),
    ])
    func `a floating-point number becomes its whole part, or a bound`(value: Double, whole: Int64) {
        #expect(Int64(saturating: value) == whole)
    }

    @Test func `an estimate counts unknown lengths as the average of the known ones, up to the bound`() {
        #expect([Int64]().estimatedSum(of: 3) == nil)
        #expect([10, 20].estimatedSum(of: 4) == 60)
        #expect([10, 20].estimatedSum(of: 1) == 30)
        let announced = [Int64](repeating: ByteRange.maximumOffset - 1, count: 9)
        #expect(announced.estimatedSum(of: 1 << 20) == ByteRange.maximumOffset)
        #expect(announced.saturatedSum == .max)
    }

    @Test(arguments: [
        (Int64(0), Int64(9), ByteRange(0, 10)), (5, 5, ByteRange(5, 6)), (0, .max, ByteRange(0, ByteRange.maximumOffset)),
        (ByteRange.maximumOffset - 1, .max, ByteRange(ByteRange.maximumOffset - 1, ByteRange.maximumOffset)),
        (ByteRange.maximumOffset, .max, nil), (.max, .max, nil), (9, 8, nil), (-1, 3, nil), (.min, .max, nil), (0, .min, nil),
    ])
    func `first and last positions make a range within the bound`(first: Int64, last: Int64, range: ByteRange?) {
        #expect(ByteRange(first: first, last: last) == range)
    }

    @Test(arguments: [
        (Int64(0), Int64(9), ByteRange(0, 9)), (5, .max, ByteRange(5, ByteRange.maximumOffset)), (0, 0, nil), (3, -1, nil), (-1, 3, nil),
        (.max, .max, nil), (ByteRange.maximumOffset, 1, nil), (.min, .min, nil),
    ])
    func `an offset and a count make a range within the bound`(offset: Int64, count: Int64, range: ByteRange?) {
        #expect(ByteRange(offset: offset, count: count) == range)
    }
}
