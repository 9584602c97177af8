/// The help of the program and of its commands, made from the tables that the parser uses.
enum HelpText {
    /// The width of the text in columns: that of an 80-column terminal, with a margin.
    private static let width = 78
    private static let indent = 26

    /// Returns the help of one command.
    static func command(_ syntax: CommandSyntax) -> String {
        var lines = [syntax.summary + ".", "", "Usage: spool \(syntax.name)" + usage(syntax), ""]
        for paragraph in syntax.discussion { lines += wrap(paragraph, indent: 0) + [""] }
        lines.append("Flags:")
        for flag in syntax.flags where !flag.isHidden { lines += entry(spelling(flag), explanation(flag)) }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Returns the help of the program.
    static func program(_ commands: [CommandSyntax]) -> String {
        var lines = [
            "spool keeps the media that you play, and fetches no byte twice.", "",
            "Usage: spool COMMAND …", "", "Commands:",
        ]
        for command in commands { lines += entry("  " + command.name, command.summary + ".") }
        lines += ["", "'spool COMMAND --help' tells more about each.", ""]
        lines += [
            "Sizes take the suffixes K, M, G and T, in powers of 1024.",
            "Exit codes: 0 success, 1 failure, 64 wrong usage, 69 origin unreachable, 74 input or output failed.",
        ]
        return lines.joined(separator: "\n") + "\n"
    }

    private static func usage(_ syntax: CommandSyntax) -> String {
        let flags = syntax.flags.count > 1 ? " [flags]" : ""
        return flags + (syntax.operands.map { " \($0.usage)" } ?? "")
    }

    private static func spelling(_ flag: Flag) -> String {
        let letter = flag.letter.map { "-\($0), " } ?? "    "
        return "  " + letter + flag.spelling + (flag.placeholders.map { " \($0)" } ?? "")
    }

    private static func explanation(_ flag: Flag) -> String {
        flag.help + (flag.environment.map { " [\($0)]" } ?? "")
    }

    /// Returns a term with its explanation beside it, or below it when the term is long.
    private static func entry(_ term: String, _ text: String) -> [String] {
        var lines = wrap(text, indent: indent)
        if term.count < indent - 1 {
            let padding = String(repeating: " ", count: indent - term.count)
            lines[0] = term + padding + lines[0].dropFirst(indent)
            return lines
        }
        return [term] + lines
    }

    private static func wrap(_ text: String, indent: Int) -> [String] {
        let margin = String(repeating: " ", count: indent)
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            if !line.isEmpty && indent + line.count + 1 + word.count > width {
                lines.append(margin + line)
                line = ""
            }
            line += (line.isEmpty ? "" : " ") + word
        }
        return lines + [margin + line]
    }
}
