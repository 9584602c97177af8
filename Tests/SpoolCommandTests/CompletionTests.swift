import Foundation
import Testing

/// The completion scripts in the shells that they are for.
@Suite(.timeLimit(.minutes(20)))
struct CompletionTests {
    struct Case: CustomStringConvertible, Sendable {
        /// The words of the command line. The cursor is at the end of the last one.
        var words: [String]
        var offers: [String]

        var description: String { words.joined(separator: " ") }
    }

    static let cases = [
        Case(words: ["spool", "ser"], offers: ["serve"]),
        Case(words: ["spool", "help", "st"], offers: ["stat"]),
        Case(words: ["spool", "man", "ver"], offers: ["verify", "version"]),
        Case(words: ["spool", "get", "--rea"], offers: ["--read-ahead"]),
        Case(words: ["spool", "serve", "--policy", ""], offers: ["read-ahead=", "while-playing", "whole"]),
        Case(words: ["spool", "serve", "--users", "m"], offers: ["many"]),
        Case(words: ["spool", "completions", ""], offers: ["bash", "fish", "zsh"]),
        Case(words: ["spool", "get", "-o", "fi"], offers: ["fi le"]),
        Case(words: ["spool", "import", "fi"], offers: ["fi le"]),
        Case(words: ["spool", "ls", "--nothing"], offers: []),
    ]

    private let directory = Result { try ScratchDirectory() }

    @Test(arguments: cases)
    func `bash completes commands, flags, values and files`(case: Case) throws {
        let call = "source ./script; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($#-1)); _spool; printf '%s\\n' \"${COMPREPLY[@]}\""
        let offers = try #require(try run("bash", ["--norc", "-c", call, "bash"] + `case`.words))
        #expect(offers == `case`.offers)
    }

    /// In bash, `--policy=whole` is three words.
    @Test func `bash completes a value behind an equals sign`() throws {
        let call = "source ./script; COMP_WORDS=(spool serve --policy = who); COMP_CWORD=4; _spool; echo \"${COMPREPLY[@]}\""
        #expect(try run("bash", ["--norc", "-c", call]) == ["whole"])
    }

    /// zsh completes at its prompt only, so this test runs the function with a completion system
    /// that prints the specifications.
    @Test func `zsh accepts the script, and gets a specification for each flag`() throws {
        let call = """
            compdef() { :; }; _arguments() { print -rl -- "$@"; }; source ./script; words=(spool get ''); CURRENT=3; _spool
            """
        guard let specs = try run("zsh", ["-f", "-c", call], shell: "zsh") else { return }
        #expect(specs.contains { $0.contains("--read-ahead=[How far fetches run ahead of the player while it reads]:BYTES:") })
        #expect(specs.contains { $0.hasPrefix("(--output -o)-o[") && $0.hasSuffix(":FILE:_files") })
    }

    @Test(arguments: cases)
    func `fish completes commands, flags, values and files`(case: Case) throws {
        let line = `case`.words.joined(separator: " ")
        guard let offers = try run("fish", ["--no-config", "-c", "source ./script; complete -C $argv[1]", line], shell: "fish") else {
            return
        }
        // An offer is a word, a tab and its explanation.
        #expect(offers.map { String($0.prefix { $0 != "\t" }) } == `case`.offers)
    }

    /// Resources with names that a shell would run, split or expand.
    private static let hostile = ["$(touch$IFS./pwned)", "';touch$IFS./pwned;'", "a&b=1:c=*!$HOME(x)"].map { "https://media.example/\($0)" }

    @Test(arguments: ["bash", "zsh", "fish"])
    func `stored URLs are completed, and no text in them is run`(shell: String) throws {
        let directory = try directory.get()
        try Data("film".utf8).write(to: directory.url.appendingPathComponent("film"))
        for url in Self.hostile + ["https://other.example/film"] {
            let stored = try SpoolProcess.run(["import", "--cache", directory.path("store"), directory.path("film"), url], in: directory)
            #expect(stored.code == 0, "\(stored.errors)")
        }
        let program: URL = try #require(SpoolProcess.executable)
        let call =
            switch shell {
            case "bash":
                // Evaluates each offer, behind the words that are typed already.
                """
                source ./script; COMP_WORDS=(spool stat https : //media.ex); COMP_CWORD=4; _spool
                for word in "${COMPREPLY[@]}"; do eval "printf '%s\\n' https:$word"; done
                """
            case "zsh":
                "compdef() { :; }; compadd() { print -rl -- $names; }; source ./script; PREFIX=https://media.ex; _spool_stored"
            default: "source ./script; complete -C 'spool stat https://media.ex'"
            }
        let variables = [
            "SPOOL_CACHE": directory.path("store"), "PATH": program.deletingLastPathComponent().path + ":/usr/bin:/bin",
        ]
        let words = shell == "fish" ? ["--no-config", "-c", call] : ["-c", call]
        guard let offers = try run(shell, words, shell: shell, variables) else { return }
        #expect(offers == Self.hostile.sorted())
        #expect(try !directory.names.contains("pwned"))
    }

    @Test func `another shell is refused with the ones that there are`() throws {
        let outcome = try SpoolProcess.run(["completions", "tcsh"], in: directory.get())
        #expect(outcome.code == 64)
        #expect(outcome.errors.contains("bash, zsh and fish"))
    }

    /// Runs a shell beside the script and a file with a space in its name.
    ///
    /// - Returns: The sorted lines of the output, or nil where the shell is not installed. Fresh
    ///   machines have bash only.
    private func run(
        _ program: String, _ arguments: [String], shell: String = "bash", _ variables: [String: String] = [:]
    ) throws -> [String]? {
        let directory = try directory.get()
        guard let executable = ["/bin", "/usr/bin"].map({ "\($0)/\(program)" }).first(where: FileManager.default.isExecutableFile)
        else { return nil }
        try SpoolProcess.run(["completions", shell], in: directory).output.write(to: directory.url.appendingPathComponent("script"))
        try Data().write(to: directory.url.appendingPathComponent("fi le"))
        let process = Process(), output = Pipe()
        process.executableURL = URL(fileURLWithPath: executable)
        process.arguments = arguments
        process.currentDirectoryURL = directory.url
        process.environment = ["HOME": directory.url.path, "LANG": "C.UTF-8", "PATH": "/usr/bin:/bin"].merging(variables) { $1 }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        try process.run()
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(program)")
        return text.split(separator: "\n").map(String.init).sorted()
    }
}
