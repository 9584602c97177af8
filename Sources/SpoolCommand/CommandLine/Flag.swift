/// A flag of a command: its spelling, its meaning, and the variable that it defaults to.
///
/// The parser, `--help`, the manual pages and the completions of shells use the same table, so all
/// of them have the same flags.
package struct Flag: Hashable, Sendable {
    /// The long name without dashes, for example `listen`.
    package let name: String
    /// The letter after one dash, for flags that people type often.
    package let letter: Character?
    /// The name of the value in the help, or nil for a flag without a value.
    package let placeholder: String?
    /// The name of the second value, for a flag that takes two words.
    let second: String?
    /// The environment variable that the flag defaults to.
    let environment: String?
    /// The effect of the flag and its default. The help wraps the lines.
    package let help: String
    /// Values that a shell offers. One that ends with `=` is the beginning of a value.
    let words: [String]
    /// The value that the flag has when no value follows it, or nil for a flag that demands one.
    let usual: String?
    /// Whether each given value counts. Of another flag the last value counts.
    package private(set) var isRepeatable = false
    /// Whether the help omits the flag. Such flags are for tests and for other programs of the
    /// project.
    package private(set) var isHidden = false

    init(
        _ name: String, _ letter: Character? = nil, takes placeholder: String? = nil, second: String? = nil,
        environment: String? = nil, usual: String? = nil, words: [String] = [], help: String
    ) {
        self.name = name
        self.letter = letter
        self.placeholder = placeholder
        self.second = second
        self.environment = environment
        self.usual = usual
        self.help = help
        self.words = words
    }

    /// The flag with every given value counted.
    var repeatable: Flag { with { $0.isRepeatable = true } }

    /// The flag without a place in the help.
    var hidden: Flag { with { $0.isHidden = true } }

    private func with(_ change: (inout Flag) -> Void) -> Flag {
        var flag = self
        change(&flag)
        return flag
    }

    /// The spelling of the flag in messages.
    package var spelling: String { "--\(name)" }

    /// The names of its values, or nil for a flag without a value.
    var placeholders: String? { placeholder.map { (usual == nil ? $0 : "[\($0)]") + (second.map { " \($0)" } ?? "") } }
}

extension Flag {
    /// The flag that every command accepts.
    static let help = Flag("help", "h", help: "Show this text.")
    /// The flag of the commands whose result is one object.
    static let json = Flag("json", help: "Print one JSON object.")

    /// The settings of earlier builds, each with what to do instead.
    private static let removed = [
        "pace-streams": "stored segments come at full speed, and the player's own limit of bandwidth chooses the variant"
    ]

    /// The error for a setting that was removed, or nil for a name that no build had.
    static func removal(of name: some StringProtocol) -> String? {
        removed[String(name)].map { "'\(name)' was removed: \($0)" }
    }

    /// The values that a shell offers for the flag.
    var completion: Completion {
        if !words.isEmpty { return .words(words) }
        switch placeholder {
        case "FILE"?, "PATH"?: return .files
        case "DIR"?: return .directories
        default:
            let choices = placeholder?.split(separator: "|").map(String.init) ?? []
            return choices.count > 1 && choices.allSatisfy { $0 == $0.lowercased() } ? .words(choices) : .none
        }
    }
}

/// The values that a shell offers for a flag or an operand.
enum Completion: Hashable, Sendable {
    case none, files, directories
    /// The names of the program's commands.
    case commands
    /// The URLs of stored resources, which a shell gets from `spool ls --urls`.
    case stored
    case words([String])
}

/// The syntax of a command: its flags and its operands.
package struct CommandSyntax: Sendable {
    package let name: String
    /// One line for the list of commands.
    package let summary: String
    /// Paragraphs for the command's own help.
    let discussion: [String]
    /// The operands, or nil for a command without operands.
    let operands: Operands?
    package let flags: [Flag]
    /// Command lines for the help, which a test parses.
    package let examples: [Example]

    /// The words beside the flags, for example `URL…`.
    struct Operands: Sendable {
        let usage: String
        let count: ClosedRange<Int>
        /// The values that a shell offers.
        var completion = Completion.none
    }

    /// A command line, and its effect.
    package struct Example: Sendable {
        /// The words as a person types them, `spool` included.
        package let line: String
        let effect: String

        init(_ line: String, _ effect: String) {
            self.line = line
            self.effect = effect
        }
    }

    /// Creates a syntax.
    ///
    /// - Parameter isConfigurable: Whether files of settings have an effect.
    init(
        _ name: String, _ summary: String, discussion: [String] = [], operands: Operands? = nil, flags: [Flag], examples: [Example] = [],
        isConfigurable: Bool = true
    ) {
        self.name = name
        self.summary = summary
        self.discussion = discussion
        self.operands = operands
        let hasSettings = isConfigurable && flags.contains { ConfigurationFile.settings.contains($0) }
        self.flags = flags + (hasSettings ? [ConfigurationPlaces.flag] : []) + [.help]
        self.examples = examples
    }

    /// The largest number of operands. A shell's glob over a large directory stays below it.
    static let maxOperands = 4096
}
