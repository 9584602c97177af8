import Spool
import SpoolCore
import SpoolStore
import SpoolSystem

/// `spool rm`: removes resources from the store.
struct RemoveCommand: Command {
    static let all = Flag("all", help: "Remove everything.")

    static let syntax = CommandSyntax(
        "rm", "Remove resources from the store",
        discussion: ["Asks nothing and says what it removed. Exits 1 when one of them was not there."],
        operands: .init(usage: "URL… | --all", count: 0...CommandSyntax.maxOperands),
        flags: CacheSettings.store + KeySettings.all + [all])

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
            guard cache.store.isWritable else { return try remove(through: settings.server()) }
            return names.isEmpty ? try await removeAll(cache) : try await removeNamed(cache)
        }
    }

    /// Removes through the server that has the store, so that the server's readers are informed.
    private func remove(through server: RunningServer) throws -> ExitCode {
        if names.isEmpty {
            try tell(server.removeAll())
            return .success
        }
        var code = ExitCode.success
        for name in names {
            let key = settings.key(name)
            let outcome = try server.remove(key)
            if outcome.removed > 0 {
                try OutputStream.output.write("removed \(key) (\(ByteCount.text(outcome.bytes)))\n")
            } else {
                OutputStream.error.say("spool: nothing is stored of \(name)")
                code = .failure
            }
        }
        return code
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
            let status = try await cache.status(of: key)
            if try await cache.remove(key) {
                let before = expended.withLock { $0[key] }
                let bytes = (before ?? status?.stored.totalBytes).map { " (\(ByteCount.text($0)))" } ?? ""
                try OutputStream.output.write("removed \(key)\(bytes)\n")
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
