import SpoolCore
import Testing

@Suite struct `the field Content-Range` {
    private static func part(_ lower: Int64, _ upper: Int64, of length: Int64?) -> ContentRange {
        .part(ByteRange(lower: lower, upper: upper), length: length)
    }

    @Test(arguments: [
        // RFC 9110 §14.4
        ("bytes 42-1233/1234", part(42, 1234, of: 1234)),
        ("bytes 42-1233/*", part(42, 1234, of: nil)),
        ("bytes */1234", .unsatisfied(length: 1234)),
        ("bytes 0-499/1234", part(0, 500, of: 1234)),
        ("bytes 734-1233/1234", part(734, 1234, of: 1234)),
        ("bytes */0", .unsatisfied(length: 0)),
        // What origins make of it.
        ("Bytes 0-0/1", part(0, 1, of: 1)),
        ("bytes\t0-0/1  ", part(0, 1, of: 1)),
        ("bytes  0-0/1", part(0, 1, of: 1)),
        ("bytes 0-9223372036854775806/9223372036854775807", part(0, .max, of: .max)),
        ("bytes 4294967296-4294967297/9007199254740993", part(4_294_967_296, 4_294_967_298, of: 9_007_199_254_740_993)),
    ])
    func `valid values are read`(value: String, expected: ContentRange) throws {
        #expect(try ContentRange(value) == expected)
    }

    @Test(arguments: [
        // A last position before the first, a length that does not reach it (RFC 9110 §14.4: must not be recombined).
        "bytes 5-4/10", "bytes 0-10/10", "bytes 0-10/5", "bytes 0-0/0",
        // Another unit, or none.
        "seconds 0-1/2", "0-1/2", "bytesx 0-1/2", "",
        "bytes", "bytes ", "bytes 0-1", "bytes 0-1/", "bytes 0/2", "bytes -1/2", "bytes 0-/2", "bytes */*", "bytes *", "bytes /5",
        "bytes=0-1/2", "bytes: 0-1/2", "bytes 0 - 1/2", "bytes 0-1 /2", "bytes 0-1/2 x", "bytes 0-1/2, bytes 0-1/2", "bytes +0-1/2",
        // Beyond 63 bits.
        "bytes 0-9223372036854775807/*", "bytes 0-1/9223372036854775808", "bytes 99999999999999999999-1/*", "bytes */99999999999999999999",
    ])
    func `invalid values are errors`(value: String) {
        #expect(throws: ParseError.self) { try ContentRange(value) }
    }

    @Test func `an error says where`() {
        #expect(throws: ParseError(offset: 9, expected: "a slash")) { try ContentRange("bytes 0-1") }
    }

    @Test func `lines that differ are an error, lines that agree are one`() throws {
        #expect(try ContentRange.parse([:]) == nil)
        #expect(try ContentRange.parse(["Content-Range": "bytes */7", "content-range": "bytes */7"]) == .unsatisfied(length: 7))
        #expect(throws: ParseError.self) { try ContentRange.parse(["Content-Range": "bytes */7", "content-range": "bytes */8"]) }
    }

    @Test func `mutated values never trap, and what is read is written so that it reads the same`() {
        mutate(["bytes 42-1233/1234", "bytes 42-1233/*", "bytes */1234"]) { value in
            guard let range = read(value) else { return }
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
            ([], nil), (["5"], 5), (["0"], 0), ([" 7 "], 7), (["5, 5"], 5), (["5,5,5"], 5), (["5", "5"], 5), (["05", "5"], 5),
            (["9223372036854775807"], Int64.max),
        ] as [([String], Int64?)])
    func `values that agree are one length`(lines: [String], expected: Int64?) throws {
        #expect(try ContentLength.parse(lines) == expected)
    }

    @Test(arguments: [
        [""], ["-5"], ["+5"], ["5, 6"], ["5", "6"], ["5,"], [",5"], ["5 5"], ["5x"], ["0x5"], ["5.0"], ["1e3"], ["9223372036854775808"],
        ["99999999999999999999"], ["５"],
    ])
    func `anything else is an error`(lines: [String]) {
        #expect(throws: ParseError.self) { try ContentLength.parse(lines) }
    }

    @Test func `mutated values never trap`() {
        mutate(["5", "5, 5", "1234567890"]) { value in
            do throws(ParseError) {
                let length = try ContentLength.parse([value])
                #expect(length.map { $0 >= 0 } ?? false, "\(value)")
            } catch {
                #expect(error.offset <= value.utf8.count, "\(value)")
            }
        }
    }
}
