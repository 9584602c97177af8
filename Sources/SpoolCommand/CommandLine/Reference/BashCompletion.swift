/// The completion script for bash, from version 3.2 on.
///
/// Bash splits `--flag=value` into three words at the equals sign, so the script looks for a flag
/// before the sign too, and joins the words of a URL again. Lists are separated by line ends,
/// because names of files may have spaces.
enum BashCompletion {
    static func script(_ commands: [CommandSyntax]) -> String {
        """
        # Completion of spool for bash. In ~/.bashrc: source <(spool completions bash)
        \(stored)
        _spool() {
            local IFS=$'\\n' cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} offer= kind=
            COMPREPLY=()
            if [[ $cur == '=' ]]; then
                cur=
            elif [[ $prev == '=' ]]; then
                prev=${COMP_WORDS[COMP_CWORD-2]}
            fi
            if ((COMP_CWORD == 1)); then
                offer=\(words(commands.map(\.name) + ["--help", "--version"]))
            else
                case "$command $prev" in
        \(commands.flatMap(valueCases).joined(separator: "\n"))
                *)
                    case "$command" in
        \(commands.map(wordCase).joined(separator: "\n"))
                    esac
                    if [[ $cur == -* ]]; then kind=; else offer=$operands; fi ;;
                esac
            fi
            case $kind in
            files) COMPREPLY=($(compgen -f -- "$cur")); compopt -o filenames 2>/dev/null ;;
            stored) _spool_stored ;;
            directories) COMPREPLY=($(compgen -d -- "$cur")); compopt -o filenames 2>/dev/null ;;
            *) COMPREPLY=($(compgen -W "$offer" -- "$cur")) ;;
            esac
            if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then compopt -o nospace 2>/dev/null; fi
        }
        complete -F _spool spool

        """
        .replacing("local IFS", with: "local operands= IFS")
    }

    /// Offers stored URLs. Their text comes from origins and may contain any character, so the shell
    /// expands none of it: `compgen -W` would run a command in it.
    private static let stored = #"""
        _spool_stored() {
            local typed=${COMP_WORDS[COMP_CWORD]} before= plain name word i=$COMP_CWORD count=0
            # Bash splits the URL at colons and equals signs, and replaces the part behind the last one.
            if [[ -n $typed && -z ${typed//[:=]/} ]]; then before=$typed typed=; fi
            while ((i > 2)) && [[ $before == [:=]* || ${COMP_WORDS[i-1]} == [:=]* ]]; do
                ((i--))
                before=${COMP_WORDS[i]}$before
            done
            plain=$before$typed
            plain=${plain//\\/} before=${before//\\/}
            plain=${plain#[\'\"]}
            # A person reads at most 200 of them.
            while ((count < 200)) && IFS= read -r name; do
                [[ $name == "$plain"* && $name != "$before" ]] || continue
                if [[ $typed == [\'\"]* ]]; then
                    # Inside quotes, only text without a meaning there is safe.
                    [[ $name == *[\'\"\$\`\\!]* ]] && continue
                    word=$name
                else
                    printf -v word %q "${name#"$before"}"
                fi
                COMPREPLY[count++]=$word
            done < <("${COMP_WORDS[0]}" ls --urls ${plain:+"$plain"} 2>/dev/null)
        }
        """#

    /// The cases of the flags that take a value, where the word before the cursor is such a flag.
    private static func valueCases(_ syntax: CommandSyntax) -> [String] {
        syntax.flags.filter { $0.placeholder != nil && !$0.isHidden }.map { flag in
            let names = ([flag.spelling] + (flag.letter.map { ["-\($0)"] } ?? [])).map { "'\(syntax.name) \($0)'" }
            return "        \(names.joined(separator: "|"))) \(assignment("offer", flag.completion)) ;;"
        }
    }

    /// The case of a command, for a word that is a flag or an operand.
    private static func wordCase(_ syntax: CommandSyntax) -> String {
        let flags = syntax.flags.filter { !$0.isHidden }.map(\.spelling)
        let operands = syntax.operands.map { assignment("operands", $0.completion) } ?? ":"
        return "            \(syntax.name)) offer=\(words(flags)); \(operands) ;;"
    }

    private static func assignment(_ name: String, _ completion: Completion) -> String {
        switch completion {
        case .none: ":"
        case .files: "kind=files"
        case .directories: "kind=directories"
        case .stored: "kind=stored"
        case .commands: "\(name)=\(words(Program.commandNames))"
        case .words(let list): "\(name)=\(words(list))"
        }
    }

    private static func words(_ list: [String]) -> String { "$'\(list.joined(separator: "\\n"))'" }
}
