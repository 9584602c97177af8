/// The completion script for zsh: a file `_spool` in a directory of `fpath`, or sourced after
/// `compinit`.
enum ZshCompletion {
    static func script(_ commands: [CommandSyntax]) -> String {
        """
        #compdef spool
        # Completion of spool for zsh. In ~/.zshrc, after compinit: source <(spool completions zsh)
        # Offers stored URLs. `compadd` quotes their text.
        _spool_stored() {
            local -a names
            names=(${(f)"$(command spool ls --urls ${(Q)PREFIX} 2>/dev/null)"})
            compadd "$@" -a names
        }
        _spool() {
            local -a commands
            commands=(
        \(commands.map { "        \(quoted("\($0.name):\($0.summary)"))" }.joined(separator: "\n"))
            )
            if (( CURRENT == 2 )); then
                _describe -t commands 'command' commands
                return
            fi
            local command=$words[2]
            shift words
            (( CURRENT-- ))
            case $command in
        \(commands.map(arguments).joined(separator: "\n"))
            esac
        }
        if [[ $funcstack[1] == _spool ]]; then _spool "$@"; else compdef _spool spool; fi

        """
    }

    private static func arguments(_ syntax: CommandSyntax) -> String {
        var specs = syntax.flags.filter { !$0.isHidden }.flatMap(specs)
        if let operands = syntax.operands {
            specs.append(quoted("*:\(escaped(operands.usage)):\(action(operands.completion))"))
        }
        return "    \(syntax.name))\n        _arguments -s -S \\\n            " + specs.joined(separator: " \\\n            ") + " ;;"
    }

    /// One specification for each spelling of the flag.
    private static func specs(_ flag: Flag) -> [String] {
        let names = [flag.spelling] + (flag.letter.map { ["-\($0)"] } ?? [])
        let values = [flag.placeholder, flag.second].compactMap(\.self)
            .map { ":\(escaped($0)):\(action(flag.completion))" }.joined()
        return names.map { name in
            let others = flag.isRepeatable ? "*" : "(\(names.joined(separator: " ")))"
            let sign = flag.placeholder == nil ? "" : name.hasPrefix("--") && flag.second == nil ? "=" : ""
            return quoted("\(others)\(name)\(sign)[\(bracketed(HelpText.firstClause(of: flag.help)))]\(values)")
        }
    }

    private static func action(_ completion: Completion) -> String {
        switch completion {
        case .none: " "
        case .files: "_files"
        case .directories: "_files -/"
        case .stored: "_spool_stored"
        case .commands: "(\(Program.commandNames.joined(separator: " ")))"
        case .words(let list): "(\(list.joined(separator: " ")))"
        }
    }

    private static func escaped(_ text: String) -> String { text.replacing(":", with: "\\:") }

    private static func bracketed(_ text: String) -> String { text.replacing("[", with: "\\[").replacing("]", with: "\\]") }

    private static func quoted(_ text: String) -> String { "'" + text.replacing("'", with: "'\\''") + "'" }
}
