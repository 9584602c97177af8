import Foundation
import SpoolCore
import SpoolTesting
import Testing

/// The limits that a store keeps: the commands that set them, and those that apply them.
@Suite(.timeLimit(.minutes(20)))
struct LimitsTests {
    private let directory: ScratchDirectory
    private var environment: [String: String] { ["SPOOL_CACHE": directory.path("store")] }

    init() throws { directory = try ScratchDirectory() }

    private func run(_ words: String..., setting variables: [String: String] = [:]) throws -> SpoolProcess.Outcome {
        try SpoolProcess.run(words, environment: environment.merging(variables) { $1 }, in: directory)
    }

    /// Runs a server, and returns its log.
    @discardableResult private func serve(_ words: String..., setting variables: [String: String] = [:]) throws -> String {
        let server = try SpoolProcess(
            ["serve", "--listen", "127.0.0.1:0"] + words, environment: environment.merging(variables) { $1 }, in: directory)
        #expect(server.readLine()?.hasPrefix("listening on") == true)
        server.send(SIGTERM)
        let end = try server.end()
        #expect(end.code == 0)
        return end.errors
    }

    private func limits() throws -> [String: String] {
        let lines = try run("limits").text.split(separator: "\n")
        return Dictionary(
            uniqueKeysWithValues: lines.map { line in
                let words = line.split(separator: " ", maxSplits: 1)
                return (String(words[0]), words[1].trimmingCharacters(in: .whitespaces))
            })
    }

    @Test func `a limit from serve's flags is kept by the store, and one from the environment is not`() throws {
        try serve("--quota", "20M", setting: ["SPOOL_MIN_FREE": "1M"])
        let kept = try limits()
        #expect(kept["quota"] == "20M")
        #expect(kept["min-free"] == "256M (default)")
        #expect(kept["evict"] == "lru (default)")
        // A limit from an earlier run stays, and the start of a server names it.
        #expect(try serve("--max-age", "30d").contains("set earlier: quota 20M;"))
        #expect(try serve("--quota", "20M").contains("set earlier: max-age 30d;"))
        #expect(try limits()["quota"] == "20M")
        #expect(try limits()["max-age"] == "30d")
    }

    @Test func `the limits command sets and resets limits, and refuses invalid ones`() throws {
        #expect(try run("limits", "--quota", "5G").code == 1)
        try serve()
        #expect(try run("limits", "--quota", "5G", "--evict", "keep-heads=2M").code == 0)
        #expect(try limits()["quota"] == "5G")
        #expect(try limits()["evict"] == "keep-heads=2M")
        #expect(try run("limits", "--quota", "default").code == 0)
        #expect(try limits()["quota"] == "8G (default)")
        #expect(try run("limits", "--quota", "0").code == 64)
        #expect(try run("serve", "--quota", "default").code == 64)
        #expect(try limits()["quota"] == "8G (default)")
    }

    @Test func `limits reach a running server at once, and one that was killed is no trouble`() throws {
        let server = try SpoolProcess(["serve", "--listen", "127.0.0.1:0", "--max-age", "9d"], environment: environment, in: directory)
        #expect(server.readLine()?.hasPrefix("listening on") == true)
        let set = try run("limits", "--quota", "20M", "--max-age", "30d")
        #expect(set.code == 0)
        // A flag of the server itself stays in effect, and the answer shows it.
        #expect(set.errors.contains("the settings were read again") && set.errors.contains("quota 20M"), "\(set.errors)")
        #expect(set.errors.contains("max-age 9d"), "\(set.errors)")
        server.send(SIGKILL)
        let end = try server.end()
        #expect(end.errors.contains("quota 20M"))
        let later = try run("limits", "--quota", "30M")
        #expect(later.code == 0 && later.errors.isEmpty, "\(later.errors)")
    }

    @Test func `a command without limits does not shrink a store that is over its quota`() throws {
        let origin = try RawOrigin()
        defer { origin.stop() }
        let urls = (1...4).map { origin.url("/song\($0).mp3") }
        for url in urls { origin.serve(VirtualResource(url: url, seed: 7, length: 3_000_000, contentType: "audio/mpeg")) }
        for url in urls.prefix(3) { #expect(try run("get", url, "-o", "-").output.count == 3_000_000) }
        #expect(try run("limits", "--quota", "1M").code == 0)
        #expect(try run("get", urls[3], "-o", "-").output.count == 3_000_000)
        let kept = try urls.filter { try run("stat", $0).code == 0 }
        #expect(kept.count >= 3, "\(kept)")
        // The server applies the stored limit.
        try serve()
        #expect(try limits()["quota"] == "1M")
    }

    @Test func `stored limits survive a damaged index`() throws {
        try serve("--quota", "20M")
        try Data("this is no index".utf8).write(to: URL(fileURLWithPath: directory.path("store/spool.sqlite")))
        try serve()
        #expect(try limits()["quota"] == "20M")
    }
}
