import Spool
import SpoolCore

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
            let cells = row.enumerated().map { column, cell in
                let space = String(repeating: " ", count: widths[column] - cell.count)
                return column == 0 ? cell + space : space + cell
            }
            return cells.joined(separator: "   ") + "\n"
        }.joined()
    }

    /// One object with the days, and the sums of all days.
    var json: String {
        var json = JSONWriter()
        json.object { json in
            json.field(
                "days",
                array: { json in
                    for day in days {
                        json.object { json in
                            json.field("day", day.day)
                            Self.write(day.counts, to: &json)
                        }
                    }
                })
            json.field("total", object: { json in Self.write(total, to: &json) })
        }
        return json.text + "\n"
    }

    private var total: Statistics {
        var total = Statistics()
        for day in days { total.add(day.counts) }
        return total
    }

    private static func row(_ name: String, _ counts: Statistics) -> [String] {
        let saved = counts.savedBytes
        return [
            name, (saved < 0 ? "-" : "") + ByteCount.text(Int64(clamping: saved.magnitude)),
            ByteCount.text(counts.bytesFromStore.addingSaturated(counts.bytesFromOrigin)),
            ByteCount.text(counts.fetchedBytes), "\(Int((counts.hitRatio * 100).rounded())) %",
        ]
    }

    private static func write(_ counts: Statistics, to json: inout JSONWriter) {
        json.field("savedBytes", counts.savedBytes)
        json.field("fetchedBytes", counts.fetchedBytes)
        if let sent = counts.sentByOriginsBytes { json.field("sentByOriginsBytes", sent) } else { json.null("sentByOriginsBytes") }
        json.field("originRequests", counts.originRequests)
        json.field("bytesFromStore", counts.bytesFromStore)
        json.field("bytesFromOrigin", counts.bytesFromOrigin)
        json.field("readers", counts.readers)
    }
}
