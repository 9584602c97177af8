import Spool
import SpoolCore
import SpoolJSON
import SpoolStore
import SpoolSystem

/// `spool rm`: removes resources from the store.
struct RemoveCommand: Command {
    static let all = Flag("all", help: "Remove everything except downloads and pinned resources.")
    static let everything = Flag("everything", help: "Remove everything, with downloads, pins and the history.")
    static let dryRun = Flag("dry-run", "n", help: "Remove nothing, and list what would be removed.")
    static let json = Flag("json", help: "Print one JSON object.")

    static let syntax = CommandSyntax(
        "rm", "Remove resources from the store",
        discussion: [
            "Removes at once and never asks, and prints the removed resources. A '*' in a URL stands for any characters: the pattern removes the resources that 'spool ls' lists for it."
                + " With the URL of a manifest, the whole presentation is removed, except for parts that another"
                + " stored presentation shares. Exits 1 when one of them was not there, and removes nothing when nothing matches a pattern.",
            "With --all, downloads and pinned resources stay, and the last line has their size. --everything removes them as well, and"
                + " leaves nothing of the users in the store: no list of downloads, no pins, no history.",
        ],
        operands: .init(usage: "URL… | --all | --everything", count: 0...CommandSyntax.maxOperands),
        flags: CacheSettings.store + KeySettings.names + [all, everything, dryRun, json],
        examples: [
            .init("spool rm https://example.com/film.mp4", "Remove one film."),
            .init("spool rm --dry-run 'https://example.com/*'", "List what a pattern would remove."),
            .init("spool rm --all", "Empty the store, except for downloads and pins."),
            .init("spool rm --everything", "Empty the store."),
        ])

    private let settings: CacheSettings
    private let named: NamedResources
    /// Whether downloads, pins and the history go as well.
    private let isErasing: Bool
    private let isDry: Bool
    private let isJSON: Bool
    /// The bytes of each resource that was deleted before the index could be opened, because the
    /// disk had no room for the index.
    private let expended = Locked<[ResourceKey?: Int64]>([:])

    init(_ arguments: Arguments) throws(UsageError) {
        var settings = try CacheSettings(arguments)
        let names = arguments.operands.map(arguments.meant)
        // The index alone has the resources that a pattern stands for.
        let keys = names.filter { !ResourcePattern.isPattern($0) }.map { settings.key($0) }
        isErasing = arguments.has(Self.everything)
        // Without the index, the program can't tell the files of downloads from others.
        if isErasing { settings.configuration.storage.expendable = .everything }
        if !names.isEmpty { settings.configuration.storage.expendable = .resources(keys) }
        let expended = expended
        settings.configuration.storage.onExpended = { key, bytes in expended.withLock { $0[key] = ($0[key] ?? 0).addingSaturated(bytes) } }
        self.settings = settings
        named = NamedResources(names: names, settings: settings)
        isDry = arguments.has(Self.dryRun)
        isJSON = arguments.isJSON
        let ways = [arguments.has(Self.all), arguments.has(Self.everything), !names.isEmpty].filter { $0 }.count
        if ways != 1 {
            let what = "URL…, flag --all or flag --everything"
            throw UsageError(ways == 0 ? "\(what) is missing" : "\(what) exclude each other", command: Self.syntax.name)
        }
    }

    func run() async throws -> ExitCode {
        if isDry {
            let cache = try settings.openToRead()
            return try await cache.closing { try await foretell(cache) }
        }
        // The command does not create a store.
        do {
            await (try settings.openToRead()).close()
        } catch let error as CacheError {
            // On a full disk even a read-only opening may find no room. The removal itself makes
            // room.
            guard case StoreError.full? = error.cause else { throw error }
        }
        let cache = try settings.open()
        return try await cache.closing {
            let server = cache.store.isWritable ? nil : try settings.server()
            return named.names.isEmpty ? try await removeAll(cache, server) : try await removeNamed(cache, server)
        }
    }

    // MARK: Removing

    private func removeAll(_ cache: MediaCache, _ server: RunningServer?) async throws -> ExitCode {
        let report = RemovalReport(isJSON: isJSON, isTotal: true)
        if let server {
            try report.end(isErasing ? server.eraseEverything() : server.clear())
            return .success
        }
        let count = try await cache.count()
        let bytes = max(try await cache.totalSizeBytes(), expended.withLock { $0.values.saturatedSum })
        if isErasing {
            try await cache.eraseEverything()
            try report.end(RunningServer.Outcome(removed: Int64(count), bytes: bytes))
        } else {
            let freed = try await cache.clear()
            let kept = try await (count: cache.count(), bytes: cache.totalSizeBytes())
            let removed = Int64(count).subtractingSaturated(Int64(kept.count))
            try report.end(RunningServer.Outcome(removed: removed, bytes: freed, kept: Int64(kept.count), keptBytes: kept.bytes))
        }
        return .success
    }

    private func removeNamed(_ cache: MediaCache, _ server: RunningServer?) async throws -> ExitCode {
        let report = RemovalReport(isJSON: isJSON, isTotal: named.hasPatterns)
        for item in try await named.find(in: cache) {
            var outcome = RunningServer.Outcome()
            for part in try await parts(of: item.key, in: cache) { outcome.add(try await remove(part, cache, server)) }
            try report.add(item, outcome)
        }
        try report.end()
        return report.code
    }

    /// Removes one resource, through the server that has the store, so that the server's readers
    /// are informed.
    private func remove(_ key: ResourceKey, _ cache: MediaCache, _ server: RunningServer?) async throws -> RunningServer.Outcome {
        if let server { return try server.remove(key) }
        let stored = try await cache.status(of: key)?.stored.totalBytes
        guard try await cache.presentations.removeResource(key) else { return RunningServer.Outcome() }
        return RunningServer.Outcome(removed: 1, bytes: expended.withLock { $0[key] } ?? stored ?? 0)
    }

    /// The resources to remove with `key`: all that only its presentation has, where it is the
    /// manifest of one. The manifest is last, so that an interrupted removal can be repeated.
    private func parts(of key: ResourceKey, in cache: MediaCache) async throws -> [ResourceKey] {
        try await cache.presentations.ownResources(of: key)?.reversed() ?? [key]
    }

    /// Reports what a removal would remove.
    private func foretell(_ cache: MediaCache) async throws -> ExitCode {
        let report = RemovalReport(isJSON: isJSON, isTotal: true, isDry: true)
        let everything = NamedResources(names: ["*"], settings: settings)
        let isEmpty = try await cache.count() == 0
        let items = named.names.isEmpty ? isEmpty ? [] : try await everything.find(in: cache) : try await named.find(in: cache)
        for item in items {
            var outcome = RunningServer.Outcome()
            for part in try await parts(of: item.key, in: cache) {
                guard let status = try await cache.status(of: part) else { continue }
                if named.names.isEmpty, !isErasing, Removal.keeps(status, in: cache) {
                    outcome.add(RunningServer.Outcome(kept: 1, keptBytes: status.stored.totalBytes))
                    continue
                }
                outcome.add(RunningServer.Outcome(removed: 1, bytes: status.stored.totalBytes))
            }
            if outcome.removed == 0, outcome.kept > 0 { report.keep(outcome) } else { try report.add(item, outcome) }
        }
        try report.end()
        return report.code
    }
}

/// The report of a removal, as text or as one JSON object. It is a class because the compiler's
/// optimiser fails on a struct that is passed on across `await`.
private final class RemovalReport {
    private let isJSON: Bool
    /// Whether the text ends with the total.
    private let isTotal: Bool
    private let isDry: Bool
    /// A failure when one of the resources was not there.
    private(set) var code = ExitCode.success
    private var total = RunningServer.Outcome()
    private var objects: [String] = []

    init(isJSON: Bool, isTotal: Bool, isDry: Bool = false) {
        self.isJSON = isJSON
        self.isTotal = isTotal
        self.isDry = isDry
    }

    private var verb: String { isDry ? "would remove" : "removed" }

    /// Counts a resource that stays.
    func keep(_ outcome: RunningServer.Outcome) { total.add(outcome) }

    func add(_ item: NamedResources.Item, _ outcome: RunningServer.Outcome) throws {
        total.add(outcome)
        if isJSON { objects.append(object(item.key, outcome)) }
        guard outcome.removed > 0 else {
            Message.notStored(item.name).say(as: isJSON ? .json : .text)
            code = .failure
            return
        }
        let count = outcome.removed > 1 ? ", \(outcome.removed) resources" : ""
        if !isJSON { try OutputStream.output.write("\(verb) \(item.key) (\(ByteCount.text(outcome.bytes))\(count))\n") }
    }

    /// Ends the report of the added resources.
    func end() throws { try end(total) }

    /// Ends the report.
    ///
    /// - Parameter total: The number of resources and bytes that were removed in all.
    func end(_ total: RunningServer.Outcome) throws {
        guard !isJSON else { return try OutputStream.output.write(json(total)) }
        let size = total.removed == 0 ? "" : " (\(ByteCount.text(total.bytes)))"
        guard isTotal else { return }
        try OutputStream.output.write("\(verb) \(Self.resources(total.removed))\(size)\n")
        guard total.kept > 0 else { return }
        let kept = "\(isDry ? "would keep" : "kept") \(Self.resources(total.kept)) (\(ByteCount.text(total.keptBytes)))"
        try OutputStream.output.write("\(kept) that are downloads or pinned; 'spool rm --everything' removes them as well\n")
    }

    private static func resources(_ count: Int64) -> String { "\(count) resource\(count == 1 ? "" : "s")" }

    private func object(_ key: ResourceKey, _ outcome: RunningServer.Outcome) -> String {
        JSON.object([
            ("key", .string(key.string)), ("url", .string(key.string)), ("removed", .integer(outcome.removed)),
            ("bytes", .integer(outcome.bytes)),
        ]).text
    }

    private func json(_ total: RunningServer.Outcome) -> String {
        let json = JSON.object([
            ("removed", .integer(total.removed)), ("bytes", .integer(total.bytes)), ("kept", .integer(total.kept)),
            ("keptBytes", .integer(total.keptBytes)), ("dryRun", .bool(isDry)),
        ])
        // The objects are written already, so they follow as the last member.
        return json.text.dropLast() + ",\"resources\":[\(objects.joined(separator: ","))]}\n"
    }
}
