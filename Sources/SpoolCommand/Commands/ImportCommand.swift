import Spool
import SpoolCore
import SpoolJSON
import SpoolSystem

/// `spool import`: stores a file as a resource.
struct ImportCommand: Command {
    static let contentType = Flag("content-type", takes: "TYPE", help: "The media type; by default that of the extension.")
    static let entityTag = Flag(
        "etag", takes: "TAG",
        help: "The entity tag that the origin gives this version, with its quotes, so that it need not be fetched anew.")
    static let replace = Flag("replace", help: "Replace the stored bytes of the resource by the file.")

    static let json = Flag("json", help: "Print one JSON object.")

    static let syntax = CommandSyntax(
        "import", "Store a file as if it had been fetched from a URL",
        discussion: [
            "The file is copied into the store, with checks, and sealed where the store is encrypted; it stays as it is. Room is made for it"
                + " as for fetched bytes. An import that is interrupted leaves the store as it was.",
            "While a server has the store, the server reads the file and stores it.",
        ],
        operands: .init(usage: "FILE URL", count: 2...2, completion: .files),
        flags: CacheSettings.store + LimitFlags.all + [LimitFlags.maximumResource] + KeySettings.names
            + [contentType, entityTag, replace, json],
        examples: [
            .init("spool import film.mp4 https://example.com/film.mp4", "Store a file that you have, so that it is never fetched.")
        ])

    private let settings: CacheSettings
    private let file: String
    private let url: String
    private let options: ImportOptions
    private let isJSON: Bool

    init(_ arguments: Arguments) throws(UsageError) {
        settings = try CacheSettings(arguments)
        file = arguments.operands[0]
        url = arguments.meant(arguments.operands[1])
        var options = ImportOptions()
        options.contentType = arguments[Self.contentType]
        if let tag = arguments[Self.entityTag] {
            options.validator = tag.hasPrefix("W/") ? .weak(entityTag: tag) : .strong(entityTag: tag)
        }
        options.replacesStored = arguments.has(Self.replace)
        self.options = options
        isJSON = arguments.isJSON
    }

    func run() async throws -> ExitCode {
        guard let size = try POSIXFileSystem().status(file)?.size else { throw missingFile }
        let interruption = try await Interruption.install()
        let line = SharedProgress(name: file, total: size)
        let cache = try settings.open()
        do {
            let bytes = try await cache.closing {
                cache.store.isWritable
                    ? try await store(in: cache, line, interruption) : try store(through: settings.server(), cache, line, interruption)
            }
            line.clear()
            let key = try cache.key(for: url)
            try OutputStream.output.write(isJSON ? json(key, bytes) : "imported \(file) as \(key) (\(ByteCount.text(bytes)))\n")
            return .success
        } catch {
            line.clear()
            guard let signal = interruption.signal else { throw naming(error) }
            throw Failure("interrupted; nothing was stored", .signal(signal))
        }
    }

    private var missingFile: Failure {
        Failure("there is no file \(file) to import", .inputOutput, name: CacheError.Code.file.rawValue, url: settings.key(url).string)
    }

    private func json(_ key: ResourceKey, _ bytes: Int64) -> String {
        JSON.object([
            ("key", .string(key.string)), ("url", .string(key.string)), ("path", .string(file)), ("bytes", .integer(bytes)),
        ]).text + "\n"
    }

    /// Returns the error with the flag that helps.
    private func naming(_ error: any Error) -> any Error {
        guard let error = error as? CacheError else { return error }
        switch error.code {
        case .exists: return Failure.naming(Self.replace, error: error)
        case .noRoom: return Failure.naming(LimitFlags.quota, LimitFlags.maximumResource, error: error)
        default: return error
        }
    }

    private func store(in cache: MediaCache, _ line: SharedProgress, _ interruption: Interruption) async throws -> Int64 {
        try await interruption.cancelling { [file, url, options] in
            try await cache.importFile(file, for: url, options: options, progress: line.add).bytes
        }
    }

    private func store(
        through server: RunningServer, _ cache: MediaCache, _ line: SharedProgress, _ interruption: Interruption
    ) throws -> Int64 {
        try server.importFile(
            absolutePath(file), for: url, key: cache.key(for: url), options: options, progress: line.add,
            onBegin: { interruption.onFirst($0) })
    }
}
