import SpoolCore
import Testing

/// Tests the age of a response, its freshness lifetime, and how a cache may use it (RFC 9111 §4,
/// RFC 5861).
@Suite struct FreshnessTests {
    /// A response that was generated and received at 10 000 s.
    private func stored(_ fields: HTTPFields, isDated: Bool = true) -> Representation {
        var fields = fields
        if isDated { fields["Date"] = HTTPDate.format(Timestamp(seconds: 10_000)) }
        let time = Timestamp(seconds: 10_000)
        return Representation(length: 10, validator: Validator(fields: fields), fields: fields, requestTime: time, responseTime: time)
    }

    private func date(_ seconds: Int64) -> String { HTTPDate.format(Timestamp(seconds: seconds)) }

    @Test(
        arguments: [
            (["Cache-Control": "max-age=60"], 60),
            (["Cache-Control": "max-age=60, s-maxage=10"], 60),
            (["Cache-Control": "max-age=60", "Expires": "Thu, 01 Jan 1970 00:00:00 GMT"], 60),
            (["Cache-Control": "max-age=sixty"], 0),
            (["Cache-Control": "max-age=\"60\""], 60),
            (["Expires": "0"], 0),
            (["Expires": "Thu, 01 Jan 1970 03:00:00 GMT"], 800),
            (["Expires": "Thu, 01 Jan 1970 00:00:00 GMT"], 0),
            (["Last-Modified": "Thu, 01 Jan 1970 00:00:00 GMT"], 1000),
            (["Last-Modified": "Fri, 02 Jan 1970 00:00:00 GMT"], 0),
            ([:], 0),
        ] as [(HTTPFields, Int64)])
    func `the lifetime is the first stated one, or heuristic where none is stated`(_ fields: HTTPFields, _ seconds: Int64) {
        #expect(Freshness(stored(fields), isShared: false, now: Timestamp(seconds: 10_000)).lifetime == seconds)
    }

    @Test func `a shared cache uses s-maxage`() {
        let response = stored(["Cache-Control": "max-age=60, s-maxage=10"])
        #expect(Freshness(response, isShared: true, now: Timestamp(seconds: 10_000)).lifetime == 10)
    }

    @Test func `a heuristic lifetime is at most one day`() {
        var response = stored(["Last-Modified": date(0)], isDated: false)
        response.responseTime = Timestamp(seconds: 400 * 86_400)
        #expect(Freshness(response, isShared: false, now: response.responseTime).lifetime == 86_400)
    }

    @Test(
        arguments: [
            ("max-age=60", 59, UseRules.Use.use), ("max-age=60", 60, .revalidate), ("max-age=60", 10_000, .revalidate),
            ("no-cache, max-age=60", 0, .revalidate), ("no-cache=\"set-cookie\", max-age=60", 0, .use),
            ("max-age=60, stale-while-revalidate=30", 90, .useAndRevalidate), ("max-age=60, stale-while-revalidate=30", 91, .revalidate),
            ("max-age=60, stale-while-revalidate=30, must-revalidate", 61, .revalidate), ("immutable, max-age=60", 59, .use),
        ] as [(String, Int64, UseRules.Use)])
    func `under the standard policy fresh responses are used and stale ones are not`(_ control: String, _ age: Int64, _ use: UseRules.Use) {
        let rules = UseRules(policy: .standard)
        #expect(rules.use(of: stored(["Cache-Control": control]), now: Timestamp(seconds: 10_000 + age)) == use)
    }

    @Test(
        arguments: [
            ("max-age=10", 11, UseRules.Use.revalidate), ("max-age=10", 10, .use), ("min-fresh=20", 40, .use),
            ("min-fresh=20", 41, .revalidate),
            ("max-stale", 5000, .use), ("max-stale=10", 70, .use), ("max-stale=10", 71, .revalidate), ("no-cache", 0, .revalidate),
        ] as [(String, Int64, UseRules.Use)])
    func `a request's Cache-Control limits how stale its answer may be`(_ request: String, _ age: Int64, _ use: UseRules.Use) {
        let rules = UseRules(policy: .standard, request: CacheControl(request))
        #expect(rules.use(of: stored(["Cache-Control": "max-age=60"]), now: Timestamp(seconds: 10_000 + age)) == use)
    }

    @Test func `a request cannot permit a stale use that the response forbids`() {
        let rules = UseRules(policy: .standard, request: CacheControl("max-stale"))
        let response = stored(["Cache-Control": "max-age=60, must-revalidate"])
        #expect(rules.use(of: response, now: Timestamp(seconds: 10_100)) == .revalidate)
    }

    @Test func `stored media are preferred, and stored playlists are revalidated`() {
        let later = Timestamp(seconds: 1_000_000)
        #expect(UseRules().use(of: stored(["Content-Type": "video/mp4", "Cache-Control": "no-cache"]), now: later) == .use)
        #expect(UseRules().use(of: stored(["Content-Type": "application/vnd.apple.mpegurl"]), now: later) == .revalidate)
        #expect(UseRules().use(of: stored(["Content-Type": "application/dash+xml; charset=utf-8"]), now: later) == .revalidate)
        let everything = UseRules(policy: .storeEverything)
        #expect(everything.use(of: stored(["Content-Type": "video/mp4", "Cache-Control": "no-store"]), now: later) == .use)
        // A live stream would stand still otherwise.
        #expect(everything.use(of: stored(["Content-Type": "application/dash+xml"]), now: later) == .revalidate)
    }

    @Test func `a cache that stores everything plays a forbidden playlist without its origin`() {
        let playlist = stored(["Content-Type": "application/vnd.apple.mpegurl", "Cache-Control": "no-cache, must-revalidate"])
        #expect(UseRules(policy: .storeEverything).mayUseUnvalidated(playlist, now: Timestamp(seconds: 1_000_000)))
        #expect(!UseRules().mayUseUnvalidated(playlist, now: Timestamp(seconds: 1_000_000)))
    }

    @Test func `a playlist with no-cache plays without its origin where stored media do`() {
        let now = Timestamp(seconds: 1_000_000)
        let playlist = stored(["Content-Type": "application/vnd.apple.mpegurl", "Cache-Control": "no-cache"])
        let untyped = stored(["Content-Type": "text/plain", "Cache-Control": "no-cache"])
        var known = UseRules()
        known.isManifest = true
        #expect(UseRules().use(of: playlist, now: now) == .revalidate && known.use(of: untyped, now: now) == .revalidate)
        #expect(UseRules().mayUseUnvalidated(playlist, now: now) && known.mayUseUnvalidated(untyped, now: now))
        #expect(!UseRules(policy: .standard).mayUseUnvalidated(playlist, now: now))
    }

    @Test func `a reload revalidates under every policy`() {
        for policy in [CachePolicy.standard, .preferStored, .storeEverything] {
            let rules = UseRules(policy: policy, mode: .reload)
            #expect(rules.use(of: stored(["Cache-Control": "max-age=60"]), now: Timestamp(seconds: 10_000)) == .revalidate)
            #expect(!rules.mayUseUnvalidated(stored(["Cache-Control": "max-age=60"]), now: Timestamp(seconds: 10_000)))
        }
    }

    @Test(
        arguments: [
            ("max-age=60", 10_000, true), ("max-age=60, must-revalidate", 61, false), ("no-cache", 0, false),
            ("max-age=60, stale-if-error=30", 90, true), ("max-age=60, stale-if-error=30", 91, false),
        ] as [(String, Int64, Bool)])
    func `a stale response is used without its origin unless that is forbidden`(_ control: String, _ age: Int64, _ isUsed: Bool) {
        let rules = UseRules(policy: .standard)
        let now = Timestamp(seconds: 10_000 + age)
        #expect(rules.mayUseUnvalidated(stored(["Cache-Control": control]), now: now) == isUsed)
    }

    @Test func `a client's no-cache yields when the origin is unreachable, unless the response forbids it`() {
        let rules = UseRules(policy: .standard, request: CacheControl("no-cache"))
        let now = Timestamp(seconds: 10_061)
        #expect(rules.use(of: stored(["Cache-Control": "max-age=60"]), now: now) == .revalidate)
        #expect(rules.mayUseUnvalidated(stored(["Cache-Control": "max-age=60"]), now: now))
        #expect(!rules.mayUseUnvalidated(stored(["Cache-Control": "max-age=60, must-revalidate"]), now: now))
    }

    private static let responses: [(fields: HTTPFields, rules: StoringRules, reason: NotStoredReason?)] = [
        (["Cache-Control": "no-store"], StoringRules(), .noStore),
        (["Cache-Control": "no-store"], StoringRules(policy: .storeEverything), nil),
        (["Cache-Control": "private"], StoringRules(), nil),
        (["Cache-Control": "private"], StoringRules(isShared: true), .privateResponse),
        (["Cache-Control": "private=\"set-cookie\""], StoringRules(isShared: true), nil),
        ([:], StoringRules(isShared: true, isAuthorized: true), .authorizedRequest),
        (["Cache-Control": "public"], StoringRules(isShared: true, isAuthorized: true), nil),
        (["Cache-Control": "s-maxage=5"], StoringRules(isShared: true, isAuthorized: true), nil),
        ([:], StoringRules(isAuthorized: true), nil),
        (["Vary": "Accept, *"], StoringRules(), .varyAny),
        (["Vary": "Accept"], StoringRules(), nil),
        (["icy-metaint": "4096"], StoringRules(policy: .storeEverything), .titlesBetweenBytes),
        (["Content-Type": "text/html"], StoringRules(pathExtension: "mp4"), .unexpectedType("text/html")),
        (["Content-Type": "text/html"], StoringRules(pathExtension: "html"), nil),
        (["Content-Type": "text/plain"], StoringRules(pathExtension: "m3u8"), nil),
    ]

    @Test(arguments: responses)
    func `an unstorable response is passed on with a reason`(_ fields: HTTPFields, _ rules: StoringRules, _ reason: NotStoredReason?) {
        #expect(rules.passReason(for: fields) == reason)
    }

    @Test func `a 304 updates metadata of a version, but not fields that describe its bytes`() {
        var response = stored(["ETag": "\"a\"", "Content-Type": "video/mp4", "Cache-Control": "max-age=1", "Age": "5", "X": "old"])
        let news = ResponseHead(
            status: 304, fields: ["Cache-Control": "max-age=90", "Content-Type": "text/html", "Content-Length": "3", "X": "new"])
        response.update(from: news, requestTime: Timestamp(seconds: 20_000), responseTime: Timestamp(seconds: 20_001))
        #expect(response.fields["Cache-Control"] == "max-age=90")
        #expect(response.fields["Content-Type"] == "video/mp4")
        #expect(response.fields["X"] == "new")
        #expect(response.fields["Age"] == nil)
        #expect(response.length == 10)
        #expect(response.responseTime == Timestamp(seconds: 20_001))
    }
}
