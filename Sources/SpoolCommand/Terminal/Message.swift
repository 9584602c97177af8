import SpoolCore
import SpoolJSON
import SpoolSystem

/// A message of a command on standard error: a line for people, or one JSON object (docs/json.md).
struct Message {
    /// The importance, with the name that log lines use.
    enum Level: String {
        case notice, error
    }

    let level: Level
    /// The line for people, which begins with `spool`.
    let text: String
    /// The URL or key that the message is about.
    var url: String?
    /// The name of the error, if the message is about one.
    var error: String?
    /// The exit status of the command, if the message ends it.
    var exitCode: ExitCode?

    init(_ level: Level, _ text: String, url: String? = nil, error: String? = nil) {
        self.level = level
        self.text = text
        self.url = url
        self.error = error
    }

    /// Creates the message of an error that ends the command, or returns nil for the end of the
    /// reader of the output.
    init?(ending error: any Error) {
        let (code, line) = ExitCode.of(error)
        guard let line else { return nil }
        self.init(.error, line)
        exitCode = code
        switch error {
        case let cause as CacheError: (self.error, url) = (cause.code.rawValue, cause.key?.string)
        case let cause as Failure: (self.error, url) = (cause.name ?? Self.name(of: code), cause.url)
        default: self.error = Self.name(of: code)
        }
    }

    /// The message for a resource of which nothing is stored.
    static func notStored(_ name: String) -> Message {
        Message(.error, "spool: nothing is stored of \(name)", url: name, error: CacheError.Code.notStored.rawValue)
    }

    /// The name of an error that has no code of its own.
    private static func name(of code: ExitCode) -> String {
        switch code {
        case .usage: "usage"
        case .unreachable: CacheError.Code.originUnreachable.rawValue
        case .inputOutput: "inputOutput"
        case _ where code.rawValue > ExitCode.signal(0).rawValue: "interrupted"
        default: "failure"
        }
    }

    /// The message as it is written at a time.
    func line(as format: StandardErrorLog.Format, now: Timestamp) -> String {
        guard format == .json else { return text }
        var members: [(String, JSON)] = [("time", .string(now.iso8601)), ("level", .string(level.rawValue))]
        if let error { members.append(("error", .string(error))) }
        members.append(("message", .string(text.hasPrefix("spool: ") ? String(text.dropFirst("spool: ".count)) : text)))
        members.append(("url", JSON(url)))
        if let exitCode { members.append(("exitStatus", .integer(Int64(exitCode.rawValue)))) }
        return JSON.object(members).text
    }

    /// Writes the message to standard error.
    func say(as format: StandardErrorLog.Format) { OutputStream.error.say(line(as: format, now: SystemTime().wallNow)) }
}

extension StandardErrorLog.Format {
    private static let flags = ["json", CacheSettings.logJSON.name].map { "--\($0)" }

    /// Returns the form of messages for the words of a command line, which may be invalid.
    static func ofMessages(for words: some Sequence<String>) -> StandardErrorLog.Format {
        words.prefix { $0 != "--" }.contains(where: flags.contains) ? .json : .text
    }
}

extension Arguments {
    /// Whether the output is JSON.
    var isJSON: Bool { has(.json) }

    /// The form of messages about single resources, which is that of the output.
    var outputFormat: StandardErrorLog.Format { isJSON ? .json : .text }

    /// The form of messages on standard error.
    var messageFormat: StandardErrorLog.Format { isJSON || has(CacheSettings.logJSON) ? .json : .text }
}
