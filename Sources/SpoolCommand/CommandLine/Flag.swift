/// A flag of a command: its spelling, its meaning, and the variable that it defaults to.
///
/// The parser and `--help` use the same table, so both have the same flags.
struct Flag: Sendable {
    /// The long name without dashes, for example `listen`.
    let name: String
    /// The letter after one dash, for flags that people type often.
    let letter: Character?
    /// The name of the value in the help, or nil for a flag without a value.
    let placeholder: String?
    /// The name of the second value, for a flag that takes two words.
    let second: String?
    /// The environment variable that the flag defaults to.
    let environment: String?
    /// The effect of the flag and its default. The help wraps the lines.
    let help: String
    /// Whether the help omits the flag. Such flags are for tests and for other programs of the
    /// project.
    let isHidden: Bool

    init(
        _ name: String, _ letter: Character? = nil, takes placeholder: String? = nil, second: String? = nil,
        environment: String? = nil, isHidden: Bool = false,
        help: String
    ) {
        self.name = name
        self.letter = letter
        self.placeholder = placeholder
        self.second = second
        self.environment = environment
        self.help = help
        self.isHidden = isHidden
    }

    /// The spelling of the flag in messages.
    var spelling: String { "--\(name)" }

    /// The names of its values, or nil for a flag without a value.
    var placeholders: String? { placeholder.map { $0 + (second.map { " \($0)" } ?? "") } }
}

extension Flag {
    /// The flag that every command accepts.
    static let help = Flag("help", "h", help: "Show this text.")
}

/// The syntax of a command: its flags and its operands.
struct CommandSyntax: Sendable {
    let name: String
    /// One line for the list of commands.
    let summary: String
    /// Paragraphs for the command's own help.
    let discussion: [String]
    /// The operands, or nil for a command without operands.
    let operands: Operands?
    let flags: [Flag]

    /// The words beside the flags, for example `URL…`.
    struct Operands: Sendable {
        let usage: String
        let count: ClosedRange<Int>
    }

    init(_ name: String, _ summary: String, discussion: [String] = [], operands: Operands? = nil, flags: [Flag]) {
        self.name = name
        self.summary = summary
        self.discussion = discussion
        self.operands = operands
        self.flags = flags + [.help]
    }

    /// The largest number of operands. A shell's glob over a large directory stays below it.
    static let maxOperands = 4096
}
