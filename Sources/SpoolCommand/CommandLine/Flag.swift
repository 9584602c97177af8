/// One flag of a command: how it is written, what it means, and where its value comes from when it is not given.
///
/// Parsing and `--help` read the same table, so that neither can know a flag that the other does not.
struct Flag: Sendable {
    /// The long name without dashes, for example `listen`.
    let name: String
    /// The letter after one dash, for flags that people type often.
    let letter: Character?
    /// What the value is called in the help; nil for a flag that takes none.
    let placeholder: String?
    /// The name of the second value, for a flag that takes two words.
    let second: String?
    /// The environment variable that stands in for the flag.
    let environment: String?
    /// What the flag does and what holds without it; lines are broken by the help.
    let help: String
    /// Left out of the help: for tests and for other programs of ours.
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

    /// How the flag is written, for messages.
    var spelling: String { "--\(name)" }

    /// The names of its values; nil for a flag that takes none.
    var placeholders: String? { placeholder.map { $0 + (second.map { " \($0)" } ?? "") } }
}

extension Flag {
    /// Understood by every command.
    static let help = Flag("help", "h", help: "Show this text.")
}

/// What a command takes: its flags, and the words beside them.
struct CommandSyntax: Sendable {
    let name: String
    /// One line for the list of commands.
    let summary: String
    /// Paragraphs for the command's own help.
    let discussion: [String]
    /// What the words beside the flags are, for example `URL…`; nil for none.
    let operands: Operands?
    let flags: [Flag]

    /// The words beside the flags.
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

    /// The most words that a command line may have; a shell's glob over a large directory stays below.
    static let maxOperands = 4096
}
