/// `spool completions`: prints the completion script of a shell.
struct CompletionsCommand: Command {
    static let syntax = CommandSyntax(
        "completions", "Print the completion script of a shell",
        discussion: [
            "For bash: 'source <(spool completions bash)' in ~/.bashrc. For zsh: the same with zsh in ~/.zshrc, after compinit. For fish: write"
                + " it to ~/.config/fish/completions/spool.fish. The Debian package installs all three."
        ],
        operands: .init(usage: "bash|zsh|fish", count: 1...1, completion: .words(Array(shells.keys).sorted())), flags: [],
        examples: [
            .init("spool completions bash", "Print the script for bash."),
            .init("spool completions fish > ~/.config/fish/completions/spool.fish", "Install it for fish."),
        ])

    private static let shells: [String: @Sendable ([CommandSyntax]) -> String] = [
        "bash": BashCompletion.script, "zsh": ZshCompletion.script, "fish": FishCompletion.script,
    ]

    private let script: String

    init(_ arguments: Arguments) throws(UsageError) {
        let name = arguments.operands[0]
        guard let make = Self.shells[name] else {
            throw UsageError("there are completions for bash, zsh and fish, not for '\(name)'", command: Self.syntax.name)
        }
        script = make(Program.commands.map { $0.syntax })
    }

    func run() async throws -> ExitCode {
        try OutputStream.output.write(script)
        return .success
    }
}

/// `spool man`: prints manual pages, or writes all of them as files.
struct ManualCommand: Command {
    static let output = Flag("output", "o", takes: "DIR", help: "Write every page as a file into this directory, and print nothing.")

    static let syntax = CommandSyntax(
        "man", "Print the manual page of the program or of one command",
        discussion: ["The page is in roff: 'spool man get | man -l -' shows it."],
        operands: .init(usage: "[COMMAND]", count: 0...1, completion: .commands), flags: [output],
        examples: [
            .init("spool man get | man -l -", "Read the page of 'spool get'."),
            .init("spool man --output /usr/local/share/man/man1", "Install all pages."),
        ])

    private let page: String
    private let directory: String?

    init(_ arguments: Arguments) throws(UsageError) {
        directory = arguments[Self.output]
        if let name = arguments.operands.first {
            page = ManualPage.command(try Program.command(named: name).syntax)
        } else {
            page = ManualPage.program(Program.commands.map { $0.syntax })
        }
    }

    func run() async throws -> ExitCode {
        guard let directory else {
            try OutputStream.output.write(page)
            return .success
        }
        let syntaxes = Program.commands.map { $0.syntax }
        try write(ManualPage.program(syntaxes), to: "\(directory)/spool.1")
        for syntax in syntaxes { try write(ManualPage.command(syntax), to: "\(directory)/\(ManualPage.name(of: syntax)).1") }
        return .success
    }

    private func write(_ page: String, to path: String) throws {
        let file = try OutputFile(path)
        try file.write(Array(page.utf8))
        try file.finish()
    }
}
