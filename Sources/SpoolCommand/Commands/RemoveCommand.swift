import Spool
import SpoolCore
import SpoolDashboard
import SpoolJSON
import SpoolStore
import SpoolSystem

/// `spool rm`: removes resources from the store.
struct RemoveCommand: Command {
    static let all = Flag("all", help: "Remove everything except downloads and pinned resources.")
    static let everything = Flag("everything", help: "Remove everything, with downloads, pins and the history.")
    static let dryRun = Flag("dry-run", "n", help: "Remove nothing, and list what would be removed.")

    static let syntax = CommandSyntax(
        "rm", "Remove resources from the store",
        discussion: [
            "Removes at once and never asks, and prints the removed resources. A '*' in a URL stands for any characters: the pattern removes the resources that 'spool ls' lists for it."
                + " With the URL of a manifest, the whole presentation is removed, except for parts that another"
                + " stored presentation shares. Exits 1 when one of them was not there, and removes nothing when nothing matches a pattern.",
            "With --all, downloads and pinned resources stay, and the last line has their size. --everything removes them as well, and"
                + " leaves nothing of the users in the store: no list of downloads, no pins, no history.",
        ],
        operands: .init(usage: "URL… | --all | --everything", count: 0...CommandSyntax.maxOperands, completion: .stored),
        flags: CacheSettings.store + KeySettings.names + [all, everything, dryRun, .json],
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
        return try await settings.changing { cache, server in
            named.names.isEmpty ? try await removeAll(cache, server) : try await removeNamed(cache, server)
        }
    }

    // MARK: Removing

    private func removeAll(_ cache: MediaCache, _ server: RunningServer?) async throws -> ExitCode {
        let report = RemovalReport(isJSON: isJSON, isTotal: true)
        if let server {
            try report.end(server.removeAll(erasing: isErasing))
            return .success
        }
        var counts = try await cache.removeAll(erasing: isErasing)
        if isErasing { counts.bytes = max(counts.bytes, expended.withLock { $0.values.saturatedSum }) }
        try report.end(counts)
        return .success
    }

    private func removeNamed(_ cache: MediaCache, _ server: RunningServer?) async throws -> ExitCode {
        let report = RemovalReport(isJSON: isJSON, isTotal: named.hasPatterns)
        for item in try await named.find(in: cache) {
            let isOnlyPinned = try await cache.hasPinWithoutBytes(item.key)
            try report.add(item, try await remove(item.key, cache, server), isOnlyPinned: isOnlyPinned)
        }
        try report.end()
        return report.code
    }

    /// Removes a resource or presentation, through the server that has the store, so that the
    /// server's readers are informed.
    private func remove(_ key: ResourceKey, _ cache: MediaCache, _ server: RunningServer?) async throws -> RemovalCounts {
        if let server { return try server.remove(key) }
        let removed = try await cache.presentations.remove(key)
        let bytes = expended.withLock { expended in removed.map { expended[$0.key] ?? $0.bytes }.saturatedSum }
        return RemovalCounts(removed: Int64(removed.count), bytes: bytes)
    }

    /// Reports what a removal would remove.
    private func foretell(_ cache: MediaCache) async throws -> ExitCode {
        let report = RemovalReport(isJSON: isJSON, isTotal: true, isDry: true)
        let everything = NamedResources(names: ["*"], settings: settings)
        let isEmpty = try await cache.count() == 0
        let items = named.names.isEmpty ? isEmpty ? [] : try await everything.find(in: cache) : try await named.find(in: cache)
        for item in items {
            var outcome = RemovalCounts()
            for part in try await cache.presentations.ownResources(of: item.key) ?? [item.key] {
                guard let status = try await cache.status(of: part) else { continue }
                if named.names.isEmpty, !isErasing, Removal.keeps(status, in: cache) {
                    outcome.add(RemovalCounts(kept: 1, keptBytes: status.stored.totalBytes))
                    continue
                }
                outcome.add(RemovalCounts(removed: 1, bytes: status.stored.totalBytes))
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
    private var total = RemovalCounts()
    private var objects: [String] = []

    init(isJSON: Bool, isTotal: Bool, isDry: Bool = false) {
        self.isJSON = isJSON
        self.isTotal = isTotal
        self.isDry = isDry
    }

    private var verb: String { isDry ? "would remove" : "removed" }

    /// Counts a resource that stays.
    func keep(_ outcome: RemovalCounts) { total.add(outcome) }

    /// - Parameter isOnlyPinned: Whether the resource had a pin and no stored byte.
    func add(_ item: NamedResources.Item, _ outcome: RemovalCounts, isOnlyPinned: Bool = false) throws {
        total.add(outcome)
        if isJSON { objects.append(object(item.key, outcome)) }
        guard outcome.removed > 0 else {
            guard !isOnlyPinned else {
                if !isJSON { try OutputStream.output.write("unpinned \(item.key), of which nothing was stored\n") }
                return
            }
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
    func end(_ total: RemovalCounts) throws {
        guard !isJSON else { return try OutputStream.output.write(json(total)) }
        let size = total.removed == 0 ? "" : " (\(ByteCount.text(total.bytes)))"
        guard isTotal else { return }
        try OutputStream.output.write("\(verb) \(total.removed.counted("resource"))\(size)\n")
        guard total.kept > 0 else { return }
        let kept = "\(isDry ? "would keep" : "kept") \(total.kept.counted("resource")) (\(ByteCount.text(total.keptBytes)))"
        try OutputStream.output.write("\(kept) that are downloads or pinned; 'spool rm --everything' removes them as well\n")
    }

    private func object(_ key: ResourceKey, _ outcome: RemovalCounts) -> String {
        JSON.object([
            ("key", .string(key.string)), ("url", .string(key.string)), ("removed", .integer(outcome.removed)),
            ("bytes", .integer(outcome.bytes)),
        ]).text
    }

    private func json(_ total: RemovalCounts) -> String {
        let json = JSON.object(total.members + [("dryRun", .bool(isDry))])
        // The objects are written already, so they follow as the last member.
        return json.text.dropLast() + ",\"resources\":[\(objects.joined(separator: ","))]}\n"
    }
}
