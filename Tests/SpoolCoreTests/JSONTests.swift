import SpoolCore
import SpoolJSON
import Testing

/// The one reader and writer of JSON (RFC 8259).
struct JSONTests {
    @Test func `a text is read as RFC 8259 defines it`() {
        let text = #" {"a":[1,-2.5e3,true,false,null,{}],"b\u00e9\n":"\"\\\/é\ud83d\ude00","":[],"n":9007199254740993} "#
        let value = JSON(text: text)
        #expect(value?["a"]?.text == "[1,-2500.0,true,false,null,{}]")
        #expect(value?["b\u{E9}\n"]?.string == "\"\\/é\u{1F600}")
        #expect(value?["n"]?.integer == 9_007_199_254_740_993, "an integer keeps all of its digits")
        #expect(value?["a"]?.elements[1].integer == -2500 && value?["a"]?.elements[2].isTrue == true)
        #expect(value?[""]?.elements.isEmpty == true && value?["missing"] == nil)
    }

    @Test(arguments: [
        "", "{\"a\":}", "[1,]", "{a:1}", "\"a", "01x", "tru", "[1 2]", "{\"a\" 1}", "{} x", "[1e999]", "\"\\u12\"", "\"\\ud83d\"", "\"\\",
    ])
    func `a broken text is refused`(text: String) { #expect(JSON(text: text) == nil) }

    @Test func `nesting and the number of values have bounds`() throws {
        #expect(JSON(text: String(repeating: "[", count: 30) + String(repeating: "]", count: 30)) != nil)
        #expect(JSON(text: String(repeating: "[", count: 100_000)) == nil)
        var limits = JSONLimits()
        limits.values = 3
        #expect(try JSON(Array("[1,2]".utf8), limits: limits).elements.count == 2)
        #expect(throws: ParseError.self) { try JSON(Array("[1,2,3]".utf8), limits: limits) }
    }

    @Test func `a written text has its members in order, and escapes what pages and terminals interpret`() {
        let value = JSON.object([
            ("b", .string("</script>\n\u{1B}[2J\u{9B}\"\\é")), ("a", .array([.integer(.min), .number(1.5), .number(.nan), .bool(true)])),
            ("c", JSON(nil as String?)), ("d", JSON(7)),
        ])
        #expect(
            value.text
                == #"{"b":"\u003c/script>\n\u001b[2J\u009b\"\\é","a":[-9223372036854775808,1.5,null,true],"c":null,"d":7}"#)
        #expect(JSON(text: value.text)?.text == value.text)
    }
}
