import Foundation
import SpoolCommand
import Testing

/// The help of the command line, and its answers to invalid arguments.
@Suite(.timeLimit(.minutes(20)))
struct UsageTests {
    private let directory = Result { try ScratchDirectory() }

    @Test(arguments: Program.commands.map { $0.syntax.name })
    func `every command has a help text`(command: String) throws {
        let directory = try directory.get()
        let outcome = try SpoolProcess.run([command, "--help"], in: directory)
        #expect(outcome.code == 0)
        #expect(outcome.text.contains("Usage: spool \(command)"))
        #expect(outcome.text.contains("--help"))
        #expect(outcome.errors.isEmpty)
        #expect(try SpoolProcess.run(["help", command], in: directory).text == outcome.text)
        #expect(try SpoolProcess.run(["--help"], in: directory).text.contains("  \(command) "))
    }

    @Test func `the help fits 80 columns`() throws {
        let text = try SpoolProcess.run(["serve", "--help"], in: directory.get()).text
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 80 })
    }

    @Test func `without a command the help goes to standard error`() throws {
        let outcome = try SpoolProcess.run([], in: directory.get())
        #expect(outcome.code == 64)
        #expect(outcome.output.isEmpty)
        #expect(outcome.errors.contains("Play and fetch:"))
    }

    @Test func `the version command prints one line`() throws {
        let outcome = try SpoolProcess.run(["version"], in: directory.get())
        #expect(outcome.code == 0)
        #expect(outcome.text.hasPrefix("spool "))
        #expect(outcome.text.filter { $0 == "\n" }.count == 1)
    }

    @Test(arguments: [("list", "ls"), ("remove", "rm"), ("delete", "rm"), ("status", "stat"), ("start", "serve")])
    func `words of other programs stand for commands`(word: String, command: String) throws {
        let help = try SpoolProcess.run([word, "--help"], in: directory.get())
        #expect(help.code == 0 && help.text.contains("Usage: spool \(command)"))
    }

    @Test func `-v shows the version, and stop names what stops a server`() throws {
        #expect(try SpoolProcess.run(["-v"], in: directory.get()).text.hasPrefix("spool "))
        let stop = try SpoolProcess.run(["stop"], in: directory.get())
        #expect(stop.code == 64 && stop.errors.contains("Ctrl-C"))
    }

    @Test func `the help lists every command once, by subject, and begins serve with its clients and store`() throws {
        let help = try SpoolProcess.run(["--help"], in: directory.get()).text
        for command in Program.commands.map({ $0.syntax.name }) {
            #expect(help.split(separator: "\n").count { $0.hasPrefix("  \(command) ") } == 1, "\(command)")
        }
        #expect(help.contains("130 interrupted"))
        let serve = try SpoolProcess.run(["serve", "--help"], in: directory.get()).text
        let places = ["\nClients:", "\nStore:", "--listen", "--quota", "--bucket"].map { serve.range(of: $0)?.lowerBound }
        #expect(places.allSatisfy { $0 != nil })
        #expect(try #require(serve.range(of: "--listen ADDRESS") ?? serve.range(of: "--listen")).lowerBound < #require(places[4]))
        #expect(try #require(places[0]) < #require(places[1]) && #require(places[1]) < #require(places[4]))
    }

    struct Mistake: CustomStringConvertible, Sendable {
        var words: [String]
        /// The text that the message must contain.
        var names: String
        var variables: [String: String] = [:]

        var description: String { words.joined(separator: " ") }
        /// The command of the help that the message refers to.
        var command: String { words.first.map { "spool \($0)" } ?? "spool" }
    }

    static let mistakes = [
        Mistake(words: ["serve", "--header", "User-Agent"], names: "'NAME: VALUE'"),
        Mistake(words: ["serve", "--header", "Range: bytes=0-1"], names: "Range"),
        Mistake(words: ["get", "http://a/", "--header", "A: b\r\nC: d"], names: "without control characters"),
        Mistake(words: ["get", "http://a/", "--header", "@/nowhere/fields"], names: "/nowhere/fields"),
        Mistake(words: ["play", "http://a/", "--header-for", "media.example.com"], names: "two values"),
        Mistake(words: ["serve", "--header-for", "http://media.example.com/film", "A: b"], names: "an origin such as"),
        Mistake(words: ["serve", "--cookies", "/nowhere/cookies.txt"], names: "/nowhere/cookies.txt"),
        Mistake(words: ["serve", "--nonsense"], names: "unknown flag --nonsense;"),
        Mistake(words: ["serve", "--connections-per-client", "0"], names: "--connections-per-client"),
        Mistake(words: ["serve", "--behind-proxy"], names: "--token @FILE"),
        Mistake(words: ["serve", "--behind-proxy", "0", "--token", "t"], names: "a number from 1 to 16"),
        Mistake(words: ["serve", "--behind-proxy", "--trusted-proxy", "balancer", "--token", "t"], names: "an address"),
        Mistake(words: ["serve", "--trusted-proxy", "10.0.0.1"], names: "--behind-proxy"),
        Mistake(words: ["serve", "-x"], names: "unknown flag -x;"),
        Mistake(words: ["play", "http://a/", "--fullscreen"], names: "unknown flag --fullscreen; a flag of the player comes after --;"),
        Mistake(words: ["play", "http://a/", "-f"], names: "unknown flag -f; a flag of the player comes after --;"),
        Mistake(words: ["serve", "--listen"], names: "--listen"),
        Mistake(words: ["serve", "--drop-query", "example.com"], names: "--drop-query"),
        Mistake(words: ["get", "http://a/", "--drop-query", "example.com:80=a"], names: "--drop-query"),
        Mistake(words: ["stat", "http://a/", "--drop-query", "example.com=a,,b"], names: "--drop-query"),
        Mistake(words: ["serve", "--same-hosts", "example.com"], names: "--same-hosts"),
        Mistake(words: ["serve", "--identity", "example.com=tag"], names: "--identity"),
        Mistake(words: ["serve", "--identity", "length"], names: "--identity"),
        Mistake(words: ["get", "http://a/", "--max-resource", "0"], names: "--max-resource"),
        Mistake(words: ["demo", "--max-resource", "0"], names: "--max-resource"),
        Mistake(words: ["get", "http://a/", "--identity", "length"], names: "--identity"),
        Mistake(words: ["demo", "--identity", "length"], names: "--identity"),
        Mistake(words: ["get", "http://a/", "--freshness", "often"], names: "--freshness"),
        Mistake(words: ["get", "http://a/", "--ca-file", "/nowhere/ca.pem"], names: "--ca-file"),
        Mistake(words: ["serve", "--same-hosts", "*.example.com,example.com"], names: "--same-hosts"),
        Mistake(words: ["serve", "--cache", "--verbose"], names: "--cache"),
        Mistake(words: ["serve", "--verbose=yes"], names: "--verbose"),
        Mistake(words: ["serve", "--listen", "here"], names: "--listen"),
        Mistake(words: ["serve", "--listen", "127.0.0.1:70000"], names: "--listen"),
        Mistake(words: ["serve", "--listen", "::1:80"], names: "--listen"),
        Mistake(words: ["serve", "--listen", "0.0.0.0:0"], names: "--token"),
        Mistake(words: ["serve", "--token", "a/b"], names: "--token"),
        Mistake(words: ["serve", "--policy", "all"], names: "--policy"),
        Mistake(words: ["serve", "--read-ahead", "1K"], names: "--read-ahead"),
        Mistake(words: ["serve", "--fetches-per-host", "0"], names: "--fetches-per-host"),
        Mistake(words: ["serve", "--fetches-per-host", "65"], names: "--fetches-per-host"),
        Mistake(words: ["serve", "--quota", "much"], names: "--quota"),
        Mistake(words: ["serve", "--quota", "99999999999G"], names: "--quota"),
        Mistake(words: ["serve", "--quota", "0"], names: "--quota"),
        Mistake(words: ["serve", "--max-age", "30"], names: "--max-age"),
        Mistake(words: ["serve", "--max-age", "0d"], names: "--max-age"),
        Mistake(words: ["serve", "--max-count", "0"], names: "--max-count"),
        Mistake(words: ["serve", "--min-free", "0"], names: "--min-free"),
        Mistake(words: ["serve", "--evict", "keep-heads=0"], names: "--evict"),
        Mistake(words: ["serve", "--origin", "example.com"], names: "--origin"),
        Mistake(words: ["get", "http://a/", "--cipher", "rot13", "--key-file", "k"], names: "--cipher"),
        Mistake(words: ["get", "http://a/", "--cipher", "aes-256-gcm"], names: "--key-file"),
        Mistake(words: ["rekey", "--key-file", "k"], names: "--new-key-file"),
        Mistake(words: ["rekey", "--new-key-file", "k", "--new-passphrase-file", "p"], names: "--new-key-file and --new-passphrase-file"),
        Mistake(words: ["ls", "--key-file", "k", "--passphrase-file", "p"], names: "--key-file and --passphrase-file"),
        Mistake(
            words: ["ls"], names: "SPOOL_KEY_FILE and SPOOL_PASSPHRASE", variables: ["SPOOL_KEY_FILE": "k", "SPOOL_PASSPHRASE": "p"]),
        Mistake(words: ["serve", "word"], names: "'word'"),
        Mistake(words: ["get"], names: "URL"),
        Mistake(words: ["get", "http://127.0.0.1/a", "--range", "9-5"], names: "--range"),
        Mistake(words: ["get", "http://127.0.0.1/a", "--range", "-0"], names: "--range"),
        Mistake(words: ["stat", "http://a/", "http://b/"], names: "http://b/"),
        Mistake(words: ["serve", "--pace-streams"], names: "'pace-streams' was removed"),
        Mistake(words: ["rm"], names: "--all"),
        Mistake(words: ["rm", "--all", "http://127.0.0.1/a"], names: "--all"),
        Mistake(words: ["rm", "--all", "--everything"], names: "--everything"),
        Mistake(words: ["play", "http://127.0.0.1/a", "--player", "browser"], names: "--player"),
        Mistake(words: ["serve"], names: "SPOOL_LISTEN", variables: ["SPOOL_LISTEN": "nowhere"]),
        Mistake(words: ["serve"], names: "SPOOL_QUOTA", variables: ["SPOOL_QUOTA": "0"]),
        Mistake(words: ["serve"], names: "SPOOL_TOKEN", variables: ["SPOOL_TOKEN": "a b"]),
    ]

    @Test(arguments: mistakes)
    func `an invalid argument is reported in one line that points to the help`(mistake: Mistake) throws {
        let outcome = try SpoolProcess.run(mistake.words, environment: mistake.variables, in: directory.get())
        #expect(outcome.code == 64)
        #expect(outcome.output.isEmpty)
        #expect(outcome.errors.filter { $0 == "\n" }.count == 1)
        #expect(outcome.errors.contains(mistake.names))
        #expect(outcome.errors.contains("unknown flag") == mistake.names.hasPrefix("unknown flag"), "\(outcome.errors)")
        #expect(outcome.errors.contains("'\(mistake.command) --help'"))
    }

    @Test func `an unknown command is reported`() throws {
        let outcome = try SpoolProcess.run(["nonsense"], in: directory.get())
        #expect(outcome.code == 64)
        #expect(outcome.errors.contains("'nonsense'") && outcome.errors.contains("'spool --help'"))
    }

    @Test func `an unsupported URL is reported as wrong usage`() throws {
        let outcome = try SpoolProcess.run(["get", "ftp://127.0.0.1/a", "-o", "-"], in: directory.get())
        #expect(outcome.code == 64)
        #expect(outcome.errors.contains("ftp://127.0.0.1/a"))
    }
}
