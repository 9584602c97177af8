import Spool
import SpoolCore

/// `spool ls`: lists the stored resources.
struct ListCommand: Command {
    static let long = Flag("long", "l", help: "Also show type, number of stored ranges, time of the last use, and a * for what is pinned.")
    static let json = Flag("json", help: "Print a JSON array with one object for each resource or presentation.")
    static let all = Flag("all", "a", help: "Also list the parts of HLS and DASH presentations, each by itself.")

    static let syntax = CommandSyntax(
        "ls", "List what the store holds",
        discussion: [
            "One line for each resource: how much of it is stored, its length, its URL.",
            "An HLS or DASH presentation is one line, with the URL of its manifest and all that is stored of it. It is 'whole' when one variant"
                + " plays to its end without the network.",
        ],
        flags: CacheSettings.store + [long, all, json],
        examples: [
            .init("spool ls", "List everything, with totals."),
            .init("spool ls -l", "Show types, ranges and the last use as well."),
        ])

    private let settings: CacheSettings
    private let isLong: Bool
    private let isJSON: Bool
    private let isAll: Bool

    init(_ arguments: Arguments) throws(UsageError) {
        settings = try CacheSettings(arguments)
        isLong = arguments.has(Self.long)
        isAll = arguments.has(Self.all)
        isJSON = arguments.has(Self.json)
    }

    func run() async throws -> ExitCode {
        if let cache = try settings.openToLook() {
            try await cache.closing { try await print(cache) }
        } else {
            try settings.tellMissing()
            if isJSON { try OutputStream.output.write("[]\n") }
        }
        return .success
    }

    /// Prints page by page, so that memory grows with the parts of presentations only.
    private func print(_ cache: MediaCache) async throws {
        let groups = PresentationGroups(isAll ? [] : try await cache.presentations.all())
        var last: ResourceKey?
        var isFirst = true
        if isJSON { try OutputStream.output.write("[") }
        while true {
            let page = try await cache.resources(after: last)
            guard let end = page.last else { break }
            let shown = page.filter { !groups.contains($0.key) }
            if !shown.isEmpty {
                try OutputStream.output.write(isJSON ? objects(shown, groups, isFirst: isFirst) : lines(shown, groups))
                isFirst = false
            }
            last = end.key
        }
        try await printPins(cache, isFirst: &isFirst)
        if isJSON { try OutputStream.output.write(isFirst ? "]\n" : "\n]\n") }
    }

    /// Prints the pins of resources without stored bytes, which no other command shows.
    private func printPins(_ cache: MediaCache, isFirst: inout Bool) async throws {
        var last: ResourceKey?
        while true {
            let page = try await cache.pinsWithoutBytes(after: last)
            guard let end = page.last else { return }
            for key in page {
                try OutputStream.output.write(isJSON ? (isFirst ? "\n" : ",\n") + pinObject(key) : pinLine(key))
                isFirst = false
            }
            last = end
        }
    }

    private func pinLine(_ key: ResourceKey) -> String {
        let facts = [Self.right("0 %", 6), Self.right("?", 9)]
        let details = isLong ? [Self.right("0", 5), Self.left("-", 16), Self.left("-", 17), "*"] : []
        let note = isLong ? "" : "  (pinned, nothing stored yet)"
        return (facts + details).joined(separator: "  ") + "  \(key.string.printable)\(note)\n"
    }

    private func pinObject(_ key: ResourceKey) -> String {
        var json = JSONWriter()
        json.object { json in
            json.field("key", key.string)
            json.field("url", key.string)
            json.null("length")
            json.field("pinned", true)
            json.field("complete", false)
            json.field("storedBytes", 0 as Int64)
            json.field("stored", array: { _ in })
        }
        return json.text
    }

    private func objects(_ page: [ResourceStatus], _ groups: PresentationGroups, isFirst: Bool) -> String {
        let text = page.map { "\n" + (groups[$0.key]?.json ?? $0.json) }.joined(separator: ",")
        return isFirst ? text : "," + text
    }

    private func lines(_ page: [ResourceStatus], _ groups: PresentationGroups) -> String {
        page.map { status in
            if let presentation = groups[status.key] { return line(presentation, status) }
            return isLong ? longLine(status) : shortLine(status)
        }.joined()
    }

    private func line(_ presentation: PresentationStatus, _ status: ResourceStatus) -> String {
        let name = "\(presentation.key.string.printable)\n"
        let facts = "\(Self.right(presentation.stateText, 6))  \(Self.right(ByteCount.text(presentation.storedBytes), 9))  "
        guard isLong else { return facts + name }
        let type = Self.left("\(presentation.resources.count) resources", 16)
        let used = status.lastAccess.map { String($0.iso8601.prefix(16)) + "Z" } ?? "-"
        return facts + "\(Self.right("-", 5))  \(type)  \(used)  \(presentation.isPinned ? "*" : " ")  " + name
    }

    private func shortLine(_ status: ResourceStatus) -> String {
        "\(Self.right(status.percentText, 6))  \(Self.right(status.lengthText, 9))  \(status.key.string.printable)\n"
    }

    private func longLine(_ status: ResourceStatus) -> String {
        let type = status.representation.contentType?.printable ?? "-"
        let used = status.lastAccess.map { String($0.iso8601.prefix(16)) + "Z" } ?? "-"
        let ranges = "\(status.stored.rangeCount)"
        let facts = [
            Self.right(status.percentText, 6), Self.right(status.lengthText, 9), Self.right(ranges, 5), Self.left(type, 16), used,
            status.isPinned ? "*" : " ",
        ]
        return facts.joined(separator: "  ") + "  \(status.key.string.printable)\n"
    }

    private static func right(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }

    private static func left(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
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

    /// The status as one JSON object. Times are in seconds since 1970. Ranges are pairs of the
    /// first offset and the one after the last.
    var json: String {
        var json = JSONWriter()
        json.object { json in
            json.field("key", key.string)
            json.field("url", url)
            if let length = representation.length { json.field("length", length) } else { json.null("length") }
            if let type = representation.contentType { json.field("type", type) } else { json.null("type") }
            if let validator = representation.validator.text { json.field("validator", validator) } else { json.null("validator") }
            json.field("validatorIsStrong", representation.validator.isStrong)
            json.field("fetchedAt", representation.responseTime.seconds)
            if let lastAccess { json.field("lastAccess", lastAccess.seconds) } else { json.null("lastAccess") }
            json.field("pinned", isPinned)
            json.field("complete", isComplete)
            json.field("storedBytes", stored.totalBytes)
            if let notStoredBecause { json.field("notStored", notStoredBecause) } else { json.null("notStored") }
            json.field(
                "stored",
                array: { json in
                    for range in stored.ranges {
                        json.array {
                            $0.value(range.lowerBound)
                            $0.value(range.upperBound)
                        }
                    }
                })
        }
        return json.text
    }
}

extension Validator {
    /// The validator in HTTP form, or nil when there is none.
    var text: String? {
        switch self {
        case .strong(let entityTag), .weak(let entityTag): entityTag
        case .lastModified(let time, _): HTTPDate.format(time)
        case .none: nil
        }
    }
}
