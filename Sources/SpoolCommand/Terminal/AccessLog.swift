import SpoolCore
import SpoolLibc
import SpoolProxy
import SpoolSystem

/// A log with one line for each request of a player, in the combined format of web servers with
/// three more parts.
///
///     192.0.2.7 - - [31/Jan/2026:12:00:00 +0000] "GET https://example.com/a.mp4 HTTP/1.1" 206
///     65536 "-" "mpv 0.40" "bytes 0-65535/900000" "spool; hit" 0.002
///
/// The parts at the end are `Content-Range`, `Cache-Status` and the seconds to the end of the
/// response. Tools that read the combined format ignore them.
final class AccessLog: Sendable {
    private let path: String
    private let lines = LineLane(name: "spool-access")
    private let output: Locked<OpenFile>
    private let time: any TimeSource

    /// The file of the log. Lines that wait keep the old one open.
    private final class OpenFile: Sendable {
        private let descriptor: FileDescriptor

        init(_ path: String) throws(SystemError) {
            let number = try systemCall("open", on: path) {
                path == "-" ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0) : open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o640)
            }
            descriptor = FileDescriptor(owning: number)
        }

        /// Writes a text. The server goes on without it after an error: there is no other place for
        /// it.
        func write(_ text: String) {
            let stream = OutputStream(descriptor: descriptor.rawValue, name: "the access log")
            do throws(SystemError) { try stream.write(Array(text.utf8)) } catch { return }
        }
    }

    /// Opens the file, or standard output for `-`.
    init(path: String, time: any TimeSource = SystemTime()) throws(SystemError) {
        self.path = path
        self.time = time
        output = Locked(try OpenFile(path))
    }

    /// Opens the file again, after another program has moved it away.
    ///
    /// - Throws: `SystemError` when the file can't be opened. The log then goes on in the old one.
    func reopen() throws(SystemError) {
        let new = try OpenFile(path)
        // The lines before this one belong into the old file.
        lines.run { [output] in output.withLock { $0 = new } }
    }

    /// Adds a line.
    func record(_ record: ProxyRecord) {
        let now = time.wallNow
        lines.post { [output] dropped in
            let text = (dropped > 0 ? "# \(dropped) lines were dropped: the disk was too slow\n" : "") + Self.line(record, now) + "\n"
            output.withLock { $0 }.write(text)
        }
    }

    /// Writes the waiting lines.
    func close() { lines.close() }

    /// Returns the line of a request, without the end of the line.
    static func line(_ record: ProxyRecord, _ now: Timestamp) -> String {
        let parts = [
            record.client ?? "-", "- -", "[\(now.commonLogTime)]", quoted("\(record.method) \(record.target) HTTP/1.1"), "\(record.status)",
            "\(record.bytesSent)", quoted(nil), quoted(record.userAgent), quoted(record.range), quoted(record.cacheStatus),
            "\(Double(Int64(record.milliseconds)) / 1000)",
        ]
        return parts.joined(separator: " ")
    }

    /// Returns a part in quotes, without characters that would end it or the line.
    private static func quoted(_ text: String?) -> String {
        guard let text, !text.isEmpty else { return "\"-\"" }
        return "\"" + text.printable.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
}
