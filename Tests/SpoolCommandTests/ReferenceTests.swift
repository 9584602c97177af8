import Foundation
import SpoolCommand
import Testing

/// The table of commands and flags, and the texts that are made from it.
@Suite(.timeLimit(.minutes(20)))
struct ReferenceTests {
    private let directory = Result { try ScratchDirectory() }

    @Test(arguments: Program.commands.map { $0.syntax.name })
    func `each example of a command is a valid command line`(name: String) throws {
        let command = try #require(Program.commands.first { $0.syntax.name == name })
        #expect(!command.syntax.examples.isEmpty)
        for example in command.syntax.examples {
            // The shell removes redirections and pipes.
            let words = example.line.prefix { $0 != ">" && $0 != "<" && $0 != "|" }.split(separator: " ").map(String.init)
            #expect(Array(words.prefix(2)) == ["spool", name])
            let arguments = try CommandLineParser.parse(words.dropFirst(2), command.syntax) { _ in nil }
            // A file of a user is not here.
            if !example.line.contains("@") { _ = try command.init(arguments) }
        }
    }

    @Test func `a flag that may be repeated is marked, and says so`() {
        for flag in Program.commands.flatMap({ $0.syntax.flags }) {
            #expect(flag.isRepeatable == flag.help.contains("may be repeated"), "\(flag.spelling)")
        }
    }

    /// groff reports each request that it does not understand.
    @Test func `groff formats every manual page without a warning`() throws {
        let directory = try directory.get()
        #expect(try SpoolProcess.run(["man", "--output", directory.url.path], in: directory).code == 0)
        let pages = try directory.names.filter { $0.hasSuffix(".1") }
        #expect(pages.count == Program.commands.count + 1)
        guard FileManager.default.isExecutableFile(atPath: "/usr/bin/groff") else { return }
        for page in pages {
            let process = Process(), errors = Pipe()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/groff")
            process.arguments = ["-ww", "-man", "-Tutf8", "-z", directory.path(page)]
            process.standardError = errors
            try process.run()
            let warnings = String(decoding: try errors.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
            process.waitUntilExit()
            #expect(process.terminationStatus == 0)
            #expect(warnings == "", "\(page)")
        }
    }

    @Test func `a manual page has the flags of the help`() throws {
        let directory = try directory.get()
        let page = try SpoolProcess.run(["man", "get"], in: directory).text
        let syntax = try #require(Program.commands.first { $0.syntax.name == "get" }).syntax
        for flag in syntax.flags where !flag.isHidden {
            #expect(page.contains(flag.spelling.replacingOccurrences(of: "-", with: "\\-")), "\(flag.spelling)")
        }
    }

    @Test(arguments: [
        ("servee", "serve"), ("gte", "get"), ("sl", "ls"), ("prelaod", "preload"), ("lits", nil), ("comp", "completions"), ("x", nil),
        ("", nil), ("nonsense", nil),
    ])
    func `the nearest word is suggested for a mistyped one`(word: String, nearest: String?) {
        #expect(Suggestion.nearest(to: word, among: Program.commands.map { $0.syntax.name }) == nearest)
    }

    @Test func `a mistyped command or flag gets a suggestion`() throws {
        let directory = try directory.get()
        #expect(try SpoolProcess.run(["vrify"], in: directory).errors.contains("did you mean 'verify'?"))
        #expect(try SpoolProcess.run(["serve", "--lisen", "x"], in: directory).errors.contains("did you mean '--listen'?"))
    }
}
