import Foundation
import SpoolCommand
import Testing

/// Files of settings, and their precedence below flags and variables.
@Suite(.timeLimit(.minutes(20)))
struct ConfigurationFileTests {
    private let directory = Result { try ScratchDirectory() }

    struct Mistake: CustomStringConvertible, Sendable {
        var text: String
        /// The text that the message must contain.
        var names: String

        var description: String { text }
    }

    @Test(arguments: [
        Mistake(text: "# first\n\nqota = 1G", names: ":3: there is no setting 'qota' (did you mean 'quota'?)"),
        Mistake(text: "quota", names: ":1: a setting is 'name = value'"),
        Mistake(text: "quota =", names: ":1: 'quota' has no value"),
        Mistake(text: "verbose = perhaps", names: "'yes' or 'no'"),
        Mistake(text: "header-for = host", names: "two values"),
        Mistake(text: "cache = media", names: "begins with '/' or '~/'"),
        Mistake(text: "token = @secret", names: "begins with '/' or '~/'"),
        Mistake(text: "parent = @secret", names: "begins with '/' or '~/'"),
        Mistake(text: "header-for = https://a.example @fields", names: "begins with '/' or '~/'"),
        Mistake(text: "unix-socket = front.sock", names: "begins with '/' or '~/'"),
        Mistake(text: "origin = https://a\u{1B}[2J", names: "control character"),
        Mistake(text: "pace-streams = no", names: ":1: 'pace-streams' was removed: stored segments come at full speed"),
        Mistake(text: "all = yes", names: "no setting 'all'"),
        Mistake(text: "json = yes", names: "no setting 'json'"),
        Mistake(text: "config = /other", names: "no setting 'config'"),
    ])
    func `a wrong line is reported with file and line`(mistake: Mistake) {
        #expect(throws: UsageError.self) { try ConfigurationFile(path: "/etc/spool.conf", text: mistake.text) }
        do { _ = try ConfigurationFile(path: "/etc/spool.conf", text: mistake.text) } catch {
            #expect(error.description.contains("/etc/spool.conf:") && error.description.contains(mistake.names), "\(error)")
        }
    }

    /// Runs `spool config --json` and returns value and source by name.
    private func settings(
        _ words: [String] = [], _ variables: [String: String] = [:]
    ) throws -> [String: (value: String, source: String, line: Int?)] {
        let outcome = try SpoolProcess.run(["config", "--json"] + words, environment: variables, in: directory.get())
        #expect(outcome.code == 0, "\(outcome.errors)")
        let rows = try #require(outcome.json as? [[String: Any]])
        return Dictionary(
            uniqueKeysWithValues: rows.map { row in
                (row["name"] as? String ?? "", (row["value"] as? String ?? "", row["source"] as? String ?? "", row["line"] as? Int))
            })
    }

    private func write(_ text: String, to path: String) throws {
        let url = try directory.get().url.appendingPathComponent(path)
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try text.write(to: url, atomically: true, encoding: .utf8)
    }

    /// Files on users' disks have these names. `pace-streams`, the only other one, was removed.
    @Test func `each setting of 3f0c9b1 is still a setting`() throws {
        let names = """
            listen token origin allow-host allow-origin allow-site allow-foreign-sites allow-private users connections-per-client parent \
            bucket bucket-region bucket-key-file cache key-file passphrase-file cipher quota max-age max-count min-free evict max-resource \
            read-ahead policy freshness identity header header-for cookies drop-query same-hosts patience ca-file http2 log-level log-json \
            verbose player
            """.split(separator: " ").map(String.init)
        let settings = try settings()
        #expect(names.filter { settings[$0] == nil } == [])
    }

    @Test func `a file may set every flag of a server`() throws {
        let syntax = try #require(Program.commands.first { $0.syntax.name == "serve" }).syntax
        let settings = try settings()
        #expect(syntax.flags.map(\.name).filter { settings[$0] == nil } == ["config", "help"])
    }

    @Test func `a file has the time, the loops, the log of requests and the downloads of a server`() throws {
        let directory = try directory.get()
        try write("drain = 5s\nloops = 2\naccess-log = -\ndownload-jobs = 3\n", to: ".config/spool/spool.conf")
        let found = try settings()
        #expect(["drain", "loops", "access-log", "download-jobs"].map { found[$0]?.value } == ["5s", "2", "-", "3"])
        #expect(found["download-room"]?.value == "32G" && found["connections-per-client"]?.value == "128")
        try write("drain = long", to: "wrong.conf")
        for command in ["serve", "config"] {
            let outcome = try SpoolProcess.run([command, "--config", directory.path("wrong.conf")], in: directory)
            #expect(outcome.code == 64 && outcome.errors.contains("wrong.conf:1: 'drain' can't be 'long'"), "\(outcome.errors)")
        }
    }

    @Test func `a flag is stronger than a variable, that than a file, and that than the default`() throws {
        try write("quota = 10G\nmax-age = 7d\r\nmin-free = '1G'\nread-ahead=2M", to: ".config/spool/spool.conf")
        let found = try settings(["--quota", "30G"], ["SPOOL_QUOTA": "20G", "SPOOL_MAX_AGE": "9d"])
        #expect(found["quota"]?.value == "30G" && found["quota"]?.source == "flag")
        #expect(found["max-age"]?.value == "9d" && found["max-age"]?.source == "environment")
        #expect(found["min-free"]?.value == "1G" && found["min-free"]?.source == "file" && found["min-free"]?.line == 3)
        #expect(found["read-ahead"]?.value == "2M")
        #expect(found["policy"]?.value == "while-playing" && found["policy"]?.source == "default")
    }

    @Test func `the file of the user is in XDG_CONFIG_HOME, and another one can be named`() throws {
        let directory = try directory.get()
        try write("quota = 1G", to: "xdg/spool/spool.conf")
        try write("quota = 2G", to: "other.conf")
        let xdg = ["XDG_CONFIG_HOME": directory.path("xdg")]
        #expect(try settings([], xdg)["quota"]?.value == "1G")
        #expect(try settings(["--config", directory.path("other.conf")], xdg)["quota"]?.value == "2G")
        #expect(try settings([], xdg.merging(["SPOOL_CONFIG": directory.path("other.conf")]) { $1 })["quota"]?.value == "2G")
        let missing = try SpoolProcess.run(["ls", "--config", directory.path("nowhere")], in: directory)
        #expect(missing.code == 64 && missing.errors.contains("nowhere"))
    }

    @Test func `a value that no command accepts is reported with file and line by the command`() throws {
        let directory = try directory.get()
        try write("\nquota = much", to: "a.conf")
        let outcome = try SpoolProcess.run(["serve", "--config", directory.path("a.conf")], in: directory)
        #expect(outcome.code == 64)
        #expect(outcome.errors.contains("a.conf:2: 'quota' can't be 'much'"), "\(outcome.errors)")
    }

    @Test func `secrets are not shown`() throws {
        try write("token = my-secret\nheader = 'Authorization: my-secret'\nheader-for = a.example 'X: my-secret'", to: "a.conf")
        let directory = try directory.get()
        for flags in [[], ["--json"]] {
            let outcome = try SpoolProcess.run(["config", "--config", directory.path("a.conf")] + flags, in: directory)
            #expect(outcome.code == 0 && outcome.text.contains("(not shown)"))
            #expect(!outcome.text.contains("my-secret"))
        }
    }

    @Test func `commands take the store of the file, and the demo takes no settings`() throws {
        let directory = try directory.get()
        try write("cache = ~/media\npolicy = whole\nlisten = nowhere", to: ".config/spool/spool.conf")
        let listed = try SpoolProcess.run(["ls"], in: directory)
        #expect(listed.errors.contains(directory.path("media")), "a setting of another command has no effect: \(listed.errors)")
        #expect(try SpoolProcess.run(["serve"], in: directory).errors.contains("spool.conf:3: 'listen'"))
        #expect(try SpoolProcess.run(["demo", "--config", "x"], in: directory).errors.contains("unknown flag --config"))
    }

    @Test func `a key of the environment replaces the one of the file`() throws {
        let directory = try directory.get()
        try write("key-file = ~/key", to: ".config/spool/spool.conf")
        let outcome = try SpoolProcess.run(["ls"], environment: ["SPOOL_PASSPHRASE": "a passphrase"], in: directory)
        #expect(outcome.errors.hasPrefix("spool: there is no store at "), "\(outcome.errors)")
    }
}
