import Spool
import SpoolCore

/// `spool pin`: protects resources from eviction.
struct PinCommand: Command {
    static let syntax = CommandSyntax(
        "pin", "Keep resources in the store whatever room is needed",
        discussion: [
            "A resource that is not stored yet can be pinned, too. With the URL of a manifest, every stored part of the presentation is pinned, and a later 'spool get' of it"
                + " pins the parts that it adds. Pinned bytes count towards the quota. 'spool unpin' and 'spool rm' end the protection."
        ],
        operands: .init(usage: "URL|KEY…", count: 1...CommandSyntax.maxOperands),
        flags: CacheSettings.store + KeySettings.all,
        examples: [
            .init("spool pin https://example.com/film.mp4", "Keep a film, however full the store gets.")
        ])

    private let pinning: Pinning

    init(_ arguments: Arguments) throws(UsageError) { pinning = try Pinning(arguments, isPinned: true) }

    func run() async throws -> ExitCode { try await pinning.run() }
}

/// `spool unpin`: allows the eviction of pinned resources again.
struct UnpinCommand: Command {
    static let syntax = CommandSyntax(
        "unpin", "Let pinned resources go again when room is needed",
        discussion: ["Exits 1 when one of them was not pinned."],
        operands: .init(usage: "URL|KEY…", count: 1...CommandSyntax.maxOperands),
        flags: CacheSettings.store + KeySettings.all,
        examples: [
            .init("spool unpin https://example.com/film.mp4", "Let the film go when room is needed.")
        ])

    private let pinning: Pinning

    init(_ arguments: Arguments) throws(UsageError) { pinning = try Pinning(arguments, isPinned: false) }

    func run() async throws -> ExitCode { try await pinning.run() }
}

/// The common part of the two commands.
private struct Pinning {
    private let settings: CacheSettings
    private let names: [String]
    private let isPinned: Bool

    init(_ arguments: Arguments, isPinned: Bool) throws(UsageError) {
        settings = try CacheSettings(arguments)
        names = arguments.operands
        self.isPinned = isPinned
    }

    func run() async throws -> ExitCode {
        let cache = try settings.open()
        return try await cache.closing {
            let server = cache.store.isWritable ? nil : try settings.server()
            // The parts that the server received just now are found in the index.
            try server?.enterReceived()
            var code = ExitCode.success
            for name in names {
                let key = settings.key(name)
                let changed = try await change(key, in: cache, server)
                try tell(key, changed)
                if isPinned, try await cache.status(of: key) == nil {
                    OutputStream.error.say("spool: nothing is stored of \(name) yet; 'spool ls' lists the pin, 'spool unpin' takes it back")
                }
                if !changed && !isPinned { code = .failure }
            }
            return code
        }
    }

    /// Changes the pins of a resource, and those of all parts where it is the manifest of a
    /// presentation.
    ///
    /// - Returns: Whether one of the pins was changed.
    private func change(_ key: ResourceKey, in cache: MediaCache, _ server: RunningServer?) async throws -> Bool {
        var changed = false
        for part in try await parts(of: key, in: cache) {
            if let server {
                changed = try server.setPinned(part, isPinned) || changed
            } else {
                changed = try await (isPinned ? cache.pin(part) : cache.unpin(part)) || changed
            }
        }
        return changed
    }

    private func parts(of key: ResourceKey, in cache: MediaCache) async throws -> [ResourceKey] {
        if isPinned { return try await cache.presentations.status(of: key)?.resources ?? [key] }
        return try await cache.presentations.ownResources(of: key, amongPinned: true) ?? [key]
    }

    private func tell(_ key: ResourceKey, _ changed: Bool) throws {
        switch (isPinned, changed) {
        case (true, true): try OutputStream.output.write("pinned \(key)\n")
        case (true, false): try OutputStream.output.write("\(key) was pinned already\n")
        case (false, true): try OutputStream.output.write("unpinned \(key)\n")
        case (false, false): OutputStream.error.say("spool: \(key) was not pinned")
        }
    }
}
