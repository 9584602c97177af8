import SpoolCore
import Testing

@Suite struct `the field Cache-Control` {
    @Test func `Cache-Control of a response exposes its directives by name`() {
        let control = CacheControl(
            "Public, max-age=60, S-MaxAge=\"120\", must-revalidate, proxy-revalidate, immutable, no-transform,"
                + " stale-while-revalidate=30, stale-if-error=86400, must-understand")
        #expect(control.public)
        #expect(control.maxAge == 60)
        #expect(control.sMaxAge == 120)
        #expect(control.mustRevalidate && control.proxyRevalidate && control.immutable && control.mustUnderstand)
        #expect(control.staleWhileRevalidate == 30)
        #expect(control.staleIfError == 86_400)
        #expect(!control.noStore)
        #expect(control.noCache == nil)
        #expect(control.private == nil)
    }

    @Test func `Cache-Control of a request exposes its directives by name`() {
        let control = CacheControl("only-if-cached, min-fresh=5, max-stale=10, max-age=0")
        #expect(control.onlyIfCached)
        #expect(control.minFresh == 5)
        #expect(control.maxStale == .seconds(10))
        #expect(control.maxAge == 0)
        #expect(CacheControl("max-stale").maxStale == .any)
        #expect(CacheControl("max-stale=x").maxStale == .seconds(0))
    }

    @Test(
        arguments: [
            ("no-cache", .response), ("no-cache=\"Set-Cookie\"", .fields(["set-cookie"])), ("no-cache=\"A, B\" , x", .fields(["a", "b"])),
            ("no-cache=Set-Cookie", .fields(["set-cookie"])), ("no-cache=\"\"", .response), ("no-cache=", .response),
            ("no-cache=\"A\", no-cache", .response), ("no-cache=\"A\", no-cache=\"B\"", .fields(["a", "b"])),
        ] as [(String, CacheControl.Scope)])
    func `no-cache and private may apply to named fields only`(value: String, scope: CacheControl.Scope) {
        #expect(CacheControl(value).noCache == scope)
        #expect(CacheControl(value.replacingNoCache(by: "private")).private == scope)
    }

    @Test(arguments: [
        ("max-age=0", 0), ("max-age=\"7\"", 7), ("MAX-AGE=7 ", 7), ("max-age=007", 7),
        // RFC 9111 §1.2.2: a value that is too large counts as 2³¹.
        ("max-age=2147483648", 2_147_483_648), ("max-age=9999999999", 2_147_483_648), ("max-age=99999999999999999999999", 2_147_483_648),
        // RFC 9111 §4.2.1: an invalid number counts as stale, and the first of two values counts.
        ("max-age=x", 0), ("max-age=-1", 0), ("max-age=1.5", 0), ("max-age", 0), ("max-age=", 0), ("max-age=10s", 0),
        ("max-age=1, max-age=2", 1), ("max-age =5", 0), ("max-age= 5", 0),
        ("max-age=5;foo", 0), ("max-age=5 foo, max-age=6", 5), ("foo=\"max-age=1, x\", max-age=2", 2),
    ])
    func `seconds follow the rules of the RFC`(value: String, seconds: Int64) {
        #expect(CacheControl(value).maxAge == seconds)
    }

    @Test func `unknown directives are kept`() {
        let control = CacheControl("x-y=\"a\\\"b, c\", Z ,,=, @, ,no-store")
        #expect(control.directives.map(\.name) == ["x-y", "z", "no-store"])
        #expect(control.directives.map(\.argument) == ["a\"b, c", nil, nil])
        #expect(control.contains("z"))
    }

    @Test func `several lines form one list`() {
        let control = CacheControl(["Cache-Control": "max-age=1", "cache-control": "no-store"] as HTTPFields)
        #expect(control.maxAge == 1)
        #expect(control.noStore)
        #expect(CacheControl([:] as HTTPFields).directives.isEmpty)
    }

    @Test(arguments: ["private=\"Set-Cookie, no-store", "no-store foo", "x=\"\\\", no-store", "no-store=1", "a b, no-store"])
    func `broken text does not lose no-store`(value: String) {
        #expect(CacheControl(value).noStore)
    }

    @Test func `a field with too many directives counts as no-store`() {
        let many = (0..<CacheControl.maxDirectives).map { "x\($0)" }.joined(separator: ",")
        #expect(!CacheControl(many).noStore)
        #expect(CacheControl(many + ", max-age=1").noStore)
    }

    @Test func `mutated values never trap`() {
        mutate(["max-age=60, no-cache=\"Set-Cookie, X\"", "private, max-stale", "s-maxage=\"1\\2\",x=y"]) { value in
            let control = CacheControl(value)
            #expect(control.directives.count <= CacheControl.maxDirectives)
            #expect((control.maxAge ?? 0) >= 0 && (control.sMaxAge ?? 0) >= 0)
            _ = (control.noCache, control.private, control.maxStale, control.noStore)
        }
    }
}

extension String {
    fileprivate func replacingNoCache(by name: String) -> String {
        split(separator: "no-cache", omittingEmptySubsequences: false).joined(separator: name)
    }
}

@Suite struct `the age of a stored response` {
    private func age(_ fields: HTTPFields, request: Int64 = 784_111_777, response: Int64 = 784_111_777, now: Int64) -> Int64 {
        Representation(
            length: 1, validator: .none, fields: fields, requestTime: Timestamp(seconds: request),
            responseTime: Timestamp(seconds: response)
        ).currentAge(now: Timestamp(seconds: now))
    }

    private let date = "Sun, 06 Nov 1994 08:49:37 GMT"
    private let start: Int64 = 784_111_777

    @Test func `the age grows with the time a response is stored`() {
        #expect(age(["Date": date], now: start) == 0)
        #expect(age(["Date": date], now: start + 90) == 90)
    }

    @Test func `the age includes the Age field and the time of the transfer`() {
        #expect(age(["Date": date, "Age": "100"], response: start + 3, now: start + 10) == 110)
        // The larger of the two estimates counts (RFC 9111 §4.2.3): here a cache on the way left
        // out 500 seconds.
        #expect(age(["Date": date, "Age": "100"], request: start + 500, response: start + 500, now: start + 500) == 500)
    }

    @Test func `the age is never negative, even if clocks disagree`() {
        #expect(age(["Date": date], request: start - 1000, response: start - 1000, now: start - 1000) == 0)
        #expect(age(["Date": date], now: start - 1) == 0)
        #expect(age(["Date": date], request: start + 5, response: start, now: start) == 0)
    }

    @Test func `the age is computed without Date, too`() {
        #expect(age([:], now: start + 7) == 7)
        #expect(age(["Date": "x", "Age": "3"], now: start + 7) == 10)
    }

    @Test func `the first valid value of Age counts, and an invalid one is ignored`() {
        #expect(age(["Date": date, "Age": "5, 100"], now: start) == 5)
        #expect(age(["Date": date, "Age": "-5"], now: start) == 0)
        #expect(age(["Date": date, "Age": "99999999999999999999"], now: start) == CacheControl.maxDeltaSeconds)
    }

    @Test func `the age does not overflow`() {
        let representation = Representation(
            length: 1, validator: .none, fields: ["Age": "2147483648", "Date": "Sat, 01 Jan 0000 00:00:00 GMT"],
            requestTime: Timestamp(nanoseconds: .min), responseTime: Timestamp(nanoseconds: .max))
        #expect(representation.currentAge(now: Timestamp(nanoseconds: .max)) == Int64.max / 1_000_000_000)
    }
}
