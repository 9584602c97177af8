/// `spool help`: shows the help of the program or of one command.
struct HelpCommand: Command {
    static let syntax = CommandSyntax(
        "help", "Show what the program or one command does", operands: .init(usage: "[COMMAND]", count: 0...1, completion: .commands),
        flags: [],
        examples: [
            .init("spool help get", "Explain one command.")
        ])

    private let text: String

    init(_ arguments: Arguments) throws(UsageError) {
        if let name = arguments.operands.first {
            text = HelpText.command(try Program.command(named: name).syntax)
        } else {
            text = Program.helpText
        }
    }

    func run() async throws -> ExitCode {
        try OutputStream.output.write(text)
        return .success
    }
}

/// `spool version`: shows the release.
struct VersionCommand: Command {
    static let syntax = CommandSyntax(
        "version", "Show the version", flags: [],
        examples: [
            .init("spool version", "Print the release.")
        ])

    /// The release that these sources become.
    static let version = "0.1.0"

    init(_ arguments: Arguments) throws(UsageError) {}

    func run() async throws -> ExitCode {
        try OutputStream.output.write("spool \(Self.version)\n")
        return .success
    }
}
