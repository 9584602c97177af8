import Spool
import SpoolJSON

/// `spool config`: prints each setting with its source.
struct ConfigCommand: Command {
    static let json = Flag("json", help: "Print a JSON array with one object for each setting.")

    static let syntax = CommandSyntax(
        "config", "Show each setting, and where it comes from",
        discussion: [
            "A setting is a flag of the same name, else a variable, else a line of a file, else the default. The files are"
                + " $XDG_CONFIG_HOME/spool/spool.conf (or ~/.config/spool/spool.conf) and /etc/spool/spool.conf, or the one of --config.",
            "A line of a file is 'name = value', with the name of a flag without its dashes. Lines with # are comments. A flag without a value"
                + " is 'yes' or 'no'. A flag that may be repeated has several lines. Paths begin with / or ~/. A limit of 'spool limits' counts"
                + " where no flag, variable or file has one.",
        ],
        flags: ConfigurationFile.settings + [json],
        examples: [
            .init("spool config", "Show the settings of commands that you run."),
            .init("spool config --config /etc/spool/spool.conf --json", "Check the file of a server."),
        ])

    private let arguments: Arguments
    /// A server with these settings, which checks every value.
    private let server: ServeCommand

    init(_ arguments: Arguments) throws(UsageError) {
        self.arguments = arguments
        server = try ServeCommand(arguments)
    }

    func run() async throws -> ExitCode {
        let directory = server.cacheSettings.configuration.storage.directory
        let stored = try directory.map(StoredLimits.read) ?? StoredLimits()
        let rows = ConfigurationFile.settings.map { flag in row(flag, stored, directory) }
        try OutputStream.output.write(arguments.has(Self.json) ? json(rows) : text(rows))
        return .success
    }

    /// A setting, its value as text, and the source.
    private struct Row {
        let name: String
        let value: String
        let source: SettingSource
    }

    private func row(_ flag: Flag, _ stored: StoredLimits, _ directory: String?) -> Row {
        if let source = arguments.source(of: flag) {
            let values = arguments.all(flag).map { Self.shown($0, flag) }
            // The first word of two is a host, which is not a secret.
            let hosts = flag.second == nil ? [] : stride(from: 0, to: values.count, by: 2).map { arguments.all(flag)[$0] + " (not shown)" }
            let text = flag.placeholder == nil ? "yes" : (flag.second == nil ? values : hosts).joined(separator: ", ")
            return Row(name: flag.name, value: text, source: source)
        }
        if let limit = stored[flag], let directory { return Row(name: flag.name, value: limit, source: .store(directory)) }
        return Row(name: flag.name, value: standard(flag), source: .standard)
    }

    /// Returns a value without its secrets. The name of a file with a secret is none.
    private static func shown(_ value: String, _ flag: Flag) -> String {
        let secrets = [ProxySettings.token, ProxySettings.parent, HeaderSettings.header, HeaderSettings.headerFor]
        let isSecret = secrets.contains(flag) && !value.hasPrefix("@")
        return isSecret ? "(not shown)" : value
    }

    private func standard(_ flag: Flag) -> String {
        if LimitFlags.all.contains(flag) { return LimitFlags.defaultText(flag) }
        switch flag {
        case ProxySettings.listen: return "127.0.0.1:8080"
        case ProxySettings.users: return server.proxySettings.hasManyUsers ? "many" : "one"
        case ProxySettings.perClient: return "128"
        case BucketSettings.region: return BucketSettings.defaultRegion
        case CacheSettings.directory: return server.cacheSettings.configuration.storage.directory ?? "none"
        case ServeCommand.drain: return "10s"
        case ServeCommand.loops: return "1"
        case DownloadFlags.jobs: return "2"
        case DownloadFlags.room: return "32G"
        case CacheSettings.readAhead: return "4M"
        case CacheSettings.fetchesPerHost: return "6"
        case CacheSettings.policy: return "while-playing"
        case CacheSettings.freshness: return "explicit"
        case PatienceSettings.patience: return "60s"
        case CacheSettings.level: return "info"
        default: return flag.placeholder == nil ? "no" : "none"
        }
    }

    private func text(_ rows: [Row]) -> String {
        let width = rows.map(\.name.count).max() ?? 0
        let valueWidth = min(40, rows.map(\.value.count).max() ?? 0)
        return rows.map { row in
            "\(row.name.padded(to: width))  \(row.value.printable.padded(to: valueWidth))  \(row.source)\n"
        }.joined()
    }

    private func json(_ rows: [Row]) -> String {
        let objects = rows.map { row -> JSON in
            var members: [(String, JSON)] = [
                ("name", .string(row.name)), ("value", .string(row.value)), ("source", .string(row.source.kind)),
            ]
            if case .file(let path, let line) = row.source { members += [("file", .string(path)), ("line", .integer(Int64(line)))] }
            return .object(members)
        }
        return JSON.array(objects).text + "\n"
    }
}

/// The place that a setting comes from.
enum SettingSource: Hashable, CustomStringConvertible {
    case commandLine
    case variable(String)
    case file(path: String, line: Int)
    /// The limits that the store in a directory keeps.
    case store(String)
    case standard

    var description: String {
        switch self {
        case .commandLine: "command line"
        case .variable(let name): "variable \(name)"
        case .file(let path, let line): "\(path):\(line)"
        case .store: "limits of the store"
        case .standard: "default"
        }
    }

    /// The word for the source in JSON.
    var kind: String {
        switch self {
        case .commandLine: "flag"
        case .variable: "environment"
        case .file: "file"
        case .store: "store"
        case .standard: "default"
        }
    }
}
