import Spool
import SpoolCore
import SpoolJSON
import SpoolLibc
import SpoolProxy
import SpoolSystem

/// Writes log lines to standard error, as text or as one JSON object on each line.
///
/// The log reports dropped lines when there is room again.
final class StandardErrorLog: LogSink {
    /// The form of a line.
    enum Format: Sendable {
        case text, json
    }

    /// The lowest level that is logged. It can change while the log is in use.
    var level: LogLevel {
        get { LogLevel(rawValue: Int(lowest.value)) ?? .info }
        set { lowest.value = Int64(newValue.rawValue) }
    }

    /// The raw value of the lowest level.
    private let lowest: SharedNumber
    private let format: Format
    private let time: any TimeSource
    private let lines = LineLane(name: "spool-log")

    init(level: LogLevel, format: Format, time: any TimeSource = SystemTime()) {
        lowest = SharedNumber(Int64(level.rawValue))
        self.format = format
        self.time = time
    }

    func log(_ level: LogLevel, _ message: String) { log(level, message, of: nil) }

    /// Logs a request. As JSON, its parts are members of their own.
    func log(_ level: LogLevel, _ record: ProxyRecord) {
        let problem = record.problem.map { "  \($0)" } ?? ""
        let facts = "\(record.status)  \(ByteCount.text(record.bytesSent))  \(Int64(record.milliseconds)) ms"
        let client = record.client.map { "  for \($0)" } ?? ""
        log(level, "\(record.method) \(record.target)  \(facts)\(client)\(problem)", of: record)
    }

    private func log(_ level: LogLevel, _ message: String, of record: ProxyRecord?) {
        guard level >= self.level else { return }
        let now = time.wallNow
        lines.post { [self] dropped in
            if dropped > 0 {
                OutputStream.error.say(line(.warning, "\(dropped) log lines were dropped: the reader of the log was too slow", now))
            }
            OutputStream.error.say(line(level, message, now, record))
        }
    }

    /// Writes the waiting lines and ends the thread.
    func close() {
        lines.close()
    }

    private func line(_ level: LogLevel, _ message: String, _ now: Timestamp, _ record: ProxyRecord? = nil) -> String {
        switch format {
        case .text:
            return "\(now.iso8601)  \(level)" + String(repeating: " ", count: max(1, 9 - "\(level)".count)) + message.printable
        case .json:
            var members: [(String, JSON)] = [
                ("time", .string(now.iso8601)), ("level", .string("\(level)")), ("message", .string(message)),
            ]
            if let record {
                if let client = record.client { members.append(("client", .string(client))) }
                members += [
                    ("method", .string(record.method)), ("target", .string(record.target)), ("status", .integer(Int64(record.status))),
                    ("bytes", .integer(record.bytesSent)), ("milliseconds", .integer(Int64(record.milliseconds))),
                ]
                if let problem = record.problem { members.append(("problem", .string(problem))) }
            }
            return JSON.object(members).text
        }
    }
}

extension Timestamp {
    /// The time in UTC to the millisecond, for example `2026-01-31T12:00:00.250Z` (RFC 3339).
    var iso8601: String {
        let milliseconds = (nanoseconds - seconds * 1_000_000_000) / 1_000_000
        let second = (seconds % 86_400 + 86_400) % 86_400
        let time = [second / 3600, second / 60 % 60, second % 60].map { Self.padded($0, 2) }.joined(separator: ":")
        return "\(dateInUTC)T\(time).\(Self.padded(milliseconds, 3))Z"
    }

    /// The time in UTC to the second, as the logs of web servers have it:
    /// `31/Jan/2026:12:00:00 +0000`.
    var commonLogTime: String {
        // `Sat, 31 Jan 2026 12:00:00 GMT`
        let parts = HTTPDate.format(self).split(separator: " ")
        return parts[1...3].joined(separator: "/") + ":\(parts[4]) +0000"
    }

    private static func padded(_ number: Int64, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
