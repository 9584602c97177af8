import SpoolCore
import Testing

/// Tests the Proxy-Status field, in which one proxy states to another why an origin gave no answer
/// (RFC 9209).
struct ProxyStatusTests {
    static let errors: [OriginError] = [
        .unreachable("Could not resolve host: nosuch.invalid"), .timeout("no answer for 8 s"), .tls("the name is \"a\\b\""),
        .malformed("two lengths; one is wrong"), .redirect("more than 10"),
    ]

    @Test(arguments: errors)
    func `an error survives a round trip through Proxy-Status`(error: OriginError) throws {
        let value = try #require(ProxyStatus.fieldValue(of: error))
        #expect(ProxyStatus.error(in: ["Proxy-Status": value]) == error)
    }

    @Test func `a response of the origin needs no Proxy-Status`() {
        #expect(ProxyStatus.fieldValue(of: .status(404)) == nil)
        #expect(ProxyStatus.error(in: [:]) == nil)
    }

    @Test(arguments: [
        "", "spool", "other; error=destination_unavailable; details=\"a\"", "spool; error=x; details=\"a\"", "spool; error=a",
    ])
    func `a broken Proxy-Status, or that of another proxy, gives no error`(value: String) {
        #expect(ProxyStatus.error(in: ["Proxy-Status": value]) == nil)
    }

    @Test func `a reason without its closing quote ends with the field`() {
        #expect(ProxyStatus.error(in: ["Proxy-Status": "spool; error=destination_unavailable; details=\"a\\"]) == .unreachable("a"))
    }
}
