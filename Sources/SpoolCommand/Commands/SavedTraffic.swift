import Spool
import SpoolCore
import SpoolDashboard
import SpoolJSON

/// The bytes that a store saved, by day: the text and the JSON of `spool stat` without a URL.
struct SavedTraffic {
    /// The days, the oldest first.
    let days: [DayStatistics]

    /// The most days that the text lists.
    private static let listedDays = 31

    /// A table with a line for each day, and one for all.
    var text: String {
        guard let first = days.first else { return "nothing was played through this cache yet\n" }
        var rows = [["day (UTC)", "saved", "played", "fetched", "from the store"]]
        rows += days.suffix(Self.listedDays).map { Self.row($0.day, $0.counts) }
        rows.append(Self.row("since \(first.day)", total))
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            row.enumerated().map { column, cell in cell.padded(to: widths[column], onLeft: column > 0) }.joined(separator: "   ") + "\n"
        }.joined()
    }

    /// One object with the days, and the sums of all days.
    var json: String {
        let days = days.map { JSON.object([("day", .string($0.day))] + Self.members($0.counts)) }
        return JSON.object([("days", .array(days)), ("total", .object(Self.members(total)))]).text + "\n"
    }

    private var total: Statistics {
        var total = Statistics()
        for day in days { total.add(day.counts) }
        return total
    }

    private static func row(_ name: String, _ counts: Statistics) -> [String] {
        // More is fetched than played when, for example, a download waits for its first play.
        let saved = counts.savedBytes > 0 ? ByteCount.text(counts.savedBytes) : "nothing yet"
        return [
            name, saved,
            ByteCount.text(counts.bytesFromStore.addingSaturated(counts.bytesFromOrigin)),
            ByteCount.text(counts.fetchedBytes), "\(Int((counts.hitRatio * 100).rounded())) %",
        ]
    }

    private static func members(_ counts: Statistics) -> [(String, JSON)] {
        [("savedBytes", .integer(counts.savedBytes))] + counts.members
    }
}
