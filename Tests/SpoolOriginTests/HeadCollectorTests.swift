import SpoolCore
import SpoolOrigin
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// Tests header lines as they arrive, and the head that the collector makes of them.
struct HeadCollectorTests {
    /// Feeds `text` line by line, and returns the last step.
    private func collect(_ text: String) -> HeadCollector.Step {
        var collector = HeadCollector()
        var last = HeadCollector.Step.more
        for line in text.split(separator: "|", omittingEmptySubsequences: false) {
            last = Array(line.utf8).withUnsafeBytes { collector.lineReceived($0) }
            if case .refused = last { break }
        }
        return last
    }

    private func head(_ text: String) -> ResponseHead? {
        guard case .head(var head) = collect(text) else { return nil }
        // The rows have no length, which the test below is about.
        head.endsByClose = false
        return head
    }

    @Test(arguments: [
        ("HTTP/1.1 200 OK\r\n|A: b\r\n|\r\n", ResponseHead(status: 200, fields: ["A": "b"])),
        ("HTTP/1.1 206\r\n|\r\n", ResponseHead(status: 206, fields: [:])),
        ("HTTP/2 404 \r\n|\r\n", ResponseHead(status: 404, fields: [:])),
        ("http/1.1 200 ok|A: b|", ResponseHead(status: 200, fields: ["A": "b"])),
        ("HTTP/1.0 200 OK\n|A:b\n|\n", ResponseHead(status: 200, fields: ["A": "b"])),
        ("HTTP/1.1 200 OK|A: \t b \t|", ResponseHead(status: 200, fields: ["A": "b"])),
        ("HTTP/1.1 200 OK|Empty:|Also: |", ResponseHead(status: 200, fields: ["Empty": "", "Also": ""])),
        ("HTTP/1.1 200 OK|A: b:c|", ResponseHead(status: 200, fields: ["A": "b:c"])),
        ("HTTP/1.1 200 OK|A : b|", ResponseHead(status: 200, fields: ["A": "b"])),
        ("HTTP/1.1 200 OK|A: 1|a: 2|", ResponseHead(status: 200, fields: ["A": "1", "a": "2"])),
    ])
    func `a head is assembled from its lines`(text: String, expected: ResponseHead) {
        #expect(head(text) == expected)
    }

    @Test(arguments: [
        ("HTTP/1.1 200 OK|A: one|  two|\tthree|", ["one two three"]),
        ("HTTP/1.1 200 OK|A:|  two|", ["two"]),
        ("HTTP/1.1 200 OK|A: one|   |", ["one"]),
        ("HTTP/1.1 200 OK|A: one|no field|  of nobody|", ["one"]),
        ("HTTP/1.1 200 OK|  of nobody|A: one|", ["one"]),
    ])
    func `a folded line continues the field before it, and nothing else`(text: String, values: [String]) {
        #expect(head(text)?.fields.values(of: "A") == values)
    }

    @Test(arguments: ["no colon", ": no name", "na me: x", "n\u{E9}: x", "\u{0}: x"])
    func `an invalid field line is dropped`(line: String) {
        #expect(head("HTTP/1.1 200 OK|\(line)|A: b|")?.fields == ["A": "b"])
    }

    @Test func `a control character in a value becomes a space`() {
        #expect(head("HTTP/1.1 200 OK|A: video/mp4\u{1B}]0;owned\u{7}b\u{7F}c\td|")?.fields["A"] == "video/mp4 ]0;owned b c\td")
    }

    @Test func `a response without length and coding ends with its connection`() {
        func endsByClose(_ text: String) -> Bool? { if case .head(let head) = collect(text) { head.endsByClose } else { nil } }
        #expect(endsByClose("HTTP/1.1 200 OK|A: b|") == true)
        #expect(endsByClose("http/1.1 200 OK|A: b|") == true)
        #expect(endsByClose("HTTP/1.1 200 OK|Content-Length: 5|") == false)
        #expect(endsByClose("HTTP/1.1 200 OK|Transfer-Encoding: chunked|") == false)
    }

    @Test func `1xx responses and their fields are skipped`() {
        #expect(
            head("HTTP/1.1 100 Continue||HTTP/1.1 103 Early|Link: x||HTTP/1.1 200 OK|A: b|")
                == ResponseHead(status: 200, fields: ["A": "b"]))
    }

    @Test func `lines after the head are trailers`() {
        #expect(collect("HTTP/1.1 200 OK||X: y") == .trailer)
    }

    @Test(arguments: [
        "", "220 mail", "HTTP/1.1", "HTTP/1.1 ", "HTTP/1.1 20 OK", "HTTP/1.1 2000 OK", "HTTP/1.1 abc", "HTTP/1.1 099 Odd",
        "HTTP/1.1 101 Switching Protocols",
    ])
    func `an invalid status line or a protocol switch is rejected`(line: String) {
        let result = collect(line)
        guard case .refused = result else { return unexpected(result) }
    }

    @Test func `endless 1xx responses are rejected`() {
        let one = "HTTP/1.1 103 Early||"
        #expect(head(String(repeating: one, count: HeadCollector.maxInformational) + "HTTP/1.1 200 OK|") != nil)
        let result = collect(String(repeating: one, count: HeadCollector.maxInformational + 1))
        guard case .refused = result else { return unexpected(result) }
    }

    @Test func `an endless head is rejected`() {
        let line = "X: " + String(repeating: "x", count: 1021) + "|"
        let lines = HeadCollector.maxHeadBytes / 1024
        #expect(head("HTTP/1.1 200 OK|" + String(repeating: line, count: lines - 1)) != nil)
        let result = collect("HTTP/1.1 200 OK|" + String(repeating: line, count: lines))
        guard case .refused = result else { return unexpected(result) }
    }

    // Without a cache, a client plays the bytes up to the end of the connection.
    @Test(arguments: ["1152921504606846977", "9223372036854775807", "99999999999999999999"])
    func `a length beyond the bound is ignored`(length: String) {
        let result = collect("HTTP/1.1 200 OK|Content-Length: \(length)|")
        guard case .head = result else { return unexpected(result) }
    }

    @Test(arguments: ["5, 6", "-1", "++5", "five", "", "99999999999999999999, 5", "5 5"])
    func `an invalid or ambiguous length is rejected`(length: String) {
        let result = collect("HTTP/1.1 200 OK|Content-Length: \(length)|")
        guard case .refused = result else { return unexpected(result) }
    }

    @Test(arguments: ["5", "5, 5", "0", "9223372036854775807"])
    func `a length may be repeated`(length: String) {
        #expect(head("HTTP/1.1 200 OK|Content-Length: \(length)|") != nil)
    }

    @Test func `identity is no transfer coding, so that Content-Length counts beside it`() {
        #expect(head("HTTP/1.1 200 OK|Transfer-Encoding: Identity|Content-Length: 5|")?.fields == ["Content-Length": "5"])
    }

    @Test(arguments: ["gzip", "GZip, chunked", "chunked, gzip", "deflate, chunked"])
    func `a message that is compressed unasked is refused, because its bytes are not those of the content`(coding: String) {
        let result = collect("HTTP/1.1 200 OK|Transfer-Encoding: \(coding)|")
        guard case .refused = result else { return unexpected(result) }
        for name in ["identity, chunked", "binary", "x"] { #expect(head("HTTP/1.1 200 OK|Transfer-Encoding: \(name)|") != nil) }
    }

    @Test func `a transfer coding overrides any Content-Length`() {
        #expect(head("HTTP/1.1 200 OK|Content-Length: five|Transfer-Encoding: chunked|") != nil)
    }

    @Test func `values that differ in bytes outside UTF-8 stay different`() {
        func value(_ byte: UInt8) -> String? {
            var collector = HeadCollector()
            for line in [Array("HTTP/1.1 200 OK".utf8), Array("ETag: \"".utf8) + [byte] + Array("\"".utf8)] {
                _ = line.withUnsafeBytes { collector.lineReceived($0) }
            }
            if case .head(let head) = collector.lineReceived(UnsafeRawBufferPointer(start: nil, count: 0)) { return head.fields["ETag"] }
            return nil
        }
        #expect(value(0xE9)?.fieldBytes == [0x22, 0xE9, 0x22])
        #expect(value(0xE9) != value(0xEA))
    }

    @Test(arguments: Seeds.list(count: 20))
    func `random bytes never cause a trap`(seed: UInt64) {
        // Bytes with a meaning in a head are more frequent than others.
        let special: [UInt8] = [0x20, 0x09, 0x0D, 0x0A, 0x3A, 0x00, 0xFF, 0x41]
        let random = SeededRandom(seed: seed)
        for _ in 0..<200 {
            var collector = HeadCollector()
            for index in 0..<8 {
                let prefix = index == 0 && random.chance(1, in: 2) ? Array("HTTP/1.1 200".utf8) : []
                let line =
                    prefix
                    + (0..<random.next(below: 12)).map { _ in
                        random.chance(1, in: 2) ? special[Int(random.next(below: 8))] : UInt8(random.next(below: 256))
                    }
                _ = line.withUnsafeBytes { collector.lineReceived($0) }
            }
        }
    }
}
