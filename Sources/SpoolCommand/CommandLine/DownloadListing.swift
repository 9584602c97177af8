import Spool
import SpoolJSON

/// A change of one entry of the list of downloads.
enum DownloadChange {
    case pause
    case resume
    case remove(keepsBytes: Bool)
    case order(priority: Int?, place: DownloadPlace?)
}

/// The list of downloads as `spool download ls` shows it, from the store or from a running server.
struct DownloadListing {
    /// One download.
    struct Line {
        /// The entry as it came.
        var json: JSON
        var key: String
        var url: String
        var group: String
        var priority: Int64
        var state: String
        /// The reason for the state, or the last error.
        var reason: String?
        var doneBytes: Int64
        var totalBytes: Int64?
    }

    /// The downloads in the order in which they run.
    var lines: [Line] = []
    /// The bytes that downloads occupy.
    var usedBytes: Int64 = 0
    /// The most bytes that they may occupy, or nil without a limit or without a server.
    var allowanceBytes: Int64?

    // MARK: Output

    /// The list as one JSON object.
    var json: String {
        JSON.object([
            ("downloads", .array(lines.map(\.json))), ("usedBytes", .integer(usedBytes)), ("allowanceBytes", JSON(allowanceBytes)),
        ]).text + "\n"
    }

    /// The list as lines for people.
    var text: String {
        let allowance = allowanceBytes.map { " of the \(ByteCount.text($0)) for downloads" } ?? ""
        return lines.map(\.text).joined() + "\(lines.count.counted("download")), \(ByteCount.text(usedBytes))\(allowance) used\n"
    }
}

extension DownloadListing.Line {
    /// Reads an entry of `DownloadReport`, from this process or a server.
    init?(_ value: JSON) {
        guard let key = value["key"]?.string, let url = value["url"]?.string, let state = value["state"]?.string,
            let done = value["doneBytes"]?.integer
        else { return nil }
        (json, self.key, self.url, self.state, doneBytes) = (value, key, url, state, done)
        group = value["group"]?.string ?? ""
        priority = value["priority"]?.integer ?? 0
        reason = value["reason"]?.string
        totalBytes = value["totalBytes"]?.integer
    }

    private static let stateWidth = 8
    private static let percentWidth = 5
    private static let sizeWidth = 9

    fileprivate var text: String {
        let percent = totalBytes.map { "\(ByteCount.percent(doneBytes, of: $0)) %" } ?? "? %"
        let columns = [
            state.padded(to: Self.stateWidth), percent.padded(to: Self.percentWidth, onLeft: true),
            (totalBytes.map(ByteCount.text) ?? "?").padded(to: Self.sizeWidth, onLeft: true), url,
        ]
        let notes = [group.isEmpty ? nil : "group \(group)", priority == 0 ? nil : "priority \(priority)", reason].compactMap(\.self)
        return (columns.joined(separator: "  ") + (notes.isEmpty ? "" : "  (\(notes.joined(separator: "; ")))")).printable + "\n"
    }
}
