import Spool
import SpoolCore
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
        let count = "\(lines.count) download\(lines.count == 1 ? "" : "s")"
        return lines.map(\.text).joined() + "\(count), \(ByteCount.text(usedBytes))\(allowance) used\n"
    }
}

extension DownloadListing.Line {
    init(_ download: Download) {
        key = download.key.string
        url = download.url
        group = download.group
        priority = Int64(download.priority)
        state = download.state.name
        reason = download.state.reason ?? download.lastError
        doneBytes = download.doneBytes
        totalBytes = download.totalBytes
    }

    /// Reads the answer of a server.
    init?(_ value: JSON) {
        guard let key = value["key"]?.string, let url = value["url"]?.string, let state = value["state"]?.string,
            let done = value["doneBytes"]?.integer
        else { return nil }
        (self.key, self.url, self.state, doneBytes) = (key, url, state, done)
        group = value["group"]?.string ?? ""
        priority = value["priority"]?.integer ?? 0
        reason = value["reason"]?.string
        totalBytes = value["totalBytes"]?.integer
    }

    fileprivate var json: JSON {
        .object([
            ("key", .string(key)), ("url", .string(url)), ("group", .string(group)), ("priority", .integer(priority)),
            ("state", .string(state)), ("reason", JSON(reason)), ("doneBytes", .integer(doneBytes)), ("totalBytes", JSON(totalBytes)),
        ])
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
