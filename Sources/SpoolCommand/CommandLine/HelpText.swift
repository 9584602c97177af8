/// The help of the program and of its commands, made from the tables that the parser uses.
enum HelpText {
    /// The width of the text in columns: that of an 80-column terminal, with a margin.
    private static let width = 78
    private static let indent = 26

    static let purpose = "spool keeps the media that you play, and fetches no byte twice."
    /// Remarks that hold for every command.
    static let notes = ["Sizes take the suffixes K, M, G and T, in powers of 1024."]
    static let exitCodes: [(code: ExitCode, meaning: String)] = [
        (.success, "success"), (.failure, "failure"), (.usage, "wrong usage"), (.unreachable, "origin unreachable"),
        (.inputOutput, "input or output failed"), (.signal(2), "interrupted by Ctrl-C"), (.signal(15), "ended by SIGTERM"),
    ]

    /// Returns the help of one command.
    static func command(_ syntax: CommandSyntax) -> String {
        var lines = [syntax.summary + ".", "", "Usage: spool \(syntax.name)" + usage(syntax), ""]
        for paragraph in syntax.discussion { lines += wrap(paragraph, indent: 0) + [""] }
        if !syntax.examples.isEmpty {
            lines.append(syntax.examples.count == 1 ? "Example:" : "Examples:")
            for example in syntax.examples { lines += ["  " + example.line] + wrap(example.effect, indent: 6) }
            lines.append("")
        }
        for group in groups(syntax) {
            lines.append("\(group.title):")
            for flag in group.flags { lines += entry("  " + spelling(flag, noLetter: "    "), explanation(flag)) }
            lines.append("")
        }
        return lines.dropLast().joined(separator: "\n") + "\n"
    }

    /// Returns the help of the program.
    static func program(_ commands: [CommandSyntax]) -> String {
        var lines = [purpose, "", "Usage: spool COMMAND …", ""]
        for chapter in chapters(commands) {
            lines.append("\(chapter.title):")
            for command in chapter.commands { lines += entry("  " + command.name, command.summary + ".") }
            lines.append("")
        }
        lines += ["'spool COMMAND --help' explains each, with examples; 'spool man COMMAND | man -l -' is the same as a page.", ""]
        lines += notes
        let codes = exitCodes.map { "\($0.code.rawValue) \($0.meaning)" }.joined(separator: ", ")
        return (lines + ["Exit codes: \(codes)."]).joined(separator: "\n") + "\n"
    }

    // MARK: Groups

    /// The commands by subject. The last subject has all others.
    private static let subjectsOfCommands: [(title: String, names: [String])] = [
        ("Play and fetch", ["serve", "play", "get", "preload", "download", "demo"]),
        ("Stored resources", ["ls", "stat", "pin", "unpin", "rm", "export", "import", "limits"]),
        ("A running server", ["top", "login"]), ("Care", ["doctor", "config", "verify", "rekey", "adopt"]),
    ]

    private static func chapters(_ commands: [CommandSyntax]) -> [(title: String, commands: [CommandSyntax])] {
        let known = subjectsOfCommands.map { subject in
            (subject.title, subject.names.compactMap { name in commands.first { $0.name == name } })
        }
        let names = Set(subjectsOfCommands.flatMap(\.names))
        return known + [("Help", commands.filter { !names.contains($0.name) })]
    }

    /// The flags that several commands have, by subject.
    private static let subjects: [(title: String, flags: [Flag])] = [
        ("Clients", ProxySettings.clients), ("Store", [CacheSettings.directory] + LimitFlags.all + [LimitFlags.maximumResource]),
        ("Sites", ProxySettings.sites), ("Fetching", CacheSettings.fetches),
        ("Downloads", DownloadFlags.all), ("Fields of requests to origins", HeaderSettings.all),
        ("URLs that name one resource", KeySettings.all),
        ("Settings and log", [ConfigurationPlaces.flag, ServeCommand.accessLog] + CacheSettings.logging + [.help]),
        ("Encryption", EncryptionSettings.all),
        ("For large servers", [ProxySettings.parent] + BucketSettings.all + [ServeCommand.drain, ServeCommand.loops]),
    ]

    /// Returns the visible flags of a command by subject. Its own flags come first.
    static func groups(_ syntax: CommandSyntax) -> [(title: String, flags: [Flag])] {
        let visible = syntax.flags.filter { !$0.isHidden }
        let known = subjects.map { subject in (subject.title, visible.filter { subject.flags.contains($0) }) }
        let shared = Set(known.flatMap { $0.1 })
        let own = visible.filter { !shared.contains($0) }
        // A command with few flags has one list.
        if visible.count <= 8 { return [("Flags", own + known.flatMap { $0.1 })] }
        return ([("Flags", own)] + known).filter { !$0.1.isEmpty }
    }

    // MARK: Lines

    private static func usage(_ syntax: CommandSyntax) -> String {
        let flags = syntax.flags.count > 1 ? " [flags]" : ""
        return flags + (syntax.operands.map { " \($0.usage)" } ?? "")
    }

    /// Returns the forms of a flag.
    ///
    /// - Parameter noLetter: The text in the place of a letter that a flag does not have.
    static func spelling(_ flag: Flag, noLetter: String = "") -> String {
        (flag.letter.map { "-\($0), " } ?? noLetter) + flag.spelling + (flag.placeholders.map { " \($0)" } ?? "")
    }

    static func explanation(_ flag: Flag) -> String { flag.help + (flag.environment.map { " [\($0)]" } ?? "") }

    /// Returns the part of an explanation before the first `;`, `:` or end of a sentence, for a
    /// shell's list.
    static func firstClause(of text: String) -> String {
        let ends = ["; ", ": ", ". "].compactMap { text.firstRange(of: $0)?.lowerBound }
        let clause = ends.min().map { text[..<$0] } ?? text[...]
        return String(clause.hasSuffix(".") ? clause.dropLast() : clause)
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
