import Spool
import SpoolSystem

/// `spool limits`: shows and sets the limits of a store.
struct LimitsCommand: Command {
    static let syntax = CommandSyntax(
        "limits", "Show or set how much a store keeps",
        discussion: [
            "Without flags it shows the limits. A limit that is given here, or to 'spool serve', is the store's from then on: every command"
                + " on the store keeps to it. 'default' takes one back. A running server takes new limits when it starts next."
        ],
        flags: [CacheSettings.directory] + LimitFlags.all,
        examples: [
            .init("spool limits", "Show the limits."),
            .init("spool limits --quota 50G --max-age 90d", "Keep at most 50 GiB, and nothing that was unused for 90 days."),
        ])

    private let settings: CacheSettings

    init(_ arguments: Arguments) throws(UsageError) {
        settings = try CacheSettings(arguments, takesDefaults: true)
    }

    func run() async throws -> ExitCode {
        let directory = try settings.directory()
        guard try POSIXFileSystem().status(directory) != nil else {
            throw Failure("there is no store at \(directory); 'spool serve' makes one", .failure)
        }
        var limits = try StoredLimits.read(in: directory)
        if !settings.givenLimits.isEmpty {
            limits.take(settings.givenLimits)
            try limits.write(in: directory)
        }
        for flag in LimitFlags.all {
            let name = flag.name.padding(to: 10)
            let value = limits[flag].map { $0 } ?? "\(LimitFlags.defaultText(flag)) (default)"
            try OutputStream.output.write("\(name)  \(value)\n")
        }
        return .success
    }
}

extension String {
    fileprivate func padding(to count: Int) -> String { self + String(repeating: " ", count: max(0, count - self.count)) }
}
