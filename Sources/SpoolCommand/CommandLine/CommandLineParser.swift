/// Parses the words of one command by its syntax.
///
/// The forms are `--flag value`, `--flag=value` and `-f value`, with flags and operands in any
/// order. `--` ends the flags. Of a repeated flag the last value counts. A value may begin with a
/// dash only when it is `-` itself or a negative number.
package struct CommandLineParser {
    private var rest: ArraySlice<String>
    private var found: Arguments
    private var syntax: CommandSyntax { found.syntax }

    /// Parses `words`, which do not include the name of the command.
    ///
    /// The command line has precedence over the environment, and that over the files.
    ///
    /// - Parameters:
    ///   - files: Returns the files of settings, the most important one first. Its parameter is the
    ///     path that `--config` names, or nil.
    ///   - environment: Returns the value of an environment variable, for flags that are not given.
    package static func parse(
        _ words: ArraySlice<String>, _ syntax: CommandSyntax,
        files: (String?) throws(UsageError) -> [ConfigurationFile] = { _ in [] }, environment: (String) -> String?
    ) throws(UsageError) -> Arguments {
        var parser = CommandLineParser(rest: words, found: Arguments(syntax))
        try parser.readWords()
        parser.readEnvironment(environment)
        // The help of a command is there whatever the files contain.
        if syntax.flags.contains(ConfigurationPlaces.flag), !parser.found.has(.help) {
            for file in try files(parser.found[ConfigurationPlaces.flag]) { parser.read(file) }
        }
        if !parser.found.has(.help) { try parser.checkOperands() }
        return parser.found
    }

    /// Reads the same command line again, with the files as they are now.
    fileprivate static func again(_ arguments: Arguments) throws(UsageError) -> Arguments {
        var parser = CommandLineParser(rest: [], found: arguments.withoutFiles)
        for file in try ConfigurationPlaces.read(arguments[ConfigurationPlaces.flag]) { parser.read(file) }
        return parser.found
    }

    private mutating func readWords() throws(UsageError) {
        while let word = rest.popFirst() {
            if word == "--" {
                found.operands += rest
                rest = []
            } else if word.hasPrefix("--") {
                try readLong(word.dropFirst(2))
            } else if word.hasPrefix("-") && word != "-" {
                try readShort(word)
            } else {
                found.operands.append(word)
            }
        }
    }

    /// The advice about a flag of another program.
    private var noteOfDashes: String { syntax.operands?.usage.contains("-- ") == true ? "; a flag of the player comes after --" : "" }

    /// Parses `name` or `name=value`.
    private mutating func readLong(_ word: Substring) throws(UsageError) {
        let name = word.prefix { $0 != "=" }
        guard let flag = syntax.flags.first(where: { $0.name == name }) else {
            if let removal = Flag.removal(of: name) { throw UsageError(removal, command: syntax.name) }
            let known = syntax.flags.filter { !$0.isHidden }.map(\.name)
            let note = Suggestion.note(for: String(name), among: known, prefix: "--") + noteOfDashes
            throw UsageError("unknown flag --\(name)\(note)", command: syntax.name)
        }
        let value = name.endIndex == word.endIndex ? nil : String(word[word.index(after: name.endIndex)...])
        if flag.placeholder == nil && value != nil {
            throw UsageError("flag \(flag.spelling) takes no value", command: syntax.name)
        }
        try record(flag, inline: value)
    }

    /// Parses `-f`, or `-fVALUE` for a flag that takes a value.
    private mutating func readShort(_ word: String) throws(UsageError) {
        let letter = word[word.index(after: word.startIndex)]
        let value = word.dropFirst(2)
        guard let flag = syntax.flags.first(where: { $0.letter == letter }), flag.placeholder != nil || value.isEmpty else {
            throw UsageError("unknown flag \(word)\(noteOfDashes)", command: syntax.name)
        }
        try record(flag, inline: value.isEmpty ? nil : String(value))
    }

    private mutating func record(_ flag: Flag, inline: String?) throws(UsageError) {
        guard flag.placeholder != nil else { return found.append("", to: flag) }
        let first = if let inline { inline } else { try value(of: flag) }
        found.append(first, to: flag)
        if flag.second != nil { found.append(try value(of: flag), to: flag) }
    }

    /// Removes and returns the next word, which is a value of `flag`. Of a flag that needs none,
    /// only a number is one.
    private mutating func value(of flag: Flag) throws(UsageError) -> String {
        if let usual = flag.usual, rest.first?.allSatisfy(\.isNumber) != true { return usual }
        guard let next = rest.first, Self.isValue(next) else {
            let what = flag.second == nil ? "a value" : "two values"
            throw UsageError("flag \(flag.spelling) needs \(what): \(flag.spelling) \(flag.placeholders ?? "")", command: syntax.name)
        }
        rest.removeFirst()
        return next
    }

    private static func isValue(_ word: String) -> Bool {
        guard word.hasPrefix("-") else { return true }
        return word == "-" || word.dropFirst().first?.isNumber == true
    }

    /// Reads the flags that are not given from the environment. An empty variable counts as not
    /// set.
    private mutating func readEnvironment(_ environment: (String) -> String?) {
        for flag in syntax.flags where !found.has(flag) {
            guard let name = flag.environment, let value = environment(name), !value.isEmpty else { continue }
            found.append(value, to: flag, from: .variable(name))
        }
    }

    /// Takes the settings of a file that nothing more important sets. Settings of other commands
    /// are ignored.
    private mutating func read(_ file: ConfigurationFile) {
        let known = file.entries.filter { syntax.flags.contains($0.flag) && !found.has($0.flag) }
        for entry in known {
            let source = SettingSource.file(path: file.path, line: entry.line)
            for word in entry.words { found.append(word, to: entry.flag, from: source) }
        }
    }

    private func checkOperands() throws(UsageError) {
        let allowed = syntax.operands?.count ?? 0...0
        let usage = syntax.operands?.usage ?? ""
        if found.operands.count < allowed.lowerBound { throw UsageError("\(usage) is missing", command: syntax.name) }
        if found.operands.count > allowed.upperBound {
            throw UsageError("'\(found.operands[allowed.upperBound])' is one word too many", command: syntax.name)
        }
    }
}

/// The parsed words of a command line.
package struct Arguments {
    package let syntax: CommandSyntax
    /// The values by flag.
    private var byFlag: [String: [String]] = [:]
    /// The sources of the values, by flag.
    private var sources: [String: SettingSource] = [:]
    /// The words beside the flags, in order.
    fileprivate(set) var operands: [String] = []

    fileprivate init(_ syntax: CommandSyntax) { self.syntax = syntax }

    fileprivate mutating func append(_ value: String, to flag: Flag, from source: SettingSource = .commandLine) {
        byFlag[flag.name, default: []].append(value)
        sources[flag.name] = source
    }

    /// Returns the same arguments with the files of settings as they are now.
    func readAgain() throws(UsageError) -> Arguments { try CommandLineParser.again(self) }

    fileprivate var withoutFiles: Arguments {
        var arguments = self
        for case (let name, .file) in sources {
            arguments.byFlag[name] = nil
            arguments.sources[name] = nil
        }
        return arguments
    }

    /// Returns the names of the flags whose values differ, sorted.
    func differences(from other: Arguments) -> [String] {
        Set(byFlag.keys).union(other.byFlag.keys).filter { byFlag[$0] != other.byFlag[$0] }.sorted()
    }

    func has(_ flag: Flag) -> Bool { byFlag[flag.name] != nil }

    /// Whether the flag is on the command line itself, and not in the environment or a file.
    func isGiven(_ flag: Flag) -> Bool { source(of: flag) == .commandLine }

    /// The source of the flag's value, or nil without one.
    func source(of flag: Flag) -> SettingSource? { sources[flag.name] }

    /// The value that was given last, else that of the environment, else that of a file.
    subscript(flag: Flag) -> String? { byFlag[flag.name]?.last }

    /// All values of a repeatable flag. For a flag with two words, both words in turn.
    func all(_ flag: Flag) -> [String] { byFlag[flag.name] ?? [] }

    /// Returns the converted value of a flag, if there is one.
    ///
    /// - Throws: `UsageError` when `convert` returns nil. The message names the flag or the
    ///   variable and the `expected` form.
    func value<Value>(_ flag: Flag, expected: String, _ convert: (String) -> Value?) throws(UsageError) -> Value? {
        guard let text = self[flag] else { return nil }
        guard let value = convert(text) else { throw invalid(flag, "can't be '\(text)'; it is \(expected)") }
        return value
    }

    /// Returns the whole number of a flag, if there is one.
    func number(_ flag: Flag, in bounds: ClosedRange<Int>) throws(UsageError) -> Int? {
        try value(flag, expected: "a number from \(bounds.lowerBound) to \(bounds.upperBound)") { text in
            Int(text).flatMap { bounds.contains($0) ? $0 : nil }
        }
    }

    /// Returns the value that the word of a flag stands for, if there is a word.
    func choice<Value>(_ flag: Flag, among values: KeyValuePairs<String, Value>) throws(UsageError) -> Value? {
        let words = values.map(\.key)
        let expected = words.dropLast().joined(separator: ", ") + " or " + (words.last ?? "")
        return try value(flag, expected: expected) { word in values.first { $0.key == word }?.value }
    }

    /// Returns an error about the value of a flag, which names the flag, the variable, or the file
    /// and line of the value.
    func invalid(_ flag: Flag, _ what: String) -> UsageError {
        let subject =
            switch source(of: flag) {
            case .variable(let name)?: "the variable \(name)"
            case .file(let path, let line)?: "\(path):\(line): '\(flag.name)'"
            default: "flag \(flag.spelling)"
            }
        return UsageError("\(subject) \(what)", command: syntax.name)
    }
}

/// An invalid command line. The message is one line: what is wrong, and where to read on.
package struct UsageError: Error, CustomStringConvertible {
    package let description: String

    init(_ what: String, command: String? = nil) {
        let name = command.map { "spool \($0)" } ?? "spool"
        description = "\(name): \(what); see '\(name) --help'"
    }

    /// Creates an error that is not about one command.
    ///
    /// - Parameter help: The command that explains the matter.
    init(_ what: String, see help: String) {
        description = "spool: \(what); see '\(help)'"
    }
}
