package import Spool

/// The counts of a cache by day, as its store keeps them.
///
/// The text has one line for each day: the date, and `name=value` for each count. A name that is not
/// known, and a line that can't be read, are left out: another version of the program may have written
/// them.
package struct StatisticsHistory: Equatable {
    /// The most days. The oldest ones are dropped.
    package static let maxDays = 400
    /// The longest text that is read, in bytes: several times that of `maxDays` lines.
    package static let maxBytes = 256 << 10
    private static let sentName = "sentByOriginsBytes"

    /// The days in order, the oldest first.
    package private(set) var days: [DayStatistics] = []

    /// Reads a history.
    package init(_ text: String = "") {
        guard text.utf8.count <= Self.maxBytes else { return }
        var counts: [String: Statistics] = [:]
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            guard let day = words.first.map(String.init), Self.isDay(day) else { continue }
            counts[day, default: Statistics()].add(Self.counts(words.dropFirst()))
        }
        days = counts.map { DayStatistics(day: $0.key, counts: $0.value) }.sorted { $0.day < $1.day }
        dropOld()
    }

    /// Adds the growth of the counts to those of a day.
    package mutating func add(_ growth: Statistics, on day: String) {
        if let index = days.firstIndex(where: { $0.day == day }) {
            days[index].counts.add(growth)
        } else {
            let index = days.firstIndex { $0.day > day } ?? days.endIndex
            days.insert(DayStatistics(day: day, counts: growth), at: index)
            dropOld()
        }
    }

    /// The history as the store keeps it.
    package var text: String {
        days.map { day in
            var words = [day.day] + Statistics.counts.map { "\($0.name)=\(day.counts[keyPath: $0.place])" }
            if let sent = day.counts.sentByOriginsBytes { words.append("\(Self.sentName)=\(sent)") }
            return words.joined(separator: " ") + "\n"
        }.joined()
    }

    private mutating func dropOld() { days.removeFirst(max(0, days.count - Self.maxDays)) }

    private static func counts(_ words: ArraySlice<Substring>) -> Statistics {
        var counts = Statistics()
        for word in words {
            let parts = word.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, let value = Int64(parts[1]), value >= 0 else { continue }
            if parts[0] == sentName { counts.sentByOriginsBytes = value }
            if let count = Statistics.counts.first(where: { $0.name == parts[0] }) { counts[keyPath: count.place] = value }
        }
        return counts
    }

    /// Whether the text is a date such as `2026-01-31`.
    private static func isDay(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        let dashes = [4, 7]
        guard bytes.count == 10, dashes.allSatisfy({ bytes[$0] == UInt8(ascii: "-") }) else { return false }
        return bytes.indices.allSatisfy { dashes.contains($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[$0]) }
    }
}
