import Foundation
import SpoolJSON
import SpoolTesting
import Testing

/// `adopt`, on a store of its own and while a server has it.
@Suite(.timeLimit(.minutes(20)))
struct AdoptCommandTests {
    private static let fixtures = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Fixtures/adoption").path

    /// A copy of the stores, and optionally a server that has the cache.
    private final class Scene {
        let directory: ScratchDirectory
        private var server: SpoolProcess?

        init(withServer: Bool) throws {
            directory = try ScratchDirectory()
            try FileManager.default.copyItem(atPath: AdoptCommandTests.fixtures, toPath: directory.path("from"))
            guard withServer else { return }
            let server = try SpoolProcess(["serve", "--listen", "127.0.0.1:0", "--cache", directory.path("store")], in: directory)
            _ = try #require(server.readLine())
            self.server = server
        }

        deinit { server?.send(SIGKILL) }

        func run(_ words: String...) throws -> SpoolProcess.Outcome {
            try SpoolProcess.run(words, environment: ["SPOOL_CACHE": directory.path("store")], in: directory)
        }
    }

    @Test(arguments: [false, true])
    func `adopt takes a store, and its resources are read without their origin`(withServer: Bool) throws {
        let scene = try Scene(withServer: withServer)
        let adopted = try scene.run("adopt", scene.directory.path("from/files"))
        #expect(adopted.code == 1, "\(adopted.errors)")
        let lines = adopted.text.split(separator: "\n").map(String.init)
        #expect(lines.contains("took http://media.example/files/song.mp3 (3.9 KiB)"), "\(adopted.text)")
        #expect(lines.contains("left other.mp3: the mapping file does not name it"), "\(adopted.text)")
        #expect(lines.contains("failed http://media.example/files/missing.mp3: the file is missing"), "\(adopted.text)")
        #expect(lines.last?.hasPrefix("files: 2 taken (6.8 KiB), ") == true, "\(adopted.text)")
        let out = scene.directory.path("out.mp3")
        #expect(try scene.run("export", "http://media.example/files/song.mp3", out).code == 0)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: out))
        #expect(bytes == Data(OriginContent(seed: 51).bytes(at: 0, count: 4000)))
    }

    @Test(arguments: [false, true])
    func `adopt as JSON has an object for each resource`(withServer: Bool) throws {
        let scene = try Scene(withServer: withServer)
        let run = try scene.run(
            "adopt", "--json", "--dry-run", "--map", scene.directory.path("from/urls.txt"), scene.directory.path("from/gs"))
        #expect(run.code == 1, "\(run.errors)")
        let report = try #require(try JSONSerialization.jsonObject(with: Data(run.text.utf8)) as? [String: Any])
        #expect(report["format"] as? String == "GSPlayer" && report["dryRun"] as? Bool == true)
        #expect(report["taken"] as? Int == 2 && report["failed"] as? Int == 1 && report["bytes"] as? Int == 7000)
        let entries = try #require(report["entries"] as? [[String: Any]])
        #expect(entries.count == 5 && report["count"] as? Int == 5)
        let whole = try #require(entries.first { $0["url"] as? String == "http://media.example/gs/whole.mp4" })
        #expect(whole["outcome"] as? String == "taken" && whole["bytes"] as? Int == 5000 && whole["length"] as? Int == 5000)
        #expect(entries.contains { $0["url"] is NSNull && $0["outcome"] as? String == "left" && $0["reason"] is String })
        #expect(try scene.run("ls").text.hasPrefix("0 resources") || scene.run("ls", "http://media.example/").code == 1)
    }

    @Test(arguments: [false, true])
    func `adopt explains what is wrong with a directory`(withServer: Bool) throws {
        let scene = try Scene(withServer: withServer)
        let empty = scene.directory.path("from/empty")
        try FileManager.default.createDirectory(atPath: empty, withIntermediateDirectories: true)
        let none = try scene.run("adopt", empty)
        #expect(none.code != 0 && none.errors.contains("name its files in a mapping file"), "\(none.errors)")
        let missing = try scene.run("adopt", scene.directory.path("from/missing"))
        #expect(missing.code != 0 && missing.errors.contains("can't adopt \(scene.directory.path("from/missing"))"), "\(missing.errors)")
        try Data("bplist00".utf8).write(to: URL(fileURLWithPath: empty + "/KTVHTTPCache.archive"))
        let damaged = try scene.run("adopt", empty)
        #expect(
            damaged.code != 0 && damaged.errors.contains("damaged") && damaged.errors.contains("nothing was changed"), "\(damaged.errors)")
    }
}
