import Spool
import SpoolCore

/// The columns of `spool ls`.
enum ListTable {
    private static let stateWidth = 6
    private static let sizeWidth = 9
    private static let rangesWidth = 6
    /// The length of the longest usual type, `application/vnd.apple.mpegurl`. A longer one is cut.
    private static let typeWidth = 29
    private static let timeWidth = 17

    /// The first line of the long form.
    static let heading = line(
        state: "stored", size: "length", details: .init(ranges: "ranges", type: "type", used: "last used", isPinned: false), name: "URL")

    static func line(_ status: ResourceStatus, isLong: Bool) -> String {
        let details = Details(
            ranges: "\(status.stored.rangeCount)", type: status.representation.contentType?.printable ?? "-", used: used(status),
            isPinned: status.isPinned)
        return line(
            state: status.percentText, size: status.lengthText, details: isLong ? details : nil, name: status.key.string.printable)
    }

    /// Returns the line of a presentation.
    ///
    /// - Parameter status: The status of its manifest.
    static func line(_ presentation: PresentationStatus, _ status: ResourceStatus, isLong: Bool) -> String {
        let details = Details(
            ranges: "-", type: "\(presentation.resources.count) resources", used: used(status), isPinned: presentation.isPinned)
        return line(
            state: presentation.stateText, size: ByteCount.text(presentation.storedBytes), details: isLong ? details : nil,
            name: presentation.key.string.printable)
    }

    /// Returns the line of a pinned resource without stored bytes.
    static func line(forPinOf key: ResourceKey, isLong: Bool) -> String {
        let details = Details(ranges: "0", type: "-", used: "-", isPinned: true)
        let note = isLong ? "" : "  (pinned, nothing stored yet)"
        return line(state: "0 %", size: "?", details: isLong ? details : nil, name: key.string.printable + note)
    }

    /// The columns of the long form.
    private struct Details {
        var ranges: String
        var type: String
        var used: String
        var isPinned: Bool
    }

    private static func line(state: String, size: String, details: Details?, name: String) -> String {
        var columns = [state.padded(to: stateWidth, onLeft: true), size.padded(to: sizeWidth, onLeft: true)]
        if let details {
            columns += [
                details.ranges.padded(to: rangesWidth, onLeft: true), left(details.type, typeWidth), left(details.used, timeWidth),
                details.isPinned ? "*" : " ",
            ]
        }
        return (columns + [name]).joined(separator: "  ") + "\n"
    }

    private static func used(_ status: ResourceStatus) -> String { status.lastAccess.map { String($0.iso8601.prefix(16)) + "Z" } ?? "-" }

    private static func left(_ text: String, _ width: Int) -> String {
        text.count > width ? text.prefix(width - 3) + "..." : text.padded(to: width)
    }
}
