import Spool
import SpoolCore
import SpoolSystem

/// `spool export`: writes a stored resource to a file.
struct ExportCommand: Command {
    static let replace = Flag("replace", help: "Put the file in the place of one that has its name.")
    static let link = Flag(
        "link",
        help:
            "Where the file can't be a clone, let it be the store's own under a second name (a hard link) and no copy; don't change it then."
    )

    static let json = Flag("json", help: "Print one JSON object.")

    static let syntax = CommandSyntax(
        "export", "Make a file of a resource that is stored as a whole",
        discussion: [
            "Every stored byte is checked on the way, and opened where the store is encrypted. The file is a clone of the store's where the"
                + " file system knows clones, else a copy. It gets its name when it is complete. Nothing is fetched: 'spool get' does that.",
            "FILE may be a directory: then the file has the name that the URL has.",
            "With the URL of a manifest, FILE is a folder: the presentation plays from there through any web server. It has the complete"
                + " variants, their keys included.",
        ],
        operands: .init(usage: "URL|KEY FILE", count: 2...2, completion: .files),
        flags: CacheSettings.store + KeySettings.names + [replace, link, json],
        examples: [
            .init("spool export https://example.com/film.mp4 film.mp4", "Make a file of a film that is stored as a whole.")
        ])

    private let settings: CacheSettings
    private let name: String
    private let file: String
    private let options: ExportOptions
    private let isJSON: Bool

    init(_ arguments: Arguments) throws(UsageError) {
        settings = try CacheSettings(arguments)
        name = arguments.meant(arguments.operands[0])
        file = arguments.operands[1]
        var options = ExportOptions()
        options.replacesExisting = arguments.has(Self.replace)
        options.mayLink = arguments.has(Self.link)
        self.options = options
        isJSON = arguments.isJSON
    }

    func run() async throws -> ExitCode {
        // A read-only opening is enough, so the command also works beside a server. It does not
        // create a store.
        let cache = try settings.openToRead()
        let interruption = try await Interruption.install()
        return try await cache.closing {
            if let presentation = try await cache.presentations.status(of: settings.key(name)) {
                return try await export(presentation, from: cache, interruption)
            }
            return try await export(from: cache, to: try path(), interruption)
        }
    }

    /// Exports a presentation as a folder. An interruption leaves the files that were finished.
    private func export(
        _ presentation: PresentationStatus, from cache: MediaCache, _ interruption: Interruption
    ) async throws -> ExitCode {
        let file = file, options = options
        let line = SharedProgress(name: file, total: presentation.storedBytes)
        let task = Task { try await cache.presentations.export(presentation.key, to: file, options: options, progress: line.add) }
        interruption.onFirst { task.cancel() }
        do {
            let exported = try await task.value
            line.clear()
            let text = "exported \(exported.key) to \(exported.path) (\(ByteCount.text(exported.bytes)) in \(exported.fileCount) files)\n"
            let files = Int64(exported.fileCount)
            try OutputStream.output.write(isJSON ? json(exported.key, exported.path, exported.bytes) { $0.field("files", files) } : text)
            return .success
        } catch {
            line.clear()
            if let signal = interruption.signal { throw Failure("interrupted; the folder has no manifest yet", .signal(signal)) }
            if let error = error as? CacheError, error.code == .exists { throw Failure.naming(Self.replace, error: error) }
            throw error
        }
    }

    private func path() throws -> String {
        guard try POSIXFileSystem().status(file)?.isDirectory == true else { return file }
        guard let last = GetCommand.fileName(of: name) else {
            throw UsageError("the URL names no file; give the name of one, not of a directory", command: Self.syntax.name)
        }
        return file + (file.hasSuffix("/") ? "" : "/") + last
    }

    private func export(from cache: MediaCache, to path: String, _ interruption: Interruption) async throws -> ExitCode {
        let key = settings.key(name)
        let line = SharedProgress(name: path, total: try await cache.status(of: key)?.representation.length)
        let cancellation = TransferCancellation()
        interruption.onFirst { cancellation.cancel() }
        let result = await withCheckedContinuation { continuation in
            cache.export(key, to: path, options: options, cancellation: cancellation, progress: line.add) {
                continuation.resume(returning: $0)
            }
        }
        line.clear()
        if case .failure = result, let signal = interruption.signal { throw Failure("interrupted; no file was made", .signal(signal)) }
        if case .failure(let error) = result, error.code == .exists { throw Failure.naming(Self.replace, error: error) }
        let exported = try result.get()
        let text = "exported \(key) to \(path) (\(ByteCount.text(exported.bytes)), \(exported.method.words))\n"
        let method = exported.method.rawValue
        try OutputStream.output.write(isJSON ? json(key, path, exported.bytes) { $0.field("method", method) } : text)
        return .success
    }

    private func json(_ key: ResourceKey, _ path: String, _ bytes: Int64, _ others: (inout JSONWriter) -> Void) -> String {
        var json = JSONWriter()
        json.object { json in
            json.field("key", key.string)
            json.field("url", key.string)
            json.field("path", path)
            json.field("bytes", bytes)
            others(&json)
        }
        return json.text + "\n"
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
