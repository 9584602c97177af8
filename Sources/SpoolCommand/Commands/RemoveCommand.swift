import Spool
import SpoolCore
import SpoolStore
import SpoolSystem

/// `spool rm`: removes resources from the store.
struct RemoveCommand: Command {
    static let all = Flag("all", help: "Remove everything.")

    static let syntax = CommandSyntax(
        "rm", "Remove resources from the store",
        discussion: [
            "Asks nothing and says what it removed. With the URL of a manifest, the whole presentation is removed, except for parts that another"
                + " stored presentation shares. Exits 1 when one of them was not there."
        ],
        operands: .init(usage: "URL… | --all", count: 0...CommandSyntax.maxOperands),
        flags: CacheSettings.store + KeySettings.all + [all],
        examples: [
            .init("spool rm https://example.com/film.mp4", "Remove one film."),
            .init("spool rm --all", "Empty the store."),
        ])

    private let settings: CacheSettings
    private let names: [String]
    /// The bytes of each resource that was deleted before the index could be opened, because the
    /// disk had no room for the index.
    private let expended = Locked<[ResourceKey?: Int64]>([:])

    init(_ arguments: Arguments) throws(UsageError) {
        var settings = try CacheSettings(arguments)
        names = arguments.operands
        settings.configuration.storage.expendable = names.isEmpty ? .everything : .resources(names.map { settings.key($0) })
        let expended = expended
        settings.configuration.storage.onExpended = { key, bytes in expended.withLock { $0[key, default: 0] += bytes } }
        self.settings = settings
        if names.isEmpty != arguments.has(Self.all) {
            let what = names.isEmpty ? "URL… or flag --all is missing" : "flag --all and a URL exclude each other"
            throw UsageError(what, command: Self.syntax.name)
        }
    }

    func run() async throws -> ExitCode {
        // The command does not create a store.
        do {
            guard let looked = try settings.openToLook() else { return try await missing() }
            await looked.close()
        } catch let error as CacheError {
            // On a full disk even a read-only opening may find no room. The removal itself makes
            // room.
            guard case StoreError.full? = error.cause else { throw error }
        }
        let cache = try settings.open()
        return try await cache.closing {
            guard cache.store.isWritable else { return try await remove(seenIn: cache, through: settings.server()) }
            return names.isEmpty ? try await removeAll(cache) : try await removeNamed(cache)
        }
    }

    /// Removes through the server that has the store, so that the server's readers are informed.
    private func remove(seenIn cache: MediaCache, through server: RunningServer) async throws -> ExitCode {
        if names.isEmpty {
            try tell(server.removeAll())
            return .success
        }
        var code = ExitCode.success
        for name in names {
            let key = settings.key(name)
            var outcome = RunningServer.Outcome(removed: 0, bytes: 0)
            for part in try await parts(of: key, in: cache) { outcome.add(try server.remove(part)) }
            if outcome.removed > 0 {
                try tell(key, outcome.bytes, parts: outcome.removed)
            } else {
                OutputStream.error.say("spool: nothing is stored of \(name)")
                code = .failure
            }
        }
        return code
    }

    /// The resources to remove with `key`: all that only its presentation has, where it is the
    /// manifest of one. The manifest is last, so that an interrupted removal can be repeated.
    private func parts(of key: ResourceKey, in cache: MediaCache) async throws -> [ResourceKey] {
        try await cache.presentations.ownResources(of: key)?.reversed() ?? [key]
    }

    private func tell(_ key: ResourceKey, _ bytes: Int64, parts: Int64) throws {
        let count = parts > 1 ? ", \(parts) resources" : ""
        try OutputStream.output.write("removed \(key) (\(ByteCount.text(bytes))\(count))\n")
    }

    private func tell(_ outcome: RunningServer.Outcome) throws {
        let size = outcome.removed == 0 ? "" : " (\(ByteCount.text(outcome.bytes)))"
        try OutputStream.output.write("removed \(outcome.removed) resource\(outcome.removed == 1 ? "" : "s")\(size)\n")
    }

    private func missing() async throws -> ExitCode {
        try settings.tellMissing()
        if names.isEmpty {
            try OutputStream.output.write("removed 0 resources\n")
            return .success
        }
        for name in names { OutputStream.error.say("spool: nothing is stored of \(name)") }
        return .failure
    }

    private func removeNamed(_ cache: MediaCache) async throws -> ExitCode {
        var code = ExitCode.success
        for name in names {
            let key = settings.key(name)
            var outcome = RunningServer.Outcome(removed: 0, bytes: 0)
            for part in try await parts(of: key, in: cache) {
                let stored = try await cache.status(of: part)?.stored.totalBytes
                guard try await cache.remove(part) else { continue }
                outcome.add(RunningServer.Outcome(removed: 1, bytes: expended.withLock { $0[part] } ?? stored ?? 0))
            }
            if outcome.removed > 0 {
                try tell(key, outcome.bytes, parts: outcome.removed)
            } else {
                OutputStream.error.say("spool: nothing is stored of \(name)")
                code = .failure
            }
        }
        return code
    }

    private func removeAll(_ cache: MediaCache) async throws -> ExitCode {
        let count = try await cache.count()
        let bytes = max(try await cache.totalSizeBytes(), expended.withLock { $0.values.reduce(0, +) })
        try await cache.removeAll()
        try tell(RunningServer.Outcome(removed: Int64(count), bytes: bytes))
        return .success
    }
}
