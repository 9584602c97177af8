import SpoolCore
import SpoolLibc

/// The command line: finds the command, passes it its arguments, and turns the result into an exit
/// code.
@main
package struct Program {
    /// Every command, in the order of the help.
    package static let commands: [any Command.Type] = [
        ServeCommand.self, GetCommand.self, PreloadCommand.self, ListCommand.self, StatCommand.self, PinCommand.self, UnpinCommand.self,
        RemoveCommand.self, DownloadCommand.self,
        LimitsCommand.self,
        VerifyCommand.self, RekeyCommand.self, ExportCommand.self, ImportCommand.self, AdoptCommand.self,
        PlayCommand.self, DemoCommand.self,
        LoginCommand.self,
        TopCommand.self, DoctorCommand.self, ConfigCommand.self, CompletionsCommand.self, ManualCommand.self, VersionCommand.self,
        HelpCommand.self,
    ]

    static var commandNames: [String] { commands.map { $0.syntax.name } }

    package static func main() {
        // When a reader leaves, the write call then returns an error, and the program does not end.
        signal(SIGPIPE, SIG_IGN)
        Task.detached {
            exit(await run(CommandLine.arguments.dropFirst()).rawValue)
        }
        // An asynchronous `main` would end this thread. On Linux, libdispatch then opens a
        // descriptor, and traps when the process has none left. This thread takes the signals
        // instead, also those that the parent process blocked.
        var none = sigset_t()
        sigemptyset(&none)
        while true { sigsuspend(&none) }
    }

    private static func run(_ words: ArraySlice<String>) async -> ExitCode {
        do {
            guard let word = words.first else {
                try OutputStream.error.write(helpText)
                return .usage
            }
            return try await run(word, words.dropFirst())
        } catch let end as CommandEnd {
            return say(end.cause, as: end.format)
        } catch {
            return say(error, as: .ofMessages(for: words))
        }
    }

    /// Reports the error that ends the program, and returns its exit code.
    private static func say(_ error: any Error, as format: StandardErrorLog.Format) -> ExitCode {
        Message(ending: error)?.say(as: format)
        return ExitCode.of(error).code
    }

    /// An error of a command whose arguments decide on the form of messages.
    private struct CommandEnd: Error {
        let cause: any Error
        let format: StandardErrorLog.Format
    }

    private static func run(_ word: String, _ words: ArraySlice<String>) async throws -> ExitCode {
        switch word {
        case "--help", "-h":
            try OutputStream.output.write(helpText)
            return .success
        case "--version", "-v":
            return try await run("version", [])
        default:
            let command = try command(named: word)
            let arguments = try CommandLineParser.parse(words, command.syntax, files: ConfigurationPlaces.read) { Environment[$0] }
            if arguments.has(.help) {
                try OutputStream.output.write(HelpText.command(command.syntax))
                return .success
            }
            do { return try await command.init(arguments).run() } catch {
                throw CommandEnd(cause: error, format: arguments.messageFormat)
            }
        }
    }

    /// Other words for commands, which people type by the habit of other programs.
    private static let otherNames = ["list": "ls", "remove": "rm", "delete": "rm", "status": "stat", "start": "serve"]

    /// Returns the name of the command that a word means.
    static func name(for word: String) -> String { otherNames[word] ?? word }

    static func command(named word: String) throws(UsageError) -> any Command.Type {
        let name = name(for: word)
        if let command = commands.first(where: { $0.syntax.name == name }) { return command }
        if name == "stop" { throw UsageError("a server has no command to stop it; press Ctrl-C, or 'systemctl stop spool'") }
        if name.hasPrefix("-") { throw UsageError("unknown flag \(name)") }
        throw UsageError("unknown command '\(name)'" + Suggestion.note(for: name, among: commandNames))
    }

    static var helpText: String { HelpText.program(commands.map { $0.syntax }) }
}

/// A command of the program.
package protocol Command: Sendable {
    static var syntax: CommandSyntax { get }
    /// Checks the arguments. Opens no store and no file.
    init(_ arguments: Arguments) throws(UsageError)
    func run() async throws -> ExitCode
}

/// A command on a store that checks no more than the settings of the store before it runs.
protocol StoreCommand: Command {
    /// The lowest level that is logged without `--verbose`.
    static var level: LogLevel { get }
    var settings: CacheSettings { get }
    var arguments: Arguments { get }
    init(settings: CacheSettings, arguments: Arguments)
}

extension StoreCommand {
    static var level: LogLevel { .info }

    init(_ arguments: Arguments) throws(UsageError) {
        self.init(settings: try CacheSettings(arguments, level: Self.level), arguments: arguments)
    }
}
