import Spool
import SpoolCore
import SpoolJSON

/// `spool pin`: protects resources from eviction.
struct PinCommand: Command {
    static let syntax = CommandSyntax(
        "pin", "Protect resources from eviction",
        discussion: [
            "A resource that is not stored yet can be pinned, too. With the URL of a manifest, every stored part of the presentation is pinned, and a later 'spool get' of it"
                + " pins the parts that it adds. Pinned bytes count towards the quota. 'spool unpin' and 'spool rm' end the protection.",
            Pinning.patterns,
        ],
        operands: .init(usage: "URL|KEY…", count: 1...CommandSyntax.maxOperands),
        flags: CacheSettings.store + KeySettings.names + [Pinning.json],
        examples: [
            .init("spool pin https://example.com/film.mp4", "Keep a film, however full the store gets."),
            .init("spool pin 'https://example.com/*'", "Keep everything that is stored of a host."),
        ])

    private let pinning: Pinning

    init(_ arguments: Arguments) throws(UsageError) { pinning = try Pinning(arguments, isPinned: true) }

    func run() async throws -> ExitCode { try await pinning.run() }
}

/// `spool unpin`: allows the eviction of pinned resources again.
struct UnpinCommand: Command {
    static let syntax = CommandSyntax(
        "unpin", "Allow the eviction of pinned resources again",
        discussion: ["Exits 1 when one of them was not pinned.", Pinning.patterns],
        operands: .init(usage: "URL|KEY…", count: 1...CommandSyntax.maxOperands),
        flags: CacheSettings.store + KeySettings.names + [Pinning.json],
        examples: [
            .init("spool unpin https://example.com/film.mp4", "Allow the eviction of the film.")
        ])

    private let pinning: Pinning

    init(_ arguments: Arguments) throws(UsageError) { pinning = try Pinning(arguments, isPinned: false) }

    func run() async throws -> ExitCode { try await pinning.run() }
}

/// The common part of the two commands.
private struct Pinning {
    static let json = Flag("json", help: "Print a JSON array with one object for each resource.")
    /// The part of the help that both commands have.
    static let patterns =
        "A '*' in a URL stands for any characters: the pattern selects the resources that 'spool ls' lists for it. The last line has their number."
        + " A pattern without a match changes nothing."

    private let settings: CacheSettings
    private let named: NamedResources
    private let isPinned: Bool
    private let isJSON: Bool

    init(_ arguments: Arguments, isPinned: Bool) throws(UsageError) {
        settings = try CacheSettings(arguments)
        named = NamedResources(names: arguments.operands.map(arguments.meant), settings: settings)
        self.isPinned = isPinned
        isJSON = arguments.isJSON
    }

    private var format: StandardErrorLog.Format { isJSON ? .json : .text }

    func run() async throws -> ExitCode {
        // A pin may be the first entry of a store. A pattern, or the end of a pin, needs a store.
        if !isPinned || named.hasPatterns { try settings.requireStore() }
        let cache = try settings.open()
        return try await cache.closing {
            let server = cache.store.isWritable ? nil : try settings.server()
            // The parts that the server received just now are found in the index.
            try server?.enterReceived()
            var objects: [String] = []
            var changes = 0
            var code = ExitCode.success
            let items = try await named.find(in: cache, includesPins: !isPinned)
            for item in items {
                let changed = try await change(item.key, in: cache, server)
                let isStored = try await cache.status(of: item.key) != nil
                if isJSON { objects.append(object(item.key, changed, isStored: isStored)) } else { try tell(item, changed) }
                if isPinned, !isStored { tellOfNothing(item) }
                if changed { changes += 1 }
                if !changed, !isPinned, !item.isMatch { code = .failure }
            }
            if isJSON { try OutputStream.output.write("[\(objects.map { "\n" + $0 }.joined(separator: ","))\n]\n") }
            if !isJSON, named.hasPatterns {
                try OutputStream.output.write("\(isPinned ? "pinned" : "unpinned") \(changes) of \(items.count) resources\n")
            }
            return !isPinned && changes == 0 ? .failure : code
        }
    }

    /// Changes the pins of a resource, and those of all parts where it is the manifest of a
    /// presentation.
    ///
    /// - Returns: Whether one of the pins was changed.
    private func change(_ key: ResourceKey, in cache: MediaCache, _ server: RunningServer?) async throws -> Bool {
        guard let server else { return try await isPinned ? cache.pin(key) : cache.unpin(key) }
        let stored =
            isPinned
            ? try await cache.presentations.inventory(of: key)?.keys
            : try await cache.presentations.ownResources(of: key, amongPinned: true)
        var changed = false
        for part in stored ?? [key] { changed = try server.setPinned(part, isPinned) || changed }
        return changed
    }

    private func tell(_ item: NamedResources.Item, _ changed: Bool) throws {
        switch (isPinned, changed) {
        case (true, true): try OutputStream.output.write("pinned \(item.key)\n")
        case (true, false): try OutputStream.output.write("\(item.key) was pinned already\n")
        case (false, true): try OutputStream.output.write("unpinned \(item.key)\n")
        // A pattern means the pinned ones of what it matches.
        case (false, false): if !item.isMatch { OutputStream.error.say("spool: \(item.key) was not pinned") }
        }
    }

    private func tellOfNothing(_ item: NamedResources.Item) {
        let text = "spool: nothing is stored of \(item.name) yet; 'spool ls' lists the pin, 'spool unpin' takes it back"
        Message(.notice, text, url: item.name).say(as: format)
    }

    private func object(_ key: ResourceKey, _ changed: Bool, isStored: Bool) -> String {
        JSON.object([
            ("key", .string(key.string)), ("url", .string(key.string)), ("pinned", .bool(isPinned)), ("changed", .bool(changed)),
            ("stored", .bool(isStored)),
        ]).text
    }
}
