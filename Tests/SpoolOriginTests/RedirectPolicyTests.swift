import SpoolCore
import SpoolOrigin
import Testing

/// Tests which redirects are followed, and with which request.
struct RedirectPolicyTests {
    private func moved(_ location: String?, status: Int = 302) -> ResponseHead {
        ResponseHead(status: status, fields: location.map { ["Location": $0] } ?? [:])
    }

    private func follow(_ url: String, _ location: String, _ fields: HTTPFields = [:]) -> RedirectPolicy.Decision {
        var policy = RedirectPolicy(OriginRequest(url: url, fields: fields))
        return policy.headReceived(moved(location))
    }

    private func isRefused(_ decision: RedirectPolicy.Decision) -> Bool {
        switch decision {
        case .refuse(.redirect), .refuse(.notAsked): true
        case .refuse, .pass, .follow: false
        }
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func `a redirect is followed with range and condition kept`(status: Int) {
        let fields: HTTPFields = ["Range": "bytes=5-", "If-Range": "\"a\"", "Authorization": "secret"]
        var policy = RedirectPolicy(OriginRequest(url: "http://a.example/x", fields: fields))
        let decision = policy.headReceived(moved("/y", status: status))
        #expect(decision == .follow(OriginRequest(url: "http://a.example/y", fields: fields)))
    }

    @Test(arguments: ["http://a.example/y", "http://b.example/y"])
    func `a redirect keeps everything but the URL`(location: String) {
        var request = OriginRequest(url: "http://a.example/x", fields: [:])
        request.access.allowsCellular = false
        (request.isHeldBack, request.decodesContent, request.priority) = (true, true, .upcoming)
        (request.connectTimeout, request.headTimeout, request.lateAfter) = (.seconds(1), .seconds(2), .seconds(3))
        var policy = RedirectPolicy(request)
        var next = request
        next.url = location
        #expect(policy.headReceived(moved(location)) == .follow(next))
    }

    @Test(arguments: [200, 206, 300, 304, 305, 306, 404, 416, 503])
    func `other responses are passed as answers`(status: Int) {
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
    func `a Location that is not a web address is rejected`(location: String) {
        #expect(isRefused(follow("https://a.example/x", location)))
    }

    @Test func `a redirect from https to http is rejected, and the reverse is followed`() {
        #expect(isRefused(follow("https://a.example/x", "http://a.example/x")))
        #expect(!isRefused(follow("http://a.example/x", "https://a.example/x")))
    }

    @Test(arguments: ["", "/x", "#part", "http://a.example/x"])
    func `a circle is rejected`(location: String) {
        #expect(isRefused(follow("http://a.example/x", location)))
    }

    @Test func `a circle of two is rejected`() {
        var policy = RedirectPolicy(OriginRequest(url: "http://a.example/x", fields: [:]))
        #expect(policy.headReceived(moved("/y")) == .follow(OriginRequest(url: "http://a.example/y", fields: [:])))
        #expect(isRefused(policy.headReceived(moved("/x"))))
    }

    private func cookie(_ hops: [(String, String)], from url: String, own: String? = nil) -> String? {
        var policy = RedirectPolicy(OriginRequest(url: url, fields: own.map { ["Cookie": $0] } ?? [:]))
        var last: OriginRequest?
        for (location, cookie) in hops {
            let head = ResponseHead(
                status: 302, fields: ["Location": location, "Set-Cookie": cookie, "Date": "Sat, 01 Aug 2026 00:00:00 GMT"])
            guard case .follow(let next) = policy.headReceived(head) else { return "rejected" }
            last = next
        }
        return last?.fields["Cookie"]
    }

    @Test(arguments: [
        ("http://a.example/y", "k=v", "k=v"), ("http://a.example:81/y", "k=v", "k=v"), ("https://a.example/y", "k=v", "k=v"),
        ("http://b.example/y", "k=v", nil), ("http://sub.a.example/y", "k=v", nil),
        ("http://sub.a.example/y", "k=v; Domain=.a.example", "k=v"),
        ("http://a.example/y", "k=v; Domain=b.example", nil), ("http://a.example/y", "k=v; Domain=example", nil),
        ("http://a.example/y", "k=v; Path=/other", nil), ("http://a.example/other/y", "k=v; Path=/other", "k=v"),
        ("http://a.example/otherwise", "k=v; Path=/other", nil), ("http://a.example/y", "k=v; Secure", nil),
        ("http://a.example/y", "k=v; Max-Age=0", nil), ("http://a.example/y", "k=v; Expires=Thu, 01 Jan 1970 00:00:00 GMT", nil),
        ("http://a.example/y", "k=v; Expires=Thu, 01 Jan 2037 00:00:00 GMT; HttpOnly", "k=v"), ("http://a.example/y", "k", nil),
    ])
    func `a cookie of a redirect goes to the hops to which a browser sends it`(location: String, set: String, sent: String?) {
        #expect(cookie([(location, set)], from: "http://a.example/x") == sent)
    }

    @Test func `a cookie replaces that of its name, and a client's cookies stay at its origin`() {
        #expect(cookie([("/y", "b=2")], from: "http://a.example/x", own: "a=1; b=1") == "a=1; b=2")
        #expect(cookie([("/y", "b=2"), ("/z", "b=3; Path=/")], from: "http://a.example/x") == "b=3")
        #expect(cookie([("/y", "b=2; Path=/"), ("/z", "b=; Max-Age=-1; Path=/")], from: "http://a.example/x", own: "a=1") == "a=1")
        #expect(cookie([("/y/1", "b=2; Path=/y"), ("/z", "c=3; Path=/")], from: "http://a.example/x") == "c=3")
    }

    @Test func `a redirect to itself with a new cookie is no circle, and with the same cookie it is one`() {
        #expect(cookie([("/x", "k=1")], from: "http://a.example/x") == "k=1")
        #expect(cookie([("/x", "k=1"), ("/x", "k=1")], from: "http://a.example/x") == "rejected")
    }

    @Test func `a player is sent to http by itself`() {
        guard case .refuse(.notAsked(let url, _)) = follow("https://a.example/x", "http://b.example/y") else {
            Issue.record("the redirect is followed")
            return
        }
        #expect(url == "http://b.example/y")
    }

    @Test func `twenty redirects are followed, and the next is rejected`() {
        var policy = RedirectPolicy(OriginRequest(url: "http://a.example/0", fields: [:]))
        for hop in 1...RedirectPolicy.maxHops {
            #expect(policy.headReceived(moved("/\(hop)")) == .follow(OriginRequest(url: "http://a.example/\(hop)", fields: [:])))
        }
        #expect(isRefused(policy.headReceived(moved("/last"))))
    }

    static let secrets: HTTPFields = [
        "authorization": "a", "Cookie": "b", "Proxy-Authorization": "c", "X-Api-Key": "d", "Host": "a.example", "Range": "bytes=0-",
        "Referer": "http://a.example/page",
    ]

    @Test(arguments: ["http://b.example/x", "http://a.example:81/x", "https://a.example/x", "http://a.example./x"])
    func `credentials are not carried to another origin`(location: String) {
        var policy = RedirectPolicy(OriginRequest(url: "http://a.example/", fields: Self.secrets))
        #expect(policy.headReceived(moved(location)) == .follow(OriginRequest(url: location, fields: ["Range": "bytes=0-"])))
    }

    @Test(arguments: ["/y", "http://a.example:80/y", "http://A.EXAMPLE/y"])
    func `credentials stay with their origin`(location: String) {
        var policy = RedirectPolicy(OriginRequest(url: "http://a.example/", fields: Self.secrets))
        let action = policy.headReceived(moved(location))
        guard case .follow(let request) = action else { return unexpected(action) }
        #expect(request.fields == Self.secrets)
    }

    @Test func `harmless fields are sent to every origin`() {
        let fields: HTTPFields = [
            "Range": "bytes=0-", "If-Range": "\"a\"", "If-None-Match": "\"b\"", "Accept": "*/*", "Accept-Encoding": "identity",
            "User-Agent": "x", "Via": "1.1 y",
        ]
        #expect(
            follow("http://a.example/", "http://b.example/", fields) == .follow(OriginRequest(url: "http://b.example/", fields: fields)))
    }

    /// A browser that follows the redirect itself does the same.
    @Test func `another origin gets no page site, and its CORS permission applies to the page`() {
        var policy = RedirectPolicy(OriginRequest(url: "http://a.example/", fields: ["Origin": "https://player.example"]))
        for other in ["http://b.example/", "http://c.example/"] {
            #expect(policy.headReceived(moved(other)) == .follow(OriginRequest(url: other, fields: ["Origin": "null"])))
        }
        let head = ResponseHead(status: 200, fields: ["Access-Control-Allow-Origin": "null"])
        let action = policy.headReceived(head)
        guard case .pass(let passed) = action else { return unexpected(action) }
        #expect(passed.fields["Access-Control-Allow-Origin"] == "https://player.example")
    }

    @Test(arguments: [
        (OriginReach(allowed: [Self.origin("http://a.example")]), "http://b.example/", false),
        (OriginReach(allowed: [Self.origin("http://a.example")]), "http://a.example/y", true),
        (OriginReach(allowed: [Self.origin("http://a.example"), Self.origin("http://b.example")]), "http://b.example/", true),
        (OriginReach(servesNetwork: true), "http://127.0.0.1:9200/", false), (OriginReach(servesNetwork: true), "http://localhost/", false),
        (OriginReach(servesNetwork: true), "http://169.254.169.254/latest", false),
        (OriginReach(servesNetwork: true), "http://[::1]/", false), (OriginReach(servesNetwork: true), "http://0.0.0.0/", false),
        (OriginReach(servesNetwork: true), "http://192.168.1.9/", true), (OriginReach(servesNetwork: true), "http://b.example/", true),
        (OriginReach(named: [Self.origin("http://127.0.0.1:8096")], servesNetwork: true), "http://127.0.0.1:8096/", true),
        (OriginReach(named: [Self.origin("http://127.0.0.1:8096")], servesNetwork: true), "http://127.0.0.1:8097/", false),
    ])
    func `a redirect reaches only the origins that the door's clients may reach`(reach: OriginReach, to: String, follows: Bool) {
        var request = OriginRequest(url: "http://a.example/x", fields: [:])
        request.reach = [OriginReach(), reach]
        var policy = RedirectPolicy(request)
        let decision = policy.headReceived(moved(to))
        #expect(isRefused(decision) == !follows)
        if case .refuse(let error) = decision { #expect("\(error)".contains("--allow-origin")) }
        // The restriction still applies after a redirect was followed.
        if follows { #expect(isRefused(policy.headReceived(moved("http://127.0.0.1:1/")))) }
    }

    static func origin(_ text: String) -> URIReference.Origin {
        guard let origin = (try? URIReference(text))?.origin else { preconditionFailure("no origin: \(text)") }
        return origin
    }

    @Test func `dropped credentials do not come back with their origin`() {
        var policy = RedirectPolicy(OriginRequest(url: "http://a.example/", fields: ["Cookie": "b"]))
        _ = policy.headReceived(moved("http://b.example/"))
        #expect(policy.headReceived(moved("http://a.example/y")) == .follow(OriginRequest(url: "http://a.example/y", fields: [:])))
    }
}
