import Spool
import SpoolJSON
import SpoolSystem

/// `spool limits`: shows and sets the limits of a store.
struct LimitsCommand: Command {
    static let json = Flag("json", help: "Print one JSON object, with sizes in bytes.")

    static let syntax = CommandSyntax(
        "limits", "Show or set how much a store keeps",
        discussion: [
            "Without flags it shows the limits. The store keeps a limit that is given here or to 'spool serve', and every command on the"
                + " store follows it. 'default' removes one. A running server takes new limits at once, as at SIGHUP."
        ],
        flags: [CacheSettings.directory] + LimitFlags.all + [json],
        examples: [
            .init("spool limits", "Show the limits."),
            .init("spool limits --quota 50G --max-age 90d", "Keep at most 50 GiB, and nothing that was unused for 90 days."),
        ])

    private let settings: CacheSettings
    private let isJSON: Bool
    private let messageFormat: StandardErrorLog.Format

    init(_ arguments: Arguments) throws(UsageError) {
        settings = try CacheSettings(arguments, takesDefaults: true)
        isJSON = arguments.isJSON
        messageFormat = arguments.messageFormat
    }

    func run() async throws -> ExitCode {
        let directory = try settings.directory()
        guard try POSIXFileSystem().status(directory) != nil else { throw Failure.noStore(directory) }
        var limits = try StoredLimits.read(in: directory)
        if !settings.givenLimits.isEmpty {
            limits.take(settings.givenLimits)
            try limits.write(in: directory)
            reloadServer(in: directory)
        }
        try OutputStream.output.write(isJSON ? json(limits, in: directory) : text(limits))
        return .success
    }

    /// Makes a running server take the limits over, and prints what came of it.
    private func reloadServer(in directory: String) {
        guard let server = RunningServer.announced(in: directory) else { return }
        do {
            Message(.notice, "spool: the server at \(server.publicAddress): \(try server.reload())").say(as: messageFormat)
        } catch {
            // A killed server leaves its address behind.
            guard StoreHolder.command(in: directory) != nil, let text = ExitCode.of(error).message else { return }
            Message(.notice, "\(text); the limits hold when it starts next").say(as: messageFormat)
        }
    }

    private func text(_ limits: StoredLimits) -> String {
        LimitFlags.all.map { flag in
            let name = flag.name.padded(to: 10)
            let value = limits[flag] ?? "\(LimitFlags.defaultText(flag)) (default)"
            return "\(name)  \(value)\n"
        }.joined()
    }

    /// The limits of the store in numbers, and the names of those that the store keeps.
    private func json(_ stored: StoredLimits, in directory: String) -> String {
        var limits = StorageLimits()
        for flag in LimitFlags.all { if let text = stored[flag] { _ = LimitFlags.set(flag, text, in: &limits) } }
        let kept = LimitFlags.all.filter { stored[$0] != nil }.map { JSON.string($0.name) }
        return JSON.object([
            ("cache", .string(directory)), ("quotaBytes", JSON(limits.quotaBytes)),
            ("maximumAgeSeconds", JSON(limits.maximumAge?.components.seconds)), ("maximumCount", JSON(limits.maximumCount.map(Int64.init))),
            ("minimumFreeBytes", JSON(limits.minimumFreeBytes)),
            ("evict", .string(stored[LimitFlags.evict] ?? LimitFlags.defaultText(LimitFlags.evict))), ("kept", .array(kept)),
        ]).text + "\n"
    }
}
