import Spool
import SpoolCore
import SpoolJSON
import SpoolManifests

/// `spool preload`: fetches the beginnings of resources into the store.
struct PreloadCommand: Command {
    static let seconds = Flag("seconds", "s", takes: "N", help: "The bytes that a player needs for the first N seconds; 10 by default.")
    static let bytes = Flag("bytes", "b", takes: "SIZE", help: "The first bytes, such as 2M.")
    static let whole = Flag("whole", help: "All bytes.")
    static let jobs = Flag("jobs", "j", takes: "N", help: "The most resources at the same time, from 1 to 64; 3 by default.")
    static let json = Flag("json", help: "Print one JSON object for each resource, on a line of its own.")

    static let syntax = CommandSyntax(
        "preload", "Fetch the beginning of resources into the store",
        discussion: [
            "A player then starts without waiting for the origin. Stored bytes are not fetched again. With '-', the URLs are read from standard"
                + " input, one a line.",
            "Of an HLS or DASH stream, the segments that begin in these seconds are fetched, with playlists,"
                + " keys, sound and subtitles.",
            "The seconds are found in MP4, MP3, AAC, FLAC, WAV, Ogg, Matroska and WebM. Of any other file 1 MiB is fetched for each second, and a"
                + " note gives the reason. Exits 1 when a resource could not be preloaded; the others are.",
        ],
        operands: .init(usage: "URL…|-", count: 1...CommandSyntax.maxOperands, completion: .stored),
        flags: [seconds, bytes, whole, SelectionFlags.start, jobs, json] + CacheSettings.store + [CacheSettings.freshness]
            + HeaderSettings.all
            + KeySettings.names + [IdentitySettings.identity, LimitFlags.maximumResource, CacheSettings.certificates, CacheSettings.http2]
            + CacheSettings.logging,
        examples: [
            .init("spool preload https://example.com/film.mp4", "Fetch what a player needs for the first 10 seconds."),
            .init("spool preload --bytes 2M - < urls.txt", "Fetch 2 MiB of each URL in a list."),
        ])

    /// The most URLs that are read from standard input.
    private static let maximumURLs = 100_000

    private let settings: CacheSettings
    private let arguments: Arguments
    private let amount: PreloadAmount
    private let variant: PresentationSelection.Quality
    private let jobs: Int
    private let isJSON: Bool

    init(_ arguments: Arguments) throws(UsageError) {
        settings = try CacheSettings(arguments, level: .warning)
        self.arguments = arguments
        amount = try Self.amount(arguments)
        variant = try SelectionFlags.startingVariant(arguments)
        jobs = try arguments.number(Self.jobs, in: 1...64) ?? 3
        isJSON = arguments.has(Self.json)
        if arguments.operands.contains("-"), arguments.operands.count > 1 {
            throw UsageError("'-' stands alone", command: Self.syntax.name)
        }
    }

    private static func amount(_ arguments: Arguments) throws(UsageError) -> PreloadAmount {
        guard [seconds, bytes, whole].filter(arguments.has).count <= 1 else {
            throw UsageError("--seconds, --bytes and --whole exclude each other", command: syntax.name)
        }
        if arguments.has(whole) { return .whole }
        if let count = try arguments.value(bytes, expected: "a size such as 2M", ByteCount.parse) { return .bytes(count) }
        let number = try arguments.value(seconds, expected: "a number of seconds") { text in
            Double(text).flatMap { $0.isFinite && $0 > 0 ? $0 : nil }
        }
        return .seconds(number ?? 10)
    }

    func run() async throws -> ExitCode {
        let interruption = try await Interruption.install()
        let operands = arguments.operands
        let urls = (operands == ["-"] ? try Self.urlsOnInput() : operands).map(arguments.meant)
        let log = settings.makeLog()
        defer { log.close() }
        let cache = try await settings.openOrWait(log: log, interruption)
        let server = try storingServer(cache)
        return try await cache.closing {
            let board = ProgressBoard(names: urls.map { GetCommand.fileName(of: $0) ?? $0 })
            let task = Task { await preload(urls, into: cache, server, board) }
            interruption.onFirst { task.cancel() }
            let code = try await report(task.value, board)
            if let signal = interruption.signal {
                throw Failure("interrupted; what was fetched is kept, and the same command goes on from there", .signal(signal))
            }
            return code
        }
    }

    private static func urlsOnInput() throws -> [String] {
        var urls: [String] = []
        while let line = readLine() {
            let url = line.filter { !$0.isWhitespace }
            if url.isEmpty || url.hasPrefix("#") { continue }
            guard urls.count < maximumURLs else { throw Failure("more than \(maximumURLs) URLs on standard input") }
            urls.append(url)
        }
        return urls
    }

    /// Returns the server that stores the bytes, or nil when this process does.
    private func storingServer(_ cache: MediaCache) throws -> RunningServer? {
        guard !cache.store.isWritable else { return nil }
        guard cache.configuration.network.tierStores(), let server = RunningServer.announced(in: try settings.directory()) else {
            throw Failure("another process has the store, so nothing can be preloaded into it", .inputOutput)
        }
        return server
    }

    // MARK: Preloading

    /// The result of one resource.
    private struct Outcome: Sendable {
        var url: String
        var result: Result<PreloadResult, CacheError>
    }

    private func preload(
        _ urls: [String], into cache: MediaCache, _ server: RunningServer?, _ board: ProgressBoard
    ) async -> [Outcome] {
        await withTaskGroup(of: (Int, Outcome).self) { group in
            var outcomes = [Outcome?](repeating: nil, count: urls.count)
            var next = urls.indices.makeIterator()
            func add() {
                guard let index = next.next(), !Task.isCancelled else { return }
                group.addTask { (index, await preload(urls[index], index, into: cache, server, board)) }
            }
            for _ in 0..<jobs { add() }
            while let (index, outcome) = await group.next() {
                outcomes[index] = outcome
                add()
            }
            return outcomes.compactMap { $0 }
        }
    }

    private func preload(
        _ url: String, _ index: Int, into cache: MediaCache, _ server: RunningServer?, _ board: ProgressBoard
    ) async -> Outcome {
        defer { board.finish(index) }
        do throws(CacheError) {
            var options = ReadOptions()
            // The server that stores the bytes lets its players go first.
            if server != nil { options.requestFields.lines.append(RequestUrgency.backgroundField) }
            let preload = try Preload.started(
                in: cache, url, amount, variant: variant, key: nil, priority: .prefetch, options: options)
            let watching = Task {
                for await progress in preload.progress { board.update(index, done: progress.doneBytes, of: progress.totalBytes) }
            }
            defer { watching.cancel() }
            let result = try await preload.result()
            // A server that does not answer any more has stored what it sent.
            if let reason = try? server?.notStoredBecause(result.key) {
                throw CacheError(.notStored, "\(url) was fetched, and is not stored: \(reason)", key: result.key)
            }
            return Outcome(url: url, result: .success(result))
        } catch {
            return Outcome(url: url, result: .failure(error))
        }
    }

    // MARK: Output

    private func report(_ outcomes: [Outcome], _ board: ProgressBoard) throws -> ExitCode {
        board.clear()
        var code = ExitCode.success
        for outcome in outcomes {
            switch outcome.result {
            case .success(let result):
                try OutputStream.output.write(isJSON ? Self.json(outcome) : Self.text(outcome.url, result))
            case .failure(let error):
                if code == .success { code = ExitCode.of(error).code }
                if isJSON { try OutputStream.output.write(Self.json(outcome)) }
                let message = "spool: \(error.naming(outcome.url).message)"
                Message(.error, message, url: outcome.url, error: error.code.rawValue).say(as: arguments.messageFormat)
            }
        }
        return code
    }

    private static func text(_ url: String, _ result: PreloadResult) -> String {
        let note = result.bytesReason.map { "  (by bytes: \($0))" } ?? ""
        let amounts = "\(ByteCount.text(result.fetchedBytes)) fetched, \(ByteCount.text(result.storedBytes)) stored before"
        return "\(url)  \(amounts)\(note)".printable + "\n"
    }

    private static func json(_ outcome: Outcome) -> String {
        let members: [(String, JSON)] =
            switch outcome.result {
            case .success(let result):
                [
                    ("key", .string(result.key.string)), ("fetched", .integer(result.fetchedBytes)),
                    ("stored", .integer(result.storedBytes)), ("bytesReason", JSON(result.bytesReason)),
                ]
            case .failure(let error): [("error", .string(error.message))]
            }
        return JSON.object([("url", .string(outcome.url))] + members).text + "\n"
    }
}
