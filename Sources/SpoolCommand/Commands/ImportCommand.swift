import Spool
import SpoolCore
import SpoolJSON
import SpoolSystem

/// `spool import`: stores a file as a resource.
struct ImportCommand: StoreCommand {
    static let contentType = Flag("content-type", takes: "TYPE", help: "The media type; by default that of the extension.")
    static let entityTag = Flag(
        "etag", takes: "TAG",
        help: "The entity tag that the origin gives this version, with its quotes, so that it need not be fetched anew.")
    static let replace = Flag("replace", help: "Replace the stored bytes of the resource by the file.")

    static let syntax = CommandSyntax(
        "import", "Store a file as if it had been fetched from a URL",
        discussion: [
            "The file is copied into the store, with checks, and sealed where the store is encrypted; it stays as it is. Room is made for it"
                + " as for fetched bytes. An import that is interrupted leaves the store as it was.",
            "While a server has the store, the server reads the file and stores it.",
        ],
        operands: .init(usage: "FILE URL", count: 2...2, completion: .files),
        flags: CacheSettings.store + LimitFlags.all + [LimitFlags.maximumResource] + KeySettings.names
            + [contentType, entityTag, replace, .json],
        examples: [
            .init("spool import film.mp4 https://example.com/film.mp4", "Store a file that you have, so that it is never fetched.")
        ])

    let settings: CacheSettings
    let arguments: Arguments

    private var options: ImportOptions {
        var options = ImportOptions()
        options.contentType = arguments[Self.contentType]
        if let tag = arguments[Self.entityTag] {
            options.validator = tag.hasPrefix("W/") ? .weak(entityTag: tag) : .strong(entityTag: tag)
        }
        options.replacesStored = arguments.has(Self.replace)
        return options
    }

    func run() async throws -> ExitCode {
        let (file, url) = (arguments.operands[0], arguments.meant(arguments.operands[1]))
        guard let size = try POSIXFileSystem().status(file)?.size else {
            throw Failure(
                "there is no file \(file) to import", .inputOutput, name: CacheError.Code.file.rawValue, url: settings.key(url).string)
        }
        let interruption = try await Interruption.install()
        let line = ProgressBoard(names: [file], total: size)
        let (key, bytes) = try await interruption.showing(line, interrupted: "interrupted; nothing was stored") {
            do {
                return try await settings.changing { [options] cache, server in
                    let key = try cache.key(for: url)
                    guard let server else {
                        let stored = try await interruption.cancelling {
                            try await cache.importFile(file, for: url, options: options, progress: line.add)
                        }
                        return (key, stored.bytes)
                    }
                    let bytes = try server.importFile(
                        absolutePath(file), for: url, key: key, options: options, progress: line.add,
                        onBegin: { interruption.onFirst($0) })
                    return (key, bytes)
                }
            } catch let error as CacheError where error.code == .exists {
                throw Failure.naming(Self.replace, error: error)
            } catch let error as CacheError where error.code == .noRoom {
                throw Failure.naming(LimitFlags.quota, LimitFlags.maximumResource, error: error)
            }
        }
        let json = JSON.object([
            ("key", .string(key.string)), ("url", .string(key.string)), ("path", .string(file)), ("bytes", .integer(bytes)),
        ])
        let text = arguments.isJSON ? json.text : "imported \(file) as \(key) (\(ByteCount.text(bytes)))"
        try OutputStream.output.write(text + "\n")
        return .success
    }
}
