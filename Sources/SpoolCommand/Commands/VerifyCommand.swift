import Spool
import SpoolCore
import SpoolDashboard
import SpoolJSON

/// `spool verify`: reads the stored bytes and compares them with their checksums.
struct VerifyCommand: StoreCommand {
    static let repair = Flag("repair", help: "Take damaged bytes out of the store, so that they are fetched again.")
    static let json = Flag("json", help: "Print a JSON array with one object for each resource.")

    static let syntax = CommandSyntax(
        "verify", "Look for damage in what is stored",
        discussion: [
            "Reads every stored byte of the resources, or of all without a URL. The URL of a manifest means its presentation. A '*' in a URL"
                + " stands for any characters. Damage is a byte that the disk changed after it was written. Players"
                + " do not get it: Spool compares stored bytes with their checksums before it sends them for the first time."
                + " Exits 1 when damaged bytes are left in the store or a resource is not there."
        ],
        operands: .init(usage: "[URL…]", count: 0...CommandSyntax.maxOperands, completion: .stored),
        flags: CacheSettings.store + KeySettings.names + [repair, json],
        examples: [
            .init("spool verify", "Read everything that is stored, and report damage."),
            .init("spool verify 'https://example.com/*'", "Read what is stored of a host."),
            .init(
                "spool verify --repair https://example.com/film.mp4", "Remove the damaged bytes of a film, so that they are fetched again."),
        ])

    let settings: CacheSettings
    let arguments: Arguments

    private var isRepairing: Bool { arguments.has(Self.repair) }

    func run() async throws -> ExitCode {
        // The command does not create a store.
        let looked = try settings.openToRead()
        guard isRepairing else { return try await looked.closing { try await verify(looked) } }
        await looked.close()
        // A server that has the store repairs it itself, so that its readers are informed.
        return try await settings.changing { cache, server in try await verify(cache, through: server) }
    }

    // MARK: Verifying

    private func verify(_ cache: MediaCache, through server: RunningServer? = nil) async throws -> ExitCode {
        let named = NamedResources(names: arguments.operands.map(arguments.meant), settings: settings)
        let items = try await named.find(in: cache)
        let report = Report(isJSON: arguments.isJSON, isRepairing: isRepairing)
        try report.begin()
        if named.names.isEmpty {
            for try await page in cache.pages { for status in page { try await verify(status, in: cache, server, report) } }
        } else {
            for item in items { try await verify(item, in: cache, server, report) }
        }
        try report.end()
        return report.isGood ? .success : .failure
    }

    private func verify(
        _ item: NamedResources.Item, in cache: MediaCache, _ server: RunningServer?, _ report: Report
    ) async throws {
        guard let status = try await cache.status(of: item.key) else {
            Message.notStored(item.name).say(as: arguments.outputFormat)
            report.isGood = false
            return
        }
        let presentation = try await cache.presentations.status(of: status.key)
        for key in presentation?.resources ?? [status.key] {
            // A part that was removed meanwhile has no damage.
            guard let status = try await cache.status(of: key) else { continue }
            try await verify(status, in: cache, server, report)
        }
    }

    private func verify(
        _ status: ResourceStatus, in cache: MediaCache, _ server: RunningServer?, _ report: Report
    ) async throws {
        let line = ProgressBoard(names: ["\(status.key)"], total: status.stored.totalBytes)
        defer { line.clear() }
        // A resource that was removed after the listing has no damage.
        let verification =
            if let server { try server.repair(status.key, progress: line.add) } else {
                try await cache.verify(status.key, isRepairing: isRepairing, progress: line.add)
            }
        guard let found = verification else { return }
        line.clear()
        try report.add(found)
    }
}

/// The report on each resource and on all together. It is a class because the compiler's optimiser
/// fails on a struct that is passed on across `await`.
private final class Report {
    let isJSON: Bool
    let isRepairing: Bool
    /// Whether no damage is left and no resource was missing.
    var isGood = true
    private var resources = 0
    private var soundBytes: Int64 = 0
    private var uncheckedBytes: Int64 = 0
    private var damagedBytes: Int64 = 0

    init(isJSON: Bool, isRepairing: Bool) {
        self.isJSON = isJSON
        self.isRepairing = isRepairing
    }

    func begin() throws {
        if isJSON { try OutputStream.output.write("[") }
    }

    func add(_ found: Verification) throws {
        if isJSON { try OutputStream.output.write((resources == 0 ? "\n" : ",\n") + JSON.object(found.members()).text) }
        resources += 1
        soundBytes = soundBytes.addingSaturated(found.soundBytes)
        uncheckedBytes = uncheckedBytes.addingSaturated(found.uncheckedBytes)
        damagedBytes = damagedBytes.addingSaturated(found.damaged.totalBytes)
        if !found.isSound && !found.isRepaired { isGood = false }
        guard !isJSON else { return }
        for range in found.damaged.ranges {
            let fate = found.isRepaired ? "damaged, taken out" : "damaged"
            try OutputStream.output.write("\(fate): bytes \(range.lowerBound)-\(range.upperBound - 1) of \(found.key)\n")
        }
    }

    func end() throws {
        if isJSON { return try OutputStream.output.write(resources == 0 ? "]\n" : "\n]\n") }
        var facts = [resources.counted("resource"), "\(ByteCount.text(soundBytes)) sound"]
        if uncheckedBytes > 0 { facts.append("\(ByteCount.text(uncheckedBytes)) without checks") }
        facts.append(damagedBytes == 0 ? "no damage" : "\(ByteCount.text(damagedBytes)) damaged")
        try OutputStream.output.write(facts.joined(separator: ", ") + "\n")
        if damagedBytes > 0, !isRepairing {
            OutputStream.error.say(
                "spool: 'spool verify --repair' removes damaged bytes from the store; the next use fetches them again")
        }
    }
}
