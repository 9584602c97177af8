import SpoolCore
import Testing

@Suite struct `the field Content-Range` {
    private static func part(_ lower: Int64, _ upper: Int64, of length: Int64?) -> ContentRange {
        .part(ByteRange(lower: lower, upper: upper), length: length.map { .bytes($0) } ?? .unknown)
    }

    private static let bound: Int64 = 1_152_921_504_606_846_976

    /// A part of a representation whose stated length is beyond the bound.
    private static func endless(_ lower: Int64, _ upper: Int64) -> ContentRange {
        .part(ByteRange(lower: lower, upper: upper), length: .beyondBound)
    }

    @Test(arguments: [
        // RFC 9110 §14.4
        ("bytes 42-1233/1234", part(42, 1234, of: 1234)),
        ("bytes 42-1233/*", part(42, 1234, of: nil)),
        ("bytes */1234", .unsatisfied(length: .bytes(1234))),
        ("bytes 0-499/1234", part(0, 500, of: 1234)),
        ("bytes 734-1233/1234", part(734, 1234, of: 1234)),
        ("bytes */0", .unsatisfied(length: .bytes(0))),
        // Variations that origins send.
        ("Bytes 0-0/1", part(0, 1, of: 1)),
        ("bytes\t0-0/1  ", part(0, 1, of: 1)),
        ("bytes  0-0/1", part(0, 1, of: 1)),
        ("bytes 4294967296-4294967297/9007199254740993", part(4_294_967_296, 4_294_967_298, of: 9_007_199_254_740_993)),
    ])
    func `valid values are read`(value: String, expected: ContentRange) throws {
        #expect(try ContentRange(value) == expected)
    }

    // 2^60 is the largest length.
    @Test(arguments: [
        ("bytes 0-1152921504606846975/1152921504606846976", part(0, bound, of: bound)),
        ("bytes 1152921504606846975-1152921504606846975/1152921504606846976", part(bound - 1, bound, of: bound)),
        ("bytes 0-1152921504606846975/*", part(0, bound, of: nil)),
        ("bytes 0-99/1152921504606846977", endless(0, 100)),
        ("bytes 0-1152921504606846976/1152921504606846977", endless(0, bound)),
        ("bytes 0-1152921504606846976/*", endless(0, bound)),
        ("bytes 5-9223372036854775806/9223372036854775807", endless(5, bound)),
        ("bytes 0-9223372036854775807/*", endless(0, bound)),
        ("bytes 0-1/9223372036854775808", endless(0, 2)),
        ("bytes 0-18446744073709551614/18446744073709551615", endless(0, bound)),
        ("bytes */1152921504606846977", .unsatisfied(length: .beyondBound)),
        ("bytes */99999999999999999999", .unsatisfied(length: .beyondBound)),
    ])
    func `a length beyond the bound is recognized as such`(value: String, expected: ContentRange) throws {
        #expect(try ContentRange(value) == expected)
    }

    @Test func `an equals sign separates the unit as a space does`() throws {
        #expect(try ContentRange("bytes=0-9/10") == Self.part(0, 10, of: 10))
    }

    @Test func `a last position that counts one too many is corrected`() throws {
        #expect(try ContentRange("bytes 0-10/10") == Self.part(0, 10, of: 10))
    }

    @Test(arguments: [
        // A last position before the first, a length that does not reach it (RFC 9110 §14.4: must
        // not be recombined).
        "bytes 5-4/10", "bytes 0-10/5", "bytes 0-11/10", "bytes 0-0/0",
        // Another unit, or no unit.
        "seconds 0-1/2", "0-1/2", "bytesx 0-1/2", "",
        "bytes", "bytes ", "bytes 0-1", "bytes 0-1/", "bytes 0/2", "bytes -1/2", "bytes 0-/2", "bytes */*", "bytes *", "bytes /5",
        "bytes: 0-1/2", "bytes 0 - 1/2", "bytes 0-1 /2", "bytes 0-1/2 x", "bytes 0-1/2, bytes 0-1/2", "bytes +0-1/2",
        "bytes 99999999999999999999-1/*",
        // A first position at or beyond the bound.
        "bytes 1152921504606846976-1152921504606846976/1152921504606846977", "bytes 1152921504606846976-1152921504606846976/*",
        "bytes 9223372036854775307-9223372036854775806/9223372036854775807", "bytes 9223372036854775807-9223372036854775807/*",
    ])
    func `invalid values are errors`(value: String) {
        #expect(throws: ParseError.self) { try ContentRange(value) }
    }

    @Test func `a parse error gives the offset and the expected token`() {
        #expect(throws: ParseError(offset: 9, expected: "a slash")) { try ContentRange("bytes 0-1") }
    }

    @Test func `differing lines are an error, and equal lines count once`() throws {
        #expect(try ContentRange.parse([:]) == nil)
        #expect(try ContentRange.parse(["Content-Range": "bytes */7", "content-range": "bytes */7"]) == .unsatisfied(length: .bytes(7)))
        #expect(throws: ParseError.self) { try ContentRange.parse(["Content-Range": "bytes */7", "content-range": "bytes */8"]) }
    }

    @Test func `mutated values never trap, and parsed values survive a round trip`() {
        let extreme = ["bytes 0-1152921504606846975/1152921504606846976", "bytes 42-9223372036854775806/9223372036854775807"]
        mutate(["bytes 42-1233/1234", "bytes 42-1233/*", "bytes */1234"] + extreme) { value in
            guard let range = read(value) else { return }
            if case .part(let part, _) = range { #expect(part.upperBound <= ByteRange.maximumOffset, "\(value)") }
            #expect(read(range.fieldValue) == range, "\(value)")
        }
    }

    private func read(_ value: String) -> ContentRange? {
        do { return try ContentRange(value) } catch { return nil }
    }
}

@Suite struct `the field Content-Length` {
    @Test(
        arguments: [
            ([], .unknown), (["5"], .bytes(5)), (["0"], .bytes(0)), ([" 7 "], .bytes(7)), (["5, 5"], .bytes(5)), (["5,5,5"], .bytes(5)),
            (["5", "5"], .bytes(5)), (["05", "5"], .bytes(5)), (["1152921504606846976"], .bytes(1 << 60)),
            (["1152921504606846977"], .beyondBound), (["9223372036854775807"], .beyondBound), (["9223372036854775808"], .beyondBound),
            (["99999999999999999999"], .beyondBound), (["18446744073709551615", "18446744073709551615"], .beyondBound),
        ] as [([String], StatedLength)])
    func `equal values count as one length`(lines: [String], expected: StatedLength) throws {
        #expect(try ContentLength.parse(lines) == expected)
    }

    @Test(arguments: [
        [""], ["-5"], ["++5"], ["5, 6"], ["5", "6"], ["5,"], [",5"], ["5 5"], ["5x"], ["0x5"], ["5.0"], ["1e3"],
        ["9223372036854775807", "5"], ["-9223372036854775808"], ["５"],
    ])
    func `invalid values are errors`(lines: [String]) {
        #expect(throws: ParseError.self) { try ContentLength.parse(lines) }
    }

    @Test func `mutated values never trap`() {
        mutate(["5", "5, 5", "1234567890"]) { value in
            do throws(ParseError) {
                let length = try ContentLength.parse([value])
                #expect(length.bytes.map { $0 >= 0 && $0 <= ByteRange.maximumOffset } ?? (length == .beyondBound), "\(value)")
            } catch {
                #expect(error.offset <= value.utf8.count, "\(value)")
            }
        }
    }
}
