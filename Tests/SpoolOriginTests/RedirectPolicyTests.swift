import SpoolCore
import SpoolOrigin
import Testing

/// Where a redirect leads, and where it does not.
struct RedirectPolicyTests {
    private func moved(_ location: String?, status: Int = 302) -> ResponseHead {
        ResponseHead(status: status, fields: location.map { ["Location": $0] } ?? [:])
    }

    private func follow(_ url: String, _ location: String, _ fields: HTTPFields = [:]) -> RedirectPolicy.Decision {
        var policy = RedirectPolicy(OriginRequest(url: url, fields: fields))
        return policy.headReceived(moved(location))
    }

    private func isRefused(_ decision: RedirectPolicy.Decision) -> Bool {
        if case .refuse(.redirect) = decision { true } else { false }
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func `a redirect is followed with range and condition kept`(status: Int) {
        let fields: HTTPFields = ["Range": "bytes=5-", "If-Range": "\"a\"", "Authorization": "secret"]
        var policy = RedirectPolicy(OriginRequest(url: "http://a.example/x", fields: fields))
        let decision = policy.headReceived(moved("/y", status: status))
        #expect(decision == .follow(OriginRequest(url: "http://a.example/y", fields: fields)))
    }

    @Test(arguments: [200, 206, 300, 304, 305, 306, 404, 416, 503])
    func `other responses are answers`(status: Int) {
        var policy = RedirectPolicy(OriginRequest(url: "http://a.example/x", fields: [:]))
        #expect(policy.headReceived(moved("/y", status: status)) == .pass(moved("/y", status: status)))
    }

    @Test func `a redirect without Location is an answer`() {
        var policy = RedirectPolicy(OriginRequest(url: "http://a.example/x", fields: [:]))
        #expect(policy.headReceived(moved(nil)) == .pass(moved(nil)))
    }

    @Test func `the answer after a redirect names the URL that gave it`() {
        var policy = RedirectPolicy(OriginRequest(url: "http://a.example/x", fields: [:]))
        _ = policy.headReceived(moved("http://b.example/y"))
        #expect(policy.headReceived(moved(nil, status: 200)) == .pass(ResponseHead(status: 200, fields: [:], url: "http://b.example/y")))
    }

    @Test(arguments: [
        ("z.mp4", "http://a.example/v/z.mp4"), ("../z", "http://a.example/z"), ("?q", "http://a.example/v/x?q"),
        ("//b.example/z", "http://b.example/z"), ("HTTPS://B.example/z", "HTTPS://B.example/z"), ("/a b", "http://a.example/a%20b"),
        ("/z#part", "http://a.example/z"), ("/z?sig=%2F%2f", "http://a.example/z?sig=%2F%2f"),
    ])
    func `a relative Location is resolved`(location: String, url: String) {
        #expect(follow("http://a.example/v/x?old", location) == .follow(OriginRequest(url: url, fields: [:])))
    }

    @Test(arguments: [
        "ftp://a.example/x", "file:///etc/passwd", "data:,x", "https:", "http://", "http://a.example:99999/", "http://[/", "//",
    ])
    func `a Location that is no web address is refused`(location: String) {
        #expect(isRefused(follow("https://a.example/x", location)))
    }

    @Test func `from https to http is refused, the other way is not`() {
        #expect(isRefused(follow("https://a.example/x", "http://a.example/x")))
        #expect(!isRefused(follow("http://a.example/x", "https://a.example/x")))
    }

    @Test(arguments: ["", "/x", "#part", "http://a.example/x"])
    func `a circle is refused`(location: String) {
        #expect(isRefused(follow("http://a.example/x", location)))
    }

    @Test func `a circle of two is refused`() {
        var policy = RedirectPolicy(OriginRequest(url: "http://a.example/x", fields: [:]))
        #expect(policy.headReceived(moved("/y")) == .follow(OriginRequest(url: "http://a.example/y", fields: [:])))
        #expect(isRefused(policy.headReceived(moved("/x"))))
    }

    @Test func `ten redirects are followed and no eleventh`() {
        var policy = RedirectPolicy(OriginRequest(url: "http://a.example/0", fields: [:]))
        for hop in 1...RedirectPolicy.defaultMaxHops {
            #expect(policy.headReceived(moved("/\(hop)")) == .follow(OriginRequest(url: "http://a.example/\(hop)", fields: [:])))
        }
        #expect(isRefused(policy.headReceived(moved("/last"))))
    }

    static let secrets: HTTPFields = [
        "authorization": "a", "Cookie": "b", "Proxy-Authorization": "c", "X-Key": "d", "Host": "a.example", "Range": "bytes=0-",
    ]

    @Test(arguments: ["http://b.example/x", "http://a.example:81/x", "https://a.example/x", "http://a.example./x"])
    func `credentials are not carried to another origin`(location: String) {
        var policy = RedirectPolicy(OriginRequest(url: "http://a.example/", fields: Self.secrets), credentialFields: ["x-key"])
        #expect(policy.headReceived(moved(location)) == .follow(OriginRequest(url: location, fields: ["Range": "bytes=0-"])))
    }

    @Test(arguments: ["/y", "http://a.example:80/y", "http://A.EXAMPLE/y"])
    func `credentials stay with their origin`(location: String) {
        var policy = RedirectPolicy(OriginRequest(url: "http://a.example/", fields: Self.secrets), credentialFields: ["x-key"])
        guard case .follow(let request) = policy.headReceived(moved(location)) else { return #expect(Bool(false)) }
        #expect(request.fields == Self.secrets)
    }

    @Test func `credentials that were dropped do not come back with their origin`() {
        var policy = RedirectPolicy(OriginRequest(url: "http://a.example/", fields: ["Cookie": "b"]))
        _ = policy.headReceived(moved("http://b.example/"))
        #expect(policy.headReceived(moved("http://a.example/y")) == .follow(OriginRequest(url: "http://a.example/y", fields: [:])))
    }
}
