import Spool
import SpoolCore
import SpoolDashboard
import SpoolJSON

/// `spool ls`: lists the stored resources.
struct ListCommand: Command {
    static let long = Flag(
        "long", "l", help: "Also show the number of stored ranges, the type, the time of the last use, and a * for what is pinned.")
    static let json = Flag("json", help: "Print a JSON array with one object for each resource or presentation.")
    static let urls = Flag("urls", help: "Print the URLs alone, one a line, for scripts. Those with control characters are in --json only.")
    static let all = Flag("all", "a", help: "Also list the parts of HLS and DASH presentations, each by itself.")

    static let syntax = CommandSyntax(
        "ls", "List what the store holds",
        discussion: [
            "One line for each resource: how much of it is stored, its length, its URL. The last line has the totals, and the used part of the"
                + " quota. With URLs, it lists what begins with one of them; a '*' in a URL stands for any characters. Exits 1 when nothing"
                + " matches, or when there is no store.",
            "An HLS or DASH presentation is one line, with the URL of its manifest and all that is stored of it. It is 'whole' when one variant"
                + " plays to its end without the network.",
        ],
        operands: .init(usage: "[URL…]", count: 0...CommandSyntax.maxOperands, completion: .stored),
        flags: CacheSettings.store + [long, all, urls, json, KeySettings.asGiven],
        examples: [
            .init("spool ls", "List everything, with totals."),
            .init("spool ls -l", "Show types, ranges and the last use as well."),
            .init("spool ls https://example.com/films/", "List what begins with a URL."),
            .init("spool ls 'https://*.example.com/*.mp4'", "List the films of all hosts of a site."),
        ])

    private let settings: CacheSettings
    private let patterns: [ResourcePattern]
    private let form: Form
    private let isAll: Bool

    /// The text that the command prints for each resource.
    private enum Form { case short, long, urls, json }

    init(_ arguments: Arguments) throws(UsageError) {
        settings = try CacheSettings(arguments)
        patterns = arguments.operands.map(arguments.meant).map { name in
            ResourcePattern.isPattern(name) ? ResourcePattern(name) : ResourcePattern(prefix: name)
        }
        form = arguments.isJSON ? .json : arguments.has(Self.urls) ? .urls : arguments.has(Self.long) ? .long : .short
        isAll = arguments.has(Self.all)
    }

    func run() async throws -> ExitCode {
        let cache = try settings.openToRead()
        let total = try await cache.closing { try await print(cache) }
        if total.lines == 0, !patterns.isEmpty { throw Failure.noMatch(patterns.map(\.text).joined(separator: "', '")) }
        return .success
    }

    private func isListed(_ key: ResourceKey) -> Bool { patterns.isEmpty || patterns.contains { $0.matches(key) } }

    /// Prints page by page, so that memory grows with the parts of presentations only.
    private func print(_ cache: MediaCache) async throws -> ListTotal {
        let groups = PresentationGroups(isAll ? [] : try await cache.presentations.all().filter { isListed($0.key) })
        var total = ListTotal()
        if form == .json { try OutputStream.output.write("[") } else if form == .long { try OutputStream.output.write(ListTable.heading) }
        for try await page in cache.pages {
            let shown = page.filter { isListed($0.key) && !groups.contains($0.key) }
            if !shown.isEmpty {
                try OutputStream.output.write(text(of: shown, groups, isFirst: total.lines == 0))
                total.lines += shown.count
            }
            // The parts of a presentation count, each once.
            for status in page where isListed(status.key) || groups.contains(status.key) {
                total.add(status, isPart: groups.contains(status.key))
            }
        }
        try await printPins(cache, &total)
        if form == .json {
            try OutputStream.output.write(total.lines == 0 ? "]\n" : "\n]\n")
        } else if form != .urls, total.lines > 0 || patterns.isEmpty {
            try await OutputStream.output.write(total.text + (patterns.isEmpty ? room(cache) : "") + "\n")
        }
        return total
    }

    /// Returns the used part of the quota, as a text for the end of the last line.
    private func room(_ cache: MediaCache) async throws -> String {
        guard let quota = try settings.quotaBytes(), quota > 0 else { return "" }
        let used = try await cache.totalSizeBytes()
        return "; \(ByteCount.text(used)) of the quota of \(ByteCount.text(quota)) used (\(ByteCount.percent(used, of: quota)) %)"
    }

    /// Prints the pins of resources without stored bytes, which no other command shows.
    private func printPins(_ cache: MediaCache, _ total: inout ListTotal) async throws {
        for try await page in cache.pagesOfPins {
            for key in page where isListed(key) {
                let line =
                    switch form {
                    case .json: (total.lines == 0 ? "\n" : ",\n") + pinObject(key)
                    case .urls: Self.line(key)
                    case .short, .long: ListTable.line(forPinOf: key, isLong: form == .long)
                    }
                try OutputStream.output.write(line)
                total.lines += 1
            }
        }
    }

    private func pinObject(_ key: ResourceKey) -> String {
        JSON.object([
            ("key", .string(key.string)), ("url", .string(key.string)), ("length", .null), ("pinned", .bool(true)),
            ("complete", .bool(false)), ("storedBytes", .integer(0)), ("stored", .array([])),
        ]).text
    }

    private func text(of page: [ResourceStatus], _ groups: PresentationGroups, isFirst: Bool) -> String {
        switch form {
        case .json:
            let text = page.map { "\n" + (groups[$0.key]?.json ?? $0.json().text) }.joined(separator: ",")
            return isFirst ? text : "," + text
        case .urls: return page.map { Self.line($0.key) }.joined()
        case .short, .long:
            return page.map { status in
                if let presentation = groups[status.key] { return ListTable.line(presentation, status, isLong: form == .long) }
                return ListTable.line(status, isLong: form == .long)
            }.joined()
        }
    }

    /// Returns a key on a line of its own, or nothing for one that would not be one line.
    private static func line(_ key: ResourceKey) -> String {
        key.string.unicodeScalars.contains(where: \.isControl) ? "" : key.string + "\n"
    }
}

/// The totals of a listing.
private struct ListTotal {
    /// The listed lines. A presentation is one line.
    var lines = 0
    private var resources = 0
    /// The resources without a line of their own: the parts of presentations.
    private var parts = 0
    private var storedBytes: Int64 = 0

    mutating func add(_ status: ResourceStatus, isPart: Bool) {
        resources += 1
        parts += isPart ? 1 : 0
        storedBytes = storedBytes.addingSaturated(status.stored.totalBytes)
    }

    var text: String {
        let included = parts > 0 ? ", \(parts) of them parts of presentations" : ""
        return "\(resources.counted("resource"))\(included), \(ByteCount.text(storedBytes)) stored"
    }
}

extension ResourceStatus {
    /// The stored share of the resource, or `?` while its length is unknown.
    var percentText: String {
        representation.length.map { "\(ByteCount.percent(stored.totalBytes, of: $0)) %" } ?? "? %"
    }

    var lengthText: String {
        representation.length.map(ByteCount.text) ?? "?"
    }
}
