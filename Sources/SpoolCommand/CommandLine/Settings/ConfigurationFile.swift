import SpoolCore
import SpoolLibc
import SpoolSystem

/// A file of settings: one `name = value` on each line, where the names are those of flags.
///
///     # A comment has its own line.
///     listen = 0.0.0.0:8080
///     quota = 100G
///     header = 'User-Agent: MyTV'
///     header = 'Referer: https://example.com/'
///     verbose = yes
///
/// Quotes around a value are optional. A flag without a value is `yes` or `no`. A flag that may be
/// repeated on the command line may be repeated here.
package struct ConfigurationFile: Sendable {
    /// A line with a setting.
    struct Entry: Sendable {
        let flag: Flag
        /// The words of the flag's value: none, one, or two.
        let words: [String]
        let line: Int
    }

    let path: String
    let entries: [Entry]

    /// The largest file that is read, in bytes. A file with every setting has about 4 KiB.
    private static let limitBytes = 256 << 10

    /// The flags that a file may set: those of a server, and the player of `spool play`. Flags that
    /// make a command do something else, such as `--all`, are not among them.
    static let settings: [Flag] = ServeCommand.settings + [PlayCommand.player]

    /// Reads a file.
    ///
    /// - Throws: `SystemError` when the file cannot be read, and `UsageError` when a line is
    ///   invalid. The message names the file and the line.
    static func read(_ path: String, home: String?) throws -> ConfigurationFile {
        let bytes = try POSIXFileSystem().contents(of: path, limit: limitBytes + 1)
        guard bytes.count <= limitBytes else { throw UsageError("\(path) is longer than \(limitBytes) bytes") }
        return try ConfigurationFile(path: path, text: String(decoding: bytes, as: UTF8.self), home: home)
    }

    /// Parses the text of a file.
    ///
    /// - Parameter home: The directory that `~` stands for.
    package init(path: String, text: String, home: String? = nil) throws(UsageError) {
        self.path = path
        var entries: [Entry] = []
        var number = 0
        // One character more may be at the beginning: the mark of UTF-8 that some editors write.
        let text = text.hasPrefix("\u{FEFF}") ? text.dropFirst() : text[...]
        for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            number += 1
            let line = line.trimming(\.isWhitespace)
            if line.isEmpty || line.hasPrefix("#") || line.hasPrefix(";") { continue }
            do throws(Mistake) {
                if let entry = try Self.entry(line, number, home) { entries.append(entry) }
            } catch {
                throw UsageError("\(path):\(number): \(error.what)", see: "spool help config")
            }
        }
        self.entries = entries
    }

    private struct Mistake: Error {
        let what: String
    }

    /// Parses a line.
    ///
    /// - Returns: The setting, or nil for a flag that is set to `no`.
    private static func entry(_ line: Substring, _ number: Int, _ home: String?) throws(Mistake) -> Entry? {
        guard let equals = line.firstIndex(of: "=") else { throw Mistake(what: "a setting is 'name = value'") }
        let name = String(line[..<equals].trimming(\.isWhitespace))
        let value = unquoted(line[line.index(after: equals)...].trimming(\.isWhitespace))
        guard let flag = settings.first(where: { $0.name == name }) else {
            throw Mistake(
                what: Flag.removal(of: name) ?? "there is no setting '\(name)'" + Suggestion.note(for: name, among: settings.map(\.name)))
        }
        guard !value.unicodeScalars.contains(where: \.isControl) else { throw Mistake(what: "'\(name)' has a control character") }
        guard flag.placeholder != nil else { return try isOn(value, name) ? Entry(flag: flag, words: [""], line: number) : nil }
        guard !value.isEmpty else { throw Mistake(what: "'\(name)' has no value; it is \(flag.placeholders ?? "")") }
        guard flag.second != nil else { return Entry(flag: flag, words: [try absolute(value, flag, home)], line: number) }
        guard let space = value.firstIndex(where: \.isWhitespace) else {
            throw Mistake(what: "'\(name)' needs two values: \(flag.placeholders ?? "")")
        }
        let second = try absolute(unquoted(value[space...].trimming(\.isWhitespace)), flag, home)
        return Entry(flag: flag, words: [String(value[..<space]), second], line: number)
    }

    private static func isOn(_ value: String, _ name: String) throws(Mistake) -> Bool {
        switch value.lowercased() {
        case "yes", "true", "on": return true
        case "no", "false", "off": return false
        default: throw Mistake(what: "'\(name)' is 'yes' or 'no', not '\(value)'")
        }
    }

    private static func unquoted(_ value: Substring) -> String {
        guard let quote = value.first, quote == "'" || quote == "\"", value.count >= 2, value.last == quote else { return String(value) }
        return String(value.dropFirst().dropLast())
    }

    /// Returns the value with `~/` replaced. A relative path would depend on the directory in which
    /// the command happens to run, so it is refused.
    private static func absolute(_ value: String, _ flag: Flag, _ home: String?) throws(Mistake) -> String {
        let isSecret = value.hasPrefix("@") && flag.isRead
        // '-' is standard output.
        guard flag.completion == .files || flag.completion == .directories || isSecret, value != "-" else { return value }
        let path = isSecret ? String(value.dropFirst()) : value
        let sign = isSecret ? "@" : ""
        if path.hasPrefix("~/"), let home { return sign + home + path.dropFirst() }
        guard path.hasPrefix("/") else { throw Mistake(what: "'\(flag.name)' needs a path that begins with '/' or '~/', not '\(path)'") }
        return value
    }
}

extension Flag {
    /// Whether `@FILE` as its value means the content of a file.
    fileprivate var isRead: Bool {
        [ProxySettings.token, ProxySettings.parent, HeaderSettings.header, HeaderSettings.headerFor].contains(self)
    }
}
