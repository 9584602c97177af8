/// Dates of HTTP fields (RFC 9110 §5.6.7): whole seconds, in GMT.
package enum HTTPDate {
    /// The moment in the form that is sent, `Sun, 06 Nov 1994 08:49:37 GMT`. Fractions of a second
    /// are dropped.
    package static func format(_ time: Timestamp) -> String {
        let (days, second) = time.seconds.flooredQuotientAndRemainder(by: 86_400)
        let date = CivilDate(daysSinceEpoch: days)
        // 1970-01-01 was a Thursday, which is the fourth name.
        let weekday = weekdays[Int((days + 3).flooredQuotientAndRemainder(by: 7).remainder)]
        let clock = [second / 3600, second / 60 % 60, second % 60].map { padded($0, 2) }.joined(separator: ":")
        return "\(weekday), \(padded(date.day, 2)) \(months[Int(date.month) - 1]) \(padded(date.year, 4)) \(clock) GMT"
    }

    /// Parses a field value in any of the three forms of HTTP.
    ///
    /// - Parameter now: the present, which decides the century of the obsolete form with two
    ///   digits: a date more than 50 years in the future is past. Without it, 70 to 99 belong to
    ///   the twentieth century.
    /// - Returns: nil for a value in no such form.
    package static func parse(_ value: String, now: Timestamp? = nil) -> Timestamp? {
        var parser = DateParser(scanner: ByteScanner(value), now: now)
        return parser.parse()
    }

    static let weekdays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    static let longWeekdays = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
    static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    fileprivate static func padded(_ number: Int64, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
}

extension Timestamp {
    /// The date in UTC, for example `2026-01-31` (ISO 8601).
    package var dateInUTC: String {
        let date = CivilDate(daysSinceEpoch: seconds.flooredQuotientAndRemainder(by: 86_400).quotient)
        return [(date.year, 4), (date.month, 2), (date.day, 2)].map { HTTPDate.padded($0, $1) }.joined(separator: "-")
    }
}

/// A day of the Gregorian calendar, extended to the time before its introduction.
struct CivilDate: Hashable {
    var year: Int64
    /// 1 to 12.
    var month: Int64
    /// 1 to 31.
    var day: Int64

    /// Creates a day.
    /// - Returns: nil for a day that its month does not have.
    init?(year: Int64, month: Int64, day: Int64) {
        guard (0...9999).contains(year), (1...12).contains(month) else { return nil }
        guard day >= 1, day <= Self.days(inMonth: month, of: year) else { return nil }
        (self.year, self.month, self.day) = (year, month, day)
    }

    static func isLeap(_ year: Int64) -> Bool {
        year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    }

    static func days(inMonth month: Int64, of year: Int64) -> Int64 {
        switch month {
        case 2: isLeap(year) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    // The arithmetic counts years from March. The leap day is then the last of its year, and the
    // months before it have fixed lengths: 153 days for each five months. 400 years have 146 097
    // days. 719 468 days lie between 0000-03-01 and 1970-01-01.

    var daysSinceEpoch: Int64 {
        let shiftedYear = month > 2 ? year : year - 1
        let (era, yearOfEra) = shiftedYear.flooredQuotientAndRemainder(by: 400)
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    init(daysSinceEpoch days: Int64) {
        let (era, dayOfEra) = (days + 719_468).flooredQuotientAndRemainder(by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0)
    }
}

extension Int64 {
    /// Division that rounds down, so that the remainder is never negative. `divisor` must be
    /// positive.
    func flooredQuotientAndRemainder(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
