import Spool
import SpoolCore
import SpoolManifests
import SpoolSystem

/// `spool get`: copies one resource, or a range of it, through the cache to a file or to standard
/// output.
struct GetCommand: Command {
    static let outputFlag = Flag(
        "output", "o", takes: "FILE",
        help: "Where to write, a file or a directory; '-' is standard output. By default standard output, and on a terminal a file named by"
            + " the URL.")
    static let range = Flag(
        "range", "r", takes: "A-B", help: "Only the bytes from A to B, both included; 'A-' is from A to the end, '-N' the last N bytes.")

    static let replace = Flag("replace", help: "Replace an existing file.")
    static let json = Flag("json", help: "Write progress and messages as JSON to standard error, one object a line, at most one a second.")

    static let syntax = CommandSyntax(
        "get", "Fetch resources through the cache",
        discussion: [
            "'get' fetches only the missing bytes and stores them. Repeat an interrupted 'get' to continue."
                + " A file is written as FILE.part and renamed when it is complete. An existing file stays, unless --replace is given.",
            "A terminal shows the progress. Elsewhere, one line on standard error reports the result of each URL; --log-level error"
                + " leaves it out.",
            "Several URLs are fetched one after the other. An error ends one of them, and the exit code is that of the first error.",
            "A URL that ends in .m3u8 or .mpd, or any URL with --variant, --audio or --subtitles, is an HLS or DASH stream: without --output and"
                + " --range, all parts of one variant are stored, and nothing is written. 'spool serve' then plays them without the network.",
        ],
        operands: .init(usage: "URL…", count: 1...CommandSyntax.maxOperands, completion: .stored),
        flags: [outputFlag, replace, range, json] + SelectionFlags.all + CacheSettings.store
            + [CacheSettings.readAhead, CacheSettings.freshness] + HeaderSettings.all
            + KeySettings.names + [IdentitySettings.identity, LimitFlags.maximumResource, CacheSettings.certificates, CacheSettings.http2]
            + CacheSettings.logging,
        examples: [
            .init(
                "spool get -o film.mp4 https://example.com/film.mp4", "Copy a film through the cache. Repeated after Ctrl-C, it goes on."),
            .init("spool get --range 0-1M https://example.com/film.mp4", "Fetch the first bytes only."),
            .init("spool get --variant 720 https://example.com/film/master.m3u8", "Store an HLS stream for a journey."),
        ])

    private let settings: CacheSettings
    private let arguments: Arguments
    private let items: [Item]
    private let range: RequestedRange?

    /// One URL, and what becomes of it.
    private struct Item: Sendable {
        let url: String
        /// The file to write, or `-` for standard output.
        let output: String
        /// The renditions to store, or nil when the resource itself is copied.
        let selection: PresentationSelection?
    }

    init(_ arguments: Arguments) throws(UsageError) {
        self.arguments = arguments
        settings = try CacheSettings(arguments, level: .warning)
        range = try arguments.value(Self.range, expected: "A-B, A- or -N") { RequestedRange($0) }
        var items: [Item] = []
        for operand in arguments.operands { items.append(try Self.item(arguments, arguments.meant(operand))) }
        self.items = items
        let files = items.map(\.output).filter { $0 != "-" }
        guard Set(files).count == files.count else {
            throw UsageError("two URLs name one file; give --output - or one URL at a time", command: Self.syntax.name)
        }
    }

    private static func item(_ arguments: Arguments, _ url: String) throws(UsageError) -> Item {
        let selection = try selection(arguments, of: url)
        if let output = arguments[outputFlag] {
            return Item(url: url, output: try file(output, for: url, command: syntax.name), selection: selection)
        } else if selection != nil || !OutputStream.output.isTerminal {
            return Item(url: url, output: "-", selection: selection)
        } else if let name = fileName(of: url) {
            return Item(url: url, output: name, selection: selection)
        }
        throw UsageError("the URL names no file; give --output FILE", command: syntax.name)
    }

    /// Returns the renditions of a stream that the arguments ask for, or nil when they ask for the
    /// resource itself.
    private static func selection(_ arguments: Arguments, of url: String) throws(UsageError) -> PresentationSelection? {
        let isSelecting = SelectionFlags.isGiven(arguments)
        if arguments.has(outputFlag) || arguments.has(range) {
            guard !isSelecting else {
                throw UsageError("--output and --range copy one resource, and a stream has many", command: syntax.name)
            }
            return nil
        }
        let isNamed = ManifestSuspicion(contentType: nil, url: url) == .named
        return isSelecting || isNamed ? try SelectionFlags.selection(arguments) : nil
    }

    /// Returns the file to write. In a directory, the URL names the file.
    static func file(_ output: String, for url: String, command: String) throws(UsageError) -> String {
        guard let status = try? POSIXFileSystem().status(output), status.isDirectory else { return output }
        guard let name = fileName(of: url) else {
            throw UsageError("the URL names no file; give the name of one, not of a directory", command: command)
        }
        return output + (output.hasSuffix("/") ? "" : "/") + name
    }

    /// Returns the last part of the URL's path without decoding, or nil when it is empty.
    static func fileName(of url: String) -> String? {
        // A combining mark behind a slash makes another `Character` of it, and the same bytes.
        let path = url.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        guard let scheme = path.firstRange(of: "://".utf8) else { return nil }
        let parts = path[scheme.upperBound...].split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard parts.count > 1, let last = parts.last, let name = String(last), !name.isEmpty, name != ".", name != ".." else { return nil }
        return name
    }

    func run() async throws -> ExitCode {
        for item in items { try checkOutput(item) }
        let interruption = try await Interruption.install()
        let log = settings.makeLog()
        defer { log.close() }
        let cache = try await settings.openOrWait(log: log, interruption)
        return try await cache.closing {
            var code = ExitCode.success
            for item in items {
                do { try await get(item, from: cache, interruption) } catch {
                    if let signal = interruption.signal {
                        throw Failure("interrupted; what was fetched is kept, and the same command goes on from there", .signal(signal))
                    }
                    let error = (error as? CacheError)?.naming(item.url) ?? error
                    guard items.count > 1 else { throw error }
                    if code == .success { code = ExitCode.of(error).code }
                    Message(ending: error)?.say(as: arguments.messageFormat)
                }
            }
            return code
        }
    }

    /// Throws when the file of an item exists, and may not be replaced.
    private func checkOutput(_ item: Item) throws {
        guard item.output != "-", !arguments.has(Self.replace), !OutputFile.isStream(item.output),
            try POSIXFileSystem().status(item.output) != nil
        else { return }
        throw Failure(
            "\(item.output) exists; \(Self.replace.spelling) replaces it", name: CacheError.Code.exists.rawValue, url: item.url)
    }

    private func get(_ item: Item, from cache: MediaCache, _ interruption: Interruption) async throws {
        guard let selection = item.selection else { return try await copy(item, from: cache, interruption) }
        try await download(item.url, selection, into: cache, interruption)
    }

    /// Stores the parts of a stream. An interruption cancels the task, and with it all readers.
    private func download(
        _ url: String, _ selection: PresentationSelection, into cache: MediaCache, _ interruption: Interruption
    ) async throws {
        let name = Self.fileName(of: url) ?? url
        let store: @Sendable () async throws -> Void = {
            var line = progressLine(name, of: url)
            do {
                let preload = try Preload.presentation(in: cache, url, selection)
                for await progress in preload.progress {
                    line.total = progress.totalBytes
                    let stored = progress.storedBytes.subtractingSaturated(line.fromStore)
                    line.add(progress.doneBytes.subtractingSaturated(line.received), fromStore: stored)
                }
                try await preload.result()
            } catch {
                line.clear()
                throw error
            }
            finish(line, url)
        }
        do { try await interruption.cancelling(store) } catch let error as CacheError
            where error.code == .unsupportedURL && error.key == nil
        {
            throw Failure("\(error.message); --output FILE copies the resource itself")
        }
    }

    private func progressLine(_ name: String, of url: String) -> ProgressLine {
        var line = ProgressLine(name: name, stream: .error, time: SystemTime())
        if arguments.isJSON { line.jsonURL = url }
        return line
    }

    /// Ends the progress. Without a terminal, one line reports the result, as other programs that
    /// transfer files do.
    private func finish(_ progress: ProgressLine, _ url: String) {
        guard let result = progress.finish(), settings.logLevel < .error else { return }
        Message(.notice, "spool: \(result)", url: url).say(as: arguments.messageFormat)
    }

    private func copy(_ item: Item, from cache: MediaCache, _ interruption: Interruption) async throws {
        let (url, output) = (item.url, item.output)
        let key = try cache.key(for: url)
        let stored = try await cache.status(of: key)
        let reader = try cache.reader(for: url, key: key)
        interruption.onFirst { reader.cancel() }
        let name = output == "-" ? Self.fileName(of: url) ?? url : output
        var copy = Copy(reader: reader, before: stored, progress: progressLine(name, of: url))
        do {
            try await copy.run(range, into: output)
        } catch {
            copy.progress.clear()
            throw error
        }
        finish(copy.progress, url)
        // The file is complete, so a reason is no error. A login page in place of a film has one.
        guard let reason = try await settings.notStoredBecause(key, in: cache) else { return }
        Message(.notice, "spool: \(url) is not stored: \(reason)", url: url).say(as: arguments.messageFormat)
    }
}

/// The requested range of a resource, in the form of RFC 9110 §14.1.2 without the unit.
enum RequestedRange {
    /// From an offset to another one, which is included, or to the end.
    case from(Int64, through: Int64?)
    /// A number of bytes at the end.
    case last(Int64)

    init?(_ text: String) {
        guard let dash = text.firstIndex(of: "-") else { return nil }
        let (first, last) = (text[..<dash], text[text.index(after: dash)...])
        let numbers = (first.isEmpty ? nil : ByteCount.parse(String(first)), last.isEmpty ? nil : ByteCount.parse(String(last)))
        switch numbers {
        case (let lower?, nil) where last.isEmpty: self = .from(lower, through: nil)
        case (let lower?, let upper?) where lower <= upper && upper < .max: self = .from(lower, through: upper)
        case (nil, let count?) where first.isEmpty && count > 0: self = .last(count)
        default: return nil
        }
    }
}

/// One copy from a reader to a file.
private struct Copy {
    let reader: ByteReader
    /// The stored ranges when the copy began, to report how much of it came from the store.
    let before: ResourceStatus?
    var progress: ProgressLine
    var position: Int64 = 0
    var stored = ByteRangeSet()

    /// Copies the range to the file with that name. A short end is an error, because the file has
    /// to be complete.
    mutating func run(_ range: RequestedRange?, into name: String) async throws {
        let (lower, upper) = try await bounds(range)
        var chunks = reader.chunks(in: lower..<(upper ?? .max)).makeAsyncIterator()
        // The first request asks for bytes at once, so that a cold start takes one request. Its
        // response also describes the resource.
        var next = try await chunks.next()
        let representation = try await reader.contentInformation()
        try begin(at: lower, upTo: upper, of: representation, isEmpty: range != nil && next == nil)
        // The file is created after the origin's answer, so that a URL that fails leaves no file
        // behind.
        let file = try OutputFile(name)
        while let chunk = next {
            try file.write(chunk)
            count(Int64(chunk.count))
            next = try await chunks.next()
        }
        try end(file)
    }

    private func bounds(_ range: RequestedRange?) async throws -> (Int64, Int64?) {
        switch range {
        case nil: return (0, nil)
        case .from(let lower, let through): return (lower, through.map { $0.addingSaturated(1) })
        case .last(let count):
            guard let length = try await reader.contentInformation().length else {
                throw Failure("the origin states no length, so the last \(count) bytes can't be asked for")
            }
            return (max(0, length - count), nil)
        }
    }

    private mutating func begin(at lower: Int64, upTo upper: Int64?, of representation: Representation, isEmpty: Bool) throws(Failure) {
        if isEmpty { throw Failure("there is nothing in that range: the resource has \(representation.length ?? 0) bytes") }
        let end = [upper, representation.length].compactMap { $0 }.min()
        progress.total = end.map { max(0, $0.subtractingSaturated(lower)) }
        position = lower
        // Bytes of another version do not count.
        if let before, before.representation.validator == representation.validator { stored = before.stored }
    }

    private mutating func count(_ bytes: Int64) {
        let range = ByteRange(offset: position, count: bytes)
        progress.add(bytes, fromStore: range.map { stored.intersection($0).totalBytes } ?? 0)
        position = position.addingSaturated(bytes)
    }

    private func end(_ file: OutputFile) throws {
        if let total = progress.total, progress.received < total {
            throw Failure("only \(progress.received) of \(total) bytes came; the same command goes on from there")
        }
        try file.finish()
    }
}
