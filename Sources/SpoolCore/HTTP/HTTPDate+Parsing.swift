/// Parses the three forms of an HTTP date. Names compare without regard to case, and the weekday is
/// not checked against the date.
struct DateParser {
    var scanner: ByteScanner
    let now: Timestamp?

    private typealias Clock = (hour: Int64, minute: Int64, second: Int64)

    mutating func parse() -> Timestamp? {
        scanner.skipWhitespace()
        guard let name = scanner.take(while: \.isLetter) else { return nil }
        let time: Timestamp?
        if HTTPDate.weekdays.contains(where: { $0.equalsIgnoringCase(name) }) {
            time = scanner.take(.comma) ? fixdate() : asctime()
        } else if HTTPDate.longWeekdays.contains(where: { $0.equalsIgnoringCase(name) }) {
            time = scanner.take(.comma) ? rfc850() : nil
        } else {
            return nil
        }
        scanner.skipWhitespace()
        return scanner.isAtEnd ? time : nil
    }

    // MARK: Forms

    /// ` 06 Nov 1994 08:49:37 GMT`
    private mutating func fixdate() -> Timestamp? {
        guard scanner.take(.space), let day = number(digits: 2) else { return nil }
        guard scanner.take(.space), let month = month() else { return nil }
        guard scanner.take(.space), let year = number(digits: 4) else { return nil }
        guard scanner.take(.space), let clock = clock(), zone() else { return nil }
        return moment(CivilDate(year: year, month: month, day: day), clock)
    }

    /// ` 06-Nov-94 08:49:37 GMT`
    private mutating func rfc850() -> Timestamp? {
        guard scanner.take(.space), let day = number(digits: 2) else { return nil }
        guard scanner.take(.minus), let month = month() else { return nil }
        guard scanner.take(.minus), let year = number(digits: 2) else { return nil }
        guard scanner.take(.space), let clock = clock(), zone() else { return nil }
        return moment(CivilDate(year: fullYear(year), month: month, day: day), clock)
    }

    /// ` Nov  6 08:49:37 1994`
    private mutating func asctime() -> Timestamp? {
        guard scanner.take(.space), let month = month(), scanner.take(.space) else { return nil }
        guard let day = scanner.take(.space) ? number(digits: 1) : number(digits: 2) else { return nil }
        guard scanner.take(.space), let clock = clock() else { return nil }
        guard scanner.take(.space), let year = number(digits: 4) else { return nil }
        return moment(CivilDate(year: year, month: month, day: day), clock)
    }

    // MARK: Parts

    private mutating func number(digits: Int) -> Int64? {
        let start = scanner.offset
        let number = scanner.number()
        return scanner.offset - start == digits ? number : nil
    }

    private mutating func month() -> Int64? {
        guard let name = scanner.take(while: \.isLetter) else { return nil }
        return HTTPDate.months.firstIndex { $0.equalsIgnoringCase(name) }.map { Int64($0) + 1 }
    }

    private mutating func clock() -> Clock? {
        guard let hour = number(digits: 2), scanner.take(.colon) else { return nil }
        guard let minute = number(digits: 2), scanner.take(.colon) else { return nil }
        guard let second = number(digits: 2) else { return nil }
        // A second of 60 is a leap second.
        return hour < 24 && minute < 60 && second <= 60 ? (hour, minute, second) : nil
    }

    private mutating func zone() -> Bool {
        scanner.take(.space) && scanner.take(word: "GMT")
    }

    private func moment(_ date: CivilDate?, _ clock: Clock) -> Timestamp? {
        date.map { Timestamp(seconds: $0.daysSinceEpoch * 86_400 + clock.hour * 3600 + clock.minute * 60 + clock.second) }
    }

    /// The full year for two digits: at most 50 years in the future (RFC 9110 §5.6.7).
    private func fullYear(_ year: Int64) -> Int64 {
        guard let now else { return year < 70 ? 2000 + year : 1900 + year }
        let present = CivilDate(daysSinceEpoch: now.seconds.flooredQuotientAndRemainder(by: 86_400).quotient).year
        let candidate = present - present % 100 + year
        if candidate > present + 50 { return candidate - 100 }
        return candidate <= present - 50 ? candidate + 100 : candidate
    }
}
