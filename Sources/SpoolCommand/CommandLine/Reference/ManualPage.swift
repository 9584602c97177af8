/// The manual pages of the program and of its commands, in the `man` macros of roff.
enum ManualPage {
    /// The name of a command's page, and its file.
    static func name(of syntax: CommandSyntax) -> String { "spool-\(syntax.name)" }

    /// Returns the page of one command.
    static func command(_ syntax: CommandSyntax) -> String {
        var page = Roff(title: name(of: syntax), section: 1)
        page.section("NAME", [Roff.plain("\(name(of: syntax)) - \(Self.lowerFirst(syntax.summary))")])
        let flags = syntax.flags.isEmpty ? "" : " [flags]"
        page.section("SYNOPSIS", [".B \(Roff.plain("spool \(syntax.name)"))"])
        page.text(flags + (syntax.operands.map { " \($0.usage)" } ?? ""))
        page.section("DESCRIPTION", [])
        page.paragraphs(syntax.discussion.isEmpty ? [syntax.summary + "."] : syntax.discussion)
        for group in HelpText.groups(syntax) {
            page.section(group.title.uppercased(), [])
            for flag in group.flags { page.item(HelpText.spelling(flag), HelpText.explanation(flag)) }
        }
        if !syntax.examples.isEmpty {
            page.section("EXAMPLES", [])
            for example in syntax.examples { page.item(example.line, example.effect) }
        }
        page.section("SEE ALSO", [".BR spool (1)"])
        return page.text
    }

    /// Returns the page of the program.
    static func program(_ commands: [CommandSyntax]) -> String {
        var page = Roff(title: "spool", section: 1)
        page.section("NAME", [Roff.plain("spool - a media cache between players and the network")])
        page.section("SYNOPSIS", [".B spool", ".I COMMAND", Roff.plain("[flags] …")])
        page.section("DESCRIPTION", [])
        page.paragraphs([HelpText.purpose] + HelpText.notes)
        page.section("COMMANDS", [])
        for syntax in commands { page.item("\(name(of: syntax))(1)", syntax.summary + ".") }
        page.section("EXIT STATUS", [])
        for (code, meaning) in HelpText.exitCodes { page.item("\(code.rawValue)", meaning) }
        page.section("SEE ALSO", [commands.map { ".BR \(Roff.plain(name(of: $0))) (1)" }.joined(separator: ",\n")])
        return page.text
    }

    private static func lowerFirst(_ text: String) -> String { text.prefix(1).lowercased() + text.dropFirst() }
}

/// A text in roff's `man` macros.
private struct Roff {
    private(set) var text: String

    init(title: String, section: Int) {
        // No date, so that the same sources always make the same page.
        text = ".TH \(Self.plain(title.uppercased())) \(section) \"\" \"spool \(VersionCommand.version)\" \"Spool\"\n.nh\n.ad l\n"
    }

    mutating func section(_ title: String, _ lines: [String]) {
        text += ".SH \"\(Self.plain(title))\"\n"
        for line in lines { text += line + "\n" }
    }

    mutating func paragraphs(_ paragraphs: [String]) {
        for paragraph in paragraphs { text += ".PP\n\(Self.plain(paragraph))\n" }
    }

    mutating func text(_ line: String) { text += Self.plain(line.trimmed) + "\n" }

    /// Adds a term with its explanation.
    mutating func item(_ term: String, _ explanation: String) {
        text += ".TP\n.B \(Self.plain(term))\n\(Self.plain(explanation))\n"
    }

    /// Returns text that roff prints as it is: special characters are escaped, and a first dot or
    /// quote starts no request.
    static func plain(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result += "\\e"
            case "-": result += "\\-"
            case "\"": result += "\\(dq"
            case "'": result += "\\(aq"
            case "`": result += "\\(ga"
            case "~": result += "\\(ti"
            case "^": result += "\\(ha"
            case "\u{20}"..."\u{7E}": result.unicodeScalars.append(scalar)
            default:
                let digits = String(scalar.value, radix: 16, uppercase: true)
                result += "\\[u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits + "]"
            }
        }
        return result.hasPrefix(".") ? "\\&" + result : result
    }
}

extension String {
    fileprivate var trimmed: String { String(drop { $0 == " " }) }
}
