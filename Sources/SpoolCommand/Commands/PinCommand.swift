import Spool
import SpoolCore
import SpoolJSON

/// `spool pin`: protects resources from eviction.
struct PinCommand: PinningCommand {
    static let isPinned = true
    static let syntax = CommandSyntax(
        "pin", "Protect resources from eviction",
        discussion: [
            "A resource that is not stored yet can be pinned, too. With the URL of a manifest, every stored part of the presentation is pinned, and a later 'spool get' of it"
                + " pins the parts that it adds. Pinned bytes count towards the quota. 'spool unpin' and 'spool rm' end the protection.",
            patternsOfPins,
        ],
        operands: .init(usage: "URL|KEY…", count: 1...CommandSyntax.maxOperands, completion: .stored),
        flags: CacheSettings.store + KeySettings.names + [jsonOfPins],
        examples: [
            .init("spool pin https://example.com/film.mp4", "Keep a film, however full the store gets."),
            .init("spool pin 'https://example.com/*'", "Keep everything that is stored of a host."),
        ])

    let settings: CacheSettings
    let arguments: Arguments
}

/// `spool unpin`: allows the eviction of pinned resources again.
struct UnpinCommand: PinningCommand {
    static let isPinned = false
    static let syntax = CommandSyntax(
        "unpin", "Allow the eviction of pinned resources again",
        discussion: ["Exits 1 when one of them was not pinned.", patternsOfPins],
        operands: .init(usage: "URL|KEY…", count: 1...CommandSyntax.maxOperands, completion: .stored),
        flags: CacheSettings.store + KeySettings.names + [jsonOfPins],
        examples: [
            .init("spool unpin https://example.com/film.mp4", "Allow the eviction of the film.")
        ])

    let settings: CacheSettings
    let arguments: Arguments
}

private let jsonOfPins = Flag("json", help: "Print a JSON array with one object for each resource.")

/// The part of the help that both commands have.
private let patternsOfPins =
    "A '*' in a URL stands for any characters: the pattern selects the resources that 'spool ls' lists for it. The last line has their number."
    + " A pattern without a match changes nothing."

/// The common part of the two commands.
protocol PinningCommand: StoreCommand {
    /// Whether the command pins, and does not unpin.
    static var isPinned: Bool { get }
}

extension PinningCommand {
    private var isPinned: Bool { Self.isPinned }
    private var isJSON: Bool { arguments.isJSON }

    func run() async throws -> ExitCode {
        let named = NamedResources(names: arguments.operands.map(arguments.meant), settings: settings)
        // A pin may be the first entry of a store. A pattern, or the end of a pin, needs a store.
        if !isPinned || named.hasPatterns { try settings.requireStore() }
        return try await settings.changing { cache, server in
            // The parts that the server received just now are found in the index.
            try server?.enterReceived()
            var objects: [String] = []
            var changes = 0
            var code = ExitCode.success
            let items = try await named.find(in: cache, includesPins: !isPinned)
            for item in items {
                let key = item.key
                let changed =
                    if let server { try server.setPinned(key, isPinned) } else { try await isPinned ? cache.pin(key) : cache.unpin(key) }
                let isStored = try await cache.status(of: key) != nil
                if isJSON { objects.append(object(key, changed, isStored: isStored)) } else { try tell(item, changed) }
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
        Message(.notice, text, url: item.name).say(as: arguments.outputFormat)
    }

    private func object(_ key: ResourceKey, _ changed: Bool, isStored: Bool) -> String {
        JSON.object([
            ("key", .string(key.string)), ("url", .string(key.string)), ("pinned", .bool(isPinned)), ("changed", .bool(changed)),
            ("stored", .bool(isStored)),
        ]).text
    }
}
