import Foundation
import SpoolCore
import Testing

@Suite struct `dates of HTTP` {
    // The three forms of RFC 9110 §5.6.7 for one moment.
    @Test(arguments: ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"])
    func `a date is read in all three forms`(value: String) {
        #expect(HTTPDate.parse(value) == Timestamp(seconds: 784_111_777))
    }

    @Test(arguments: [
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Wed, 31 Dec 1969 23:59:59 GMT", -1), ("Tue, 29 Feb 2000 00:00:00 GMT", 951_782_400),
        ("Thu, 29 Feb 2024 12:00:00 GMT", 1_709_208_000), ("Fri, 01 Mar 2024 00:00:00 GMT", 1_709_251_200),
        ("Mon, 01 Mar 2100 00:00:00 GMT", 4_107_542_400), ("Tue, 19 Jan 2038 03:14:08 GMT", 2_147_483_648),
        ("Fri, 01 Jan 1700 00:00:00 GMT", -8_520_336_000),
    ])
    func `a date survives a round trip`(value: String, seconds: Int64) {
        #expect(HTTPDate.parse(value) == Timestamp(seconds: seconds))
        #expect(HTTPDate.format(Timestamp(seconds: seconds)) == value)
    }

    @Test(arguments: [
        "", "0", "-1", "Sun", "Sun,", "Sun, 06 Nov 1994", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 PST",
        "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 31 Nov 1994 08:49:37 GMT", "Wed, 29 Feb 2023 00:00:00 GMT",
        "Mon, 29 Feb 2100 00:00:00 GMT", "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:00 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
        "Sun, 06 Foo 1994 08:49:37 GMT", "Xyz, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 19940 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 GMT x",
        "Sun, 06 Nov 1994 8:49:37 GMT", "1994-11-06T08:49:37Z", "Sunday, 06-Nov-1994 08:49:37 GMT",
        "Sun, 99999999999999999999 Nov 1994 08:49:37 GMT",
    ])
    func `a date in another form is rejected`(value: String) {
        #expect(HTTPDate.parse(value) == nil)
    }

    @Test func `a leap second is the first second of the next minute`() {
        #expect(HTTPDate.parse("Sat, 31 Dec 2016 23:59:60 GMT") == HTTPDate.parse("Sun, 01 Jan 2017 00:00:00 GMT"))
    }

    @Test func `names of days and months ignore case`() {
        #expect(HTTPDate.parse("SUN, 06 nov 1994 08:49:37 gmt") == Timestamp(seconds: 784_111_777))
    }

    @Test(arguments: [(2026, 76, 2076), (2026, 77, 1977), (2026, 94, 1994), (1999, 0, 2000), (1994, 94, 1994), (2080, 10, 2110)])
    func `a year of two digits lies at most fifty years ahead`(now: Int, digits: Int, year: Int) throws {
        let present = try #require(HTTPDate.parse("Fri, 01 May \(now) 00:00:00 GMT"))
        let short = digits < 10 ? "0\(digits)" : "\(digits)"
        let date = HTTPDate.parse("Sunday, 06-Nov-\(short) 08:49:37 GMT", now: present)
        #expect(date == HTTPDate.parse("Sun, 06 Nov \(year) 08:49:37 GMT"))
    }

    @Test func `a year of two digits without a clock lies in 1970 through 2069`() {
        #expect(HTTPDate.parse("Sunday, 06-Nov-70 00:00:00 GMT") == HTTPDate.parse("Sun, 06 Nov 1970 00:00:00 GMT"))
        #expect(HTTPDate.parse("Sunday, 06-Nov-69 00:00:00 GMT") == HTTPDate.parse("Sun, 06 Nov 2069 00:00:00 GMT"))
    }

    /// Tests every day that a `Timestamp` can express, each at some second of it.
    @Test func `every day survives a round trip`() {
        var day: Int64 = -106_750  // 1677-09-23
        while day < 106_750 {
            let time = Timestamp(seconds: day * 86_400 + (day * 7919) % 86_400)
            let text = HTTPDate.format(time)
            // 200 000 expectations, one for each day, would take longer than the dates.
            if HTTPDate.parse(text) != time { Issue.record("\(text) is parsed as another time") }
            day += 1
        }
    }

    @Test func `dates agree with the system's calendar`() {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = TimeZone(identifier: "GMT")!
        let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
        for day in stride(from: Int64(-50_000), to: 90_000, by: 373) {
            let parts = calendar.dateComponents([.year, .day, .weekday], from: Date(timeIntervalSince1970: Double(day) * 86_400))
            let text = HTTPDate.format(Timestamp(seconds: day * 86_400))
            #expect(text.hasPrefix(weekdays[parts.weekday! - 1]), "\(text)")
            #expect(Int(text.dropFirst(5).prefix(2)) == parts.day, "\(text)")
            #expect(Int(text.dropFirst(12).prefix(4)) == parts.year, "\(text)")
        }
    }

    @Test func `dates beyond the limits of a timestamp are clamped`() {
        #expect(HTTPDate.format(Timestamp(nanoseconds: .min)) == "Tue, 21 Sep 1677 00:12:43 GMT")
        #expect(HTTPDate.format(Timestamp(nanoseconds: .max)) == "Fri, 11 Apr 2262 23:47:16 GMT")
        #expect(HTTPDate.parse("Fri, 31 Dec 9999 23:59:59 GMT") == Timestamp(nanoseconds: .max))
        #expect(HTTPDate.parse("Sat, 01 Jan 0000 00:00:00 GMT") == Timestamp(nanoseconds: .min))
    }

    @Test func `mutated dates never trap and survive a round trip`() {
        mutate(["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"]) { value in
            // Beyond 2262 a timestamp is clamped to a time with a fraction of a second.
            guard let time = HTTPDate.parse(value), time.nanoseconds != .max, time.nanoseconds != .min else { return }
            #expect(HTTPDate.parse(HTTPDate.format(time)) == time, "\(value)")
        }
    }
}
