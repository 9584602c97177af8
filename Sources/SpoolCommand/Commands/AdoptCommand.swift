import Spool
import SpoolAdoption
import SpoolCore
import SpoolJSON
import SpoolLibc
import SpoolSystem

/// `spool adopt`: takes over the store of another cache.
struct AdoptCommand: Command {
    static let map = Flag("map", takes: "FILE", help: "The mapping file; by default spool-adopt.tsv in DIR.")
    static let trust = Flag(
        "trust",
        help: "Take partly stored resources as parts of the version that the origin has now, if its length is the same and it has a strong"
            + " validator. If the resource has changed meanwhile, such bytes are wrong.")
    static let replace = Flag("replace", help: "Replace stored resources by those of DIR.")
    static let dryRun = Flag("dry-run", "n", help: "Only show what would be taken. The origin is not asked.")
    static let json = Flag("json", help: "Print one JSON object.")

    static let syntax = CommandSyntax(
        "adopt", "Take over the store of another cache",
        discussion: [
            "DIR is the directory of KTVHTTPCache, VIMediaCache or GSPlayer, copied from an app, or a folder of files with a mapping file. It"
                + " is only read. Complete resources are taken, and parts whose strong validator is stored with them. The report lists what"
                + " was not taken, and why.",
            "A mapping file has one line for each file, with tabs between the path in DIR, the URL, and optionally type=TYPE, etag=TAG and"
                + " length=BYTES. A line with a URL alone finds the file that GSPlayer or VIMediaCache names by its MD5.",
            "While a server has the store, the server reads DIR. After an interruption, the adopted resources stay. Exits 1 when something is"
                + " damaged or could not be stored; the others are taken.",
        ],
        operands: .init(usage: "DIR", count: 1...1, completion: .files),
        flags: [map, trust, replace, dryRun, json] + CacheSettings.store + LimitFlags.all + [LimitFlags.maximumResource]
            + HeaderSettings.all + KeySettings.names + [CacheSettings.certificates] + CacheSettings.logging,
        examples: [
            .init("spool adopt --dry-run Documents/KTVHTTPCache", "Show what a store has."),
            .init("spool adopt --map urls.txt tmp/GSPlayer", "Take the files of GSPlayer, whose URLs are in a list."),
        ])

    private let settings: CacheSettings
    private let directory: String
    private let options: AdoptionOptions
    private let isJSON: Bool

    init(_ arguments: Arguments) throws(UsageError) {
        settings = try CacheSettings(arguments, level: .warning)
        directory = arguments.operands[0]
        var options = AdoptionOptions()
        options.mappingFile = arguments[Self.map]
        options.trustsParts = arguments.has(Self.trust)
        options.replacesStored = arguments.has(Self.replace)
        options.isDryRun = arguments.has(Self.dryRun)
        self.options = options
        isJSON = arguments.isJSON
    }

    func run() async throws -> ExitCode {
        let interruption = try await Interruption.install()
        let line = SharedProgress(name: directory, total: nil)
        let cache = try settings.open()
        do {
            let (report, entries) = try await cache.closing {
                cache.store.isWritable
                    ? try await adopt(into: cache, line, interruption) : try adopt(through: settings.server(), line, interruption)
            }
            line.clear()
            try OutputStream.output.write(isJSON ? json(report, entries) : text(report, entries))
            return report.failedCount == 0 ? .success : .failure
        } catch {
            line.clear()
            guard let signal = interruption.signal else { throw error }
            throw Failure("interrupted; what was taken before stays", .signal(signal))
        }
    }

    private func adopt(
        into cache: MediaCache, _ line: SharedProgress, _ interruption: Interruption
    ) async throws -> (AdoptionReport, entries: Int) {
        let report = try await interruption.cancelling { [directory, options] in
            try await cache.adopt(directory, options: options) { line.set($0.doneBytes, of: $0.totalBytes) }
        }
        return (report, report.entries.count)
    }

    private func adopt(
        through server: RunningServer, _ line: SharedProgress, _ interruption: Interruption
    ) throws -> (AdoptionReport, entries: Int) {
        var options = options
        options.mappingFile = try options.mappingFile.map(absolutePath)
        return try server.adopt(absolutePath(directory), options: options, progress: line.add, onBegin: { interruption.onFirst($0) })
    }

    // MARK: Report

    private func text(_ report: AdoptionReport, _ entries: Int) -> String {
        var text = ""
        for entry in report.entries {
            let name = entry.url ?? entry.name
            switch entry.outcome {
            case .taken(let bytes, let length):
                let part = bytes == length ? "" : " of \(ByteCount.text(length))"
                text += "\(options.isDryRun ? "would take" : "took") \(name) (\(ByteCount.text(bytes))\(part))\n"
            case .leftOut(let reason): text += "left \(name): \(reason)\n"
            case .failed(let reason): text += "failed \(name): \(reason)\n"
            }
        }
        if entries > report.entries.count { text += "… and \(entries - report.entries.count) more\n" }
        let left = report.entries.count - report.takenCount - report.failedCount
        return text + "\(report.format.rawValue): \(report.takenCount) taken (\(ByteCount.text(report.takenBytes))), \(left) left,"
            + " \(report.failedCount) failed\n"
    }

    private func json(_ report: AdoptionReport, _ entries: Int) -> String {
        JSON.object([
            ("format", .string(report.format.rawValue)), ("dryRun", .bool(options.isDryRun)), ("taken", .integer(Int64(report.takenCount))),
            ("bytes", .integer(report.takenBytes)), ("failed", .integer(Int64(report.failedCount))), ("count", .integer(Int64(entries))),
            ("entries", .array(report.entries.map(Self.json))),
        ]).text + "\n"
    }

    private static func json(_ entry: AdoptionReport.Entry) -> JSON {
        let outcome: [(String, JSON)] =
            switch entry.outcome {
            case .taken(let bytes, let length): [("outcome", .string("taken")), ("bytes", .integer(bytes)), ("length", .integer(length))]
            case .leftOut(let reason): [("outcome", .string("left")), ("reason", .string(reason))]
            case .failed(let reason): [("outcome", .string("failed")), ("reason", .string(reason))]
            }
        return .object([("name", .string(entry.name)), ("url", JSON(entry.url))] + outcome)
    }
}

/// Makes a path absolute, because a server has another working directory.
func absolutePath(_ path: String) throws(SystemError) -> String {
    if path.hasPrefix("/") { return path }
    guard let directory = getcwd(nil, 0) else { throw SystemError(code: errno, operation: "getcwd") }
    defer { free(directory) }
    return String(cString: directory) + "/" + path
}
