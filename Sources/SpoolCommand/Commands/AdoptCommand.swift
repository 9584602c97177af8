import SpoolAdoption
import SpoolCore
import SpoolJSON
import SpoolLibc
import SpoolSystem

/// `spool adopt`: takes over the store of another cache.
struct AdoptCommand: StoreCommand {
    static let map = Flag("map", takes: "FILE", help: "The mapping file; by default spool-adopt.tsv in DIR.")
    static let trust = Flag(
        "trust",
        help: "Take partly stored resources as parts of the version that the origin has now, if its length is the same and it has a strong"
            + " validator. If the resource has changed meanwhile, such bytes are wrong.")
    static let replace = Flag("replace", help: "Replace stored resources by those of DIR.")
    static let dryRun = Flag("dry-run", "n", help: "Only show what would be taken. The origin is not asked.")

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
        flags: [map, trust, replace, dryRun, .json] + CacheSettings.store + LimitFlags.all + [LimitFlags.maximumResource]
            + HeaderSettings.all + KeySettings.names + [CacheSettings.certificates] + CacheSettings.logging,
        examples: [
            .init("spool adopt --dry-run Documents/KTVHTTPCache", "Show what a store has."),
            .init("spool adopt --map urls.txt tmp/GSPlayer", "Take the files of GSPlayer, whose URLs are in a list."),
        ])

    static let level = LogLevel.warning
    let settings: CacheSettings
    let arguments: Arguments

    func run() async throws -> ExitCode {
        let directory = arguments.operands[0]
        var options = AdoptionOptions()
        options.mappingFile = arguments[Self.map]
        options.trustsParts = arguments.has(Self.trust)
        options.replacesStored = arguments.has(Self.replace)
        options.isDryRun = arguments.has(Self.dryRun)
        let interruption = try await Interruption.install()
        let line = ProgressBoard(names: [directory], total: nil)
        let report = try await interruption.showing(line, interrupted: "interrupted; what was taken before stays") {
            try await settings.changing { [options] cache, server in
                guard let server else {
                    return try await interruption.cancelling { [options] in
                        try await cache.adopt(directory, options: options) { line.update(done: $0.doneBytes, of: $0.totalBytes) }
                    }
                }
                var options = options
                options.mappingFile = try options.mappingFile.map(absolutePath)
                return try server.adopt(
                    absolutePath(directory), options: options, progress: line.add, onBegin: { interruption.onFirst($0) })
            }
        }
        let json = JSON.object(report.members() + [("dryRun", .bool(options.isDryRun))])
        try OutputStream.output.write(arguments.isJSON ? json.text + "\n" : text(report, isDry: options.isDryRun))
        return report.failedCount == 0 ? .success : .failure
    }

    private func text(_ report: AdoptionReport, isDry: Bool) -> String {
        var lines = report.entries.map { entry in
            let name = entry.url ?? entry.name
            switch entry.outcome {
            case .taken(let bytes, let length):
                let part = bytes == length ? "" : " of \(ByteCount.text(length))"
                return "\(isDry ? "would take" : "took") \(name) (\(ByteCount.text(bytes))\(part))"
            case .leftOut(let reason): return "left \(name): \(reason)"
            case .failed(let reason): return "failed \(name): \(reason)"
            }
        }
        if report.omittedCount > 0 { lines.append("… and \(report.omittedCount) more") }
        let left = report.entries.count - report.takenCount - report.failedCount
        lines.append(
            "\(report.format.rawValue): \(report.takenCount) taken (\(ByteCount.text(report.takenBytes))), \(left) left,"
                + " \(report.failedCount) failed")
        return lines.map { $0.printable + "\n" }.joined()
    }
}

/// Makes a path absolute, because a server has another working directory.
func absolutePath(_ path: String) throws(SystemError) -> String {
    if path.hasPrefix("/") { return path }
    guard let directory = getcwd(nil, 0) else { throw SystemError(code: errno, operation: "getcwd") }
    defer { free(directory) }
    return String(cString: directory) + "/" + path
}
