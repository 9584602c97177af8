import Spool
import SpoolCore
import SpoolDashboard
import SpoolJSON
import SpoolSystem

/// `spool stat`: shows the metadata and stored ranges of one resource, or what the cache saved.
struct StatCommand: StoreCommand {

    static let syntax = CommandSyntax(
        "stat", "Show what is stored of one resource or presentation, or what the cache saved",
        discussion: [
            "With the URL of a manifest: each track of the presentation, and whether it plays without the network.",
            "Shows length, type, validator, age, and the stored ranges as numbers and as a bar. Also shows what a running 'spool serve' did not store, and why."
                + " Exits 1 when nothing is stored.",
            "Without a URL: what was played, fetched and saved on each day. Those of a running 'spool serve' are as old as its last stored bytes.",
        ],
        operands: .init(usage: "[URL|KEY]", count: 0...1, completion: .stored),
        flags: CacheSettings.store + KeySettings.names + [.json],
        examples: [
            .init("spool stat https://example.com/film.mp4", "Show the stored ranges of a film, or why it is not stored."),
            .init("spool stat", "Show what the cache saved on each day."),
        ])

    let settings: CacheSettings
    let arguments: Arguments

    func run() async throws -> ExitCode {
        let (cache, isJSON) = (try settings.openToRead(), arguments.isJSON)
        // Without a name, what the cache saved.
        guard let name = arguments.operands.first.map(arguments.meant) else {
            let saved = SavedTraffic(days: try await cache.closing { try await HistoryKeeper.days(of: cache) })
            try OutputStream.output.write(isJSON ? saved.json : saved.text + bucketLine())
            return .success
        }
        let key = settings.key(name)
        let (found, isPinned, presentation, reason) = try await cache.closing {
            (
                try await cache.status(of: key), try await cache.hasPinWithoutBytes(key),
                try await cache.presentations.status(of: key), try await settings.notStoredBecause(key, in: cache)
            )
        }
        guard var status = found else {
            let pin = isPinned ? "; it is pinned, which protects bytes that are stored later" : ""
            throw Failure(
                "nothing is stored of \(name)" + (reason.map { ": \($0)" } ?? "") + pin, name: CacheError.Code.notStored.rawValue,
                url: key.string)
        }
        status.notStoredBecause = reason
        let text = isJSON ? (presentation?.json ?? status.json().text) + "\n" : description(status) + (presentation?.description ?? "")
        try OutputStream.output.write(text)
        return .success
    }

    /// Returns a line about the bucket of the running server, or nothing without one.
    private func bucketLine() throws -> String {
        // A server that was killed does not answer.
        guard let answer = try? RunningServer.announced(in: try settings.directory())?.status(),
            let bucket = JSON(text: answer)?["bucket"], bucket["requests"] != nil
        else { return "" }
        let count = { (name: String) in bucket[name]?.integer ?? 0 }
        return
            "bucket, since the server began: \(ByteCount.text(count("servedBytes"))) served by \(count("hits")) of \(count("requests")) requests,"
            + " \(count("failures")) failed, \(count("damages")) damaged; \(count("uploads")) uploads of \(ByteCount.text(count("uploadedBytes"))),"
            + " \(count("uploadFailures")) failed\n"
    }

    /// The largest number of ranges that are listed. The bar shows all of them, and `--json` lists
    /// them.
    private static let maxRanges = 100
    /// The width of the names of facts.
    private static let nameWidth = 11

    private func description(_ status: ResourceStatus) -> String {
        var text = facts(status).map { name, value in
            name.padded(to: Self.nameWidth) + value.printable + "\n"
        }.joined()
        for range in status.stored.ranges.prefix(Self.maxRanges) {
            text += "".padded(to: Self.nameWidth) + "\(range.lowerBound)-\(range.upperBound - 1)\n"
        }
        let more = status.stored.rangeCount - Self.maxRanges
        if more > 0 { text += "".padded(to: Self.nameWidth) + "and \(more) more\n" }
        if let length = status.representation.length {
            text += SpanBar(stored: status.stored, length: length).text(width: OutputStream.output.columns) + "\n"
        }
        return text
    }

    private func facts(_ status: ResourceStatus) -> [(String, String)] {
        let representation = status.representation
        let length = representation.length
        let strength = representation.validator.isStrong ? "strong" : "weak"
        let now = SystemTime().wallNow
        var facts = [
            ("key", "\(status.key)"),
            ("length", length.map { "\(ByteCount.text($0)) (\(ByteCount.exact($0)) bytes)" } ?? "not known yet"),
            ("type", representation.contentType ?? "not stated by the origin"),
            ("validator", representation.validator.text.map { "\($0) (\(strength))" } ?? "none"),
            ("age", "\(Self.span(representation.currentAge(now: now))), of \(representation.responseTime.iso8601)"),
        ]
        if let lastAccess = status.lastAccess { facts.append(("last used", lastAccess.iso8601)) }
        if status.isPinned { facts.append(("pinned", "yes")) }
        let share = length.map { " of \(ByteCount.text($0)) (\(ByteCount.percent(status.stored.totalBytes, of: $0)) %)" } ?? ""
        facts.append(("stored", "\(ByteCount.text(status.stored.totalBytes))\(share) in \(status.stored.rangeCount.counted("range"))"))
        if let reason = status.notStoredBecause { facts.append(("not stored", reason)) }
        return facts
    }

    /// Formats seconds in the two largest units that fit.
    private static func span(_ seconds: Int64) -> String {
        switch seconds {
        case ..<60: "\(seconds) s"
        case ..<3600: "\(seconds / 60) min \(seconds % 60) s"
        case ..<86_400: "\(seconds / 3600) h \(seconds % 3600 / 60) min"
        default: "\(seconds / 86_400) d \(seconds % 86_400 / 3600) h"
        }
    }
}

extension CacheSettings {
    /// Returns the key for a URL, or for a key itself.
    func key(_ name: String) -> ResourceKey {
        do throws(ParseError) { return try configuration.freshness.keyPolicy.key(for: name) } catch { return ResourceKey(normalized: name) }
    }
}

extension MediaCache {
    /// Returns whether a key is pinned without stored bytes.
    func hasPinWithoutBytes(_ key: ResourceKey) async throws -> Bool {
        for try await page in pagesOfPins where page.contains(key) { return true }
        return false
    }
}
