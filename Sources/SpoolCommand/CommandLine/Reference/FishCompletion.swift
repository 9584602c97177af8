/// The completion script for fish.
enum FishCompletion {
    static func script(_ commands: [CommandSyntax]) -> String {
        var lines = [
            "# Completion of spool for fish. Put it into ~/.config/fish/completions/spool.fish.",
            "function __spool_command",
            "    set -l words (commandline -opc)",
            "    test (count $words) -ge 2; and test $words[2] = $argv[1]",
            "end",
            "function __spool_no_command",
            "    test (count (commandline -opc)) -eq 1",
            "end",
            "complete -c spool -e",
            "complete -c spool -f",
        ]
        for syntax in commands {
            lines.append("complete -c spool -n __spool_no_command -a \(syntax.name) -d \(quoted(syntax.summary))")
            let condition = "complete -c spool -n '__spool_command \(syntax.name)'"
            if let operands = syntax.operands?.completion, operands != .none { lines.append(condition + values(operands)) }
            for flag in syntax.flags where !flag.isHidden {
                let letter = flag.letter.map { " -s \($0)" } ?? ""
                let value = flag.placeholder == nil ? "" : " -r" + values(flag.completion)
                lines.append("\(condition) -l \(flag.name)\(letter)\(value) -d \(quoted(HelpText.firstClause(of: flag.help)))")
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func values(_ completion: Completion) -> String {
        switch completion {
        case .none: " -f"
        case .files: " -F"
        case .directories: " -f -a '(__fish_complete_directories)'"
        case .stored: " -f -a '(command spool ls --urls (commandline -ct | string unescape) 2>/dev/null)'"
        case .commands: " -f -a \(quoted(Program.commandNames.joined(separator: " ")))"
        case .words(let list): " -f -a \(quoted(list.joined(separator: " ")))"
        }
    }

    /// Returns the text in single quotes, where a backslash escapes a quote.
    private static func quoted(_ text: String) -> String {
        "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
    }
}
