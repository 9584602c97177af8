import Spool
import SpoolCore
import SpoolJSON

/// `spool export`: writes a stored resource to a file.
struct ExportCommand: StoreCommand {
    static let replace = Flag("replace", help: "Put the file in the place of one that has its name.")
    static let link = Flag(
        "link",
        help:
            "Where the file can't be a clone, make it a hard link to the file of the store in place of a copy. Do not change such a file."
    )

    static let syntax = CommandSyntax(
        "export", "Make a file of a resource that is stored as a whole",
        discussion: [
            "Every stored byte is checked on the way, and decrypted if the store is encrypted. The file is a clone where the file"
                + " system has clones, else a copy. It gets its name when it is complete. Nothing is fetched: 'spool get' does that.",
            "FILE may be a directory: then the file has the name that the URL has.",
            "A presentation of HLS or DASH is many resources and no file. It plays without the network through 'spool serve'.",
        ],
        operands: .init(usage: "URL|KEY FILE", count: 2...2, completion: .stored),
        flags: CacheSettings.store + KeySettings.names + [replace, link, .json],
        examples: [
            .init("spool export https://example.com/film.mp4 film.mp4", "Make a file of a film that is stored as a whole.")
        ])

    let settings: CacheSettings
    let arguments: Arguments

    func run() async throws -> ExitCode {
        // A read-only opening is enough, so the command also works beside a server. It does not
        // create a store.
        let cache = try settings.openToRead()
        let interruption = try await Interruption.install()
        let name = arguments.meant(arguments.operands[0]), key = settings.key(name)
        return try await cache.closing {
            guard try await cache.presentations.status(of: key) == nil else { throw Self.presentation(key) }
            let path = try GetCommand.file(arguments.operands[1], for: name, command: Self.syntax.name)
            return try await export(key, from: cache, to: path, interruption)
        }
    }

    /// The error for the URL of a manifest.
    private static func presentation(_ key: ResourceKey) -> Failure {
        Failure(
            "\(key) is the manifest of a presentation, and 'spool export' makes a file of one resource; play it without the network through"
                + " 'spool serve', or make one file of it from there: ffmpeg -i PROXIED-URL -c copy FILE",
            .usage, name: CacheError.Code.unsupportedURL.rawValue, url: key.string)
    }

    private func export(
        _ key: ResourceKey, from cache: MediaCache, to path: String, _ interruption: Interruption
    ) async throws -> ExitCode {
        var options = ExportOptions()
        options.replacesExisting = arguments.has(Self.replace)
        options.mayLink = arguments.has(Self.link)
        let line = ProgressBoard(names: [path], total: try await cache.status(of: key)?.representation.length)
        let exported = try await interruption.showing(line, interrupted: "interrupted; no file was made") {
            do {
                return try await interruption.cancelling { [options] in
                    try await cache.export(key, to: path, options: options, progress: line.add)
                }
            } catch let error as CacheError where error.code == .exists { throw Failure.naming(Self.replace, error: error) }
        }
        let text = "exported \(key) to \(path) (\(ByteCount.text(exported.bytes)), \(exported.method.words))\n"
        try OutputStream.output.write(arguments.isJSON ? json(key, path, exported) : text)
        return .success
    }

    private func json(_ key: ResourceKey, _ path: String, _ exported: ExportedFile) -> String {
        JSON.object([
            ("key", .string(key.string)), ("url", .string(key.string)), ("path", .string(path)), ("bytes", .integer(exported.bytes)),
            ("method", .string(exported.method.rawValue)),
        ]).text + "\n"
    }
}

extension ExportedFile.Method {
    fileprivate var words: String {
        switch self {
        case .clone: "cloned"
        case .link: "linked"
        case .copy: "copied"
        }
    }
}
