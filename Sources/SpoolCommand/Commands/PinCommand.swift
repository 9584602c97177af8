import Spool
import SpoolCore

/// `spool pin`: protects resources from eviction.
struct PinCommand: Command {
    static let syntax = CommandSyntax(
        "pin", "Keep resources in the store whatever room is needed",
        discussion: [
            "Also what is not stored yet. What is pinned counts towards the quota; 'spool unpin' lets it go again, 'spool rm' too."
        ],
        operands: .init(usage: "URL|KEY…", count: 1...CommandSyntax.maxOperands),
        flags: CacheSettings.store + KeySettings.all)

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
        flags: CacheSettings.store + KeySettings.all)

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
            var code = ExitCode.success
            for name in names {
                let key = settings.key(name)
                let changed =
                    if let server { try server.setPinned(key, isPinned) } else {
                        try await isPinned ? cache.pin(key) : cache.unpin(key)
                    }
                try tell(key, changed)
                if isPinned, try await cache.status(of: key) == nil {
                    OutputStream.error.say("spool: nothing is stored of \(name) yet; 'spool ls' lists the pin, 'spool unpin' takes it back")
                }
                if !changed && !isPinned { code = .failure }
            }
            return code
        }
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
