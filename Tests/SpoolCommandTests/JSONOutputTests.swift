import Foundation
import SpoolCore
import SpoolJSON
import SpoolTesting
import Testing

/// The JSON of commands that change a store, and of the errors that end a command.
@Suite(.timeLimit(.minutes(20)))
struct JSONOutputTests {
    @Test func `limits prints its limits in numbers`() throws {
        let scene = try FilmScene(["/a.mp4"])
        let outcome = try scene.run("limits", "--json", "--quota", "2M", "--max-age", "2h", "--min-free", "none", "--evict", "largest")
        let object = try #require(outcome.json as? [String: Any])
        #expect(object["cache"] as? String == scene.directory.path("store"))
        #expect(object["quotaBytes"] as? Int == 2 << 20 && object["maximumAgeSeconds"] as? Int == 7200)
        #expect(object["minimumFreeBytes"] is NSNull && object["maximumCount"] is NSNull && object["evict"] as? String == "largest")
        #expect(object["kept"] as? [String] == ["quota", "max-age", "min-free", "evict"])
        let standard = try FilmScene(["/a.mp4"]).run("limits", "--json").json as? [String: Any]
        #expect(standard?["quotaBytes"] as? Int == 8 << 30 && (standard?["kept"] as? [String])?.isEmpty == true)
    }

    @Test func `get reports its progress to programs, and leaves the output to the bytes`() throws {
        let scene = try FilmScene(["/a.mp4"], isStored: false)
        let (url, missing) = (scene.url("/a.mp4"), scene.url("/missing.mp4"))
        for stored in [0, 1000] {
            let outcome = try scene.run("get", "--json", "-o", "-", url)
            #expect(outcome.code == 0 && outcome.output.count == 1000)
            let last = try #require(outcome.errorObjects.last)
            #expect(last["url"] as? String == url && last["done"] as? Bool == true, "\(outcome.errors)")
            #expect(last["receivedBytes"] as? Int == 1000 && last["totalBytes"] as? Int == 1000)
            #expect(last["fromStoreBytes"] as? Int == stored)
        }
        let failed = try scene.run("get", "--json", missing)
        #expect(failed.code == 1 && failed.errorObjects.last?["error"] as? String == "originStatus", "\(failed.errors)")
    }

    @Test(arguments: [false, true])
    func `rm prints what it removed of each resource and in all`(withServer: Bool) throws {
        let scene = try FilmScene(["/a.mp4", "/b.mp4", "/c.mp4"])
        let server = withServer ? try scene.serve() : nil
        defer { server?.send(SIGKILL) }
        let (first, missing) = (scene.url("/a.mp4"), scene.url("/missing.mp4"))
        let dry = try #require(try scene.run("rm", "--json", "-n", first).json as? [String: Any])
        #expect(dry["dryRun"] as? Bool == true && dry["removed"] as? Int == 1)
        let outcome = try scene.run("rm", "--json", first, missing)
        let object = try #require(outcome.json as? [String: Any], "\(outcome.text)")
        #expect(outcome.code == 1 && object["removed"] as? Int == 1 && object["bytes"] as? Int == 1000)
        #expect(object["dryRun"] as? Bool == false)
        let resources = try #require(object["resources"] as? [[String: Any]])
        #expect(resources.map { $0["url"] as? String } == [first, missing] && resources.map { $0["removed"] as? Int } == [1, 0])
        #expect(outcome.errorObjects.map { $0["error"] as? String } == ["notStored"])
        #expect(outcome.errorObjects.first?["url"] as? String == missing)
        let all = try #require(try scene.run("rm", "--json", "--all").json as? [String: Any])
        #expect(all["removed"] as? Int == 2 && (all["resources"] as? [Any])?.isEmpty == true)
    }

    @Test func `pin and unpin print the state of each resource`() throws {
        let scene = try FilmScene(["/a.mp4"])
        let outcome = try scene.run("pin", "--json", scene.url("/a.mp4"), scene.url("/later.mp4"))
        let objects = try #require(outcome.json as? [[String: Any]], "\(outcome.text)")
        #expect(objects.map { $0["url"] as? String } == [scene.url("/a.mp4"), scene.url("/later.mp4")])
        #expect(objects.allSatisfy { $0["pinned"] as? Bool == true && $0["changed"] as? Bool == true })
        #expect(objects.map { $0["stored"] as? Bool } == [true, false])
        #expect(outcome.errorObjects.count == 1 && outcome.errorObjects.first?["level"] as? String == "notice")
        let unpinned = try #require(try scene.run("unpin", "--json", scene.url("/a.mp4")).json as? [[String: Any]])
        #expect(unpinned.first?["pinned"] as? Bool == false && unpinned.first?["changed"] as? Bool == true)
    }

    @Test(arguments: [false, true])
    func `export and import print the resource and the file`(withServer: Bool) throws {
        let scene = try FilmScene(["/a.mp4"])
        let server = withServer ? try scene.serve() : nil
        defer { server?.send(SIGKILL) }
        let path = scene.directory.path("out.mp4")
        let exported = try #require(try scene.run("export", "--json", scene.url("/a.mp4"), path).json as? [String: Any])
        #expect(exported["url"] as? String == scene.url("/a.mp4") && exported["path"] as? String == path)
        #expect(exported["bytes"] as? Int == 1000 && ["clone", "copy"].contains(exported["method"] as? String))
        let imported = try #require(try scene.run("import", "--json", path, scene.url("/b.mp4")).json as? [String: Any])
        #expect(imported["url"] as? String == scene.url("/b.mp4") && imported["path"] as? String == path)
        #expect(imported["bytes"] as? Int == 1000)
        let exists = try scene.run("import", "--json", path, scene.url("/b.mp4"))
        #expect(exists.code == 1 && exists.output.isEmpty)
        #expect(exists.errorObjects.first?["error"] as? String == "exists", "\(exists.errors)")
        #expect((exists.errorObjects.first?["message"] as? String)?.hasSuffix("(--replace)") == true)
    }

    /// A command line, and the error that it ends with.
    struct Fatal: CustomStringConvertible, Sendable {
        var words: [String]
        var error: String
        var status: Int
        var url: String?

        var description: String { words.joined(separator: " ") }
    }

    static let fatal = [
        Fatal(words: ["stat", "--json", "http://a.test/b"], error: "noStore", status: 1),
        Fatal(words: ["ls", "--json"], error: "noStore", status: 1),
        Fatal(words: ["ls", "--json", "--nonsense"], error: "usage", status: 64),
        Fatal(words: ["nonsense", "--json"], error: "usage", status: 64),
        Fatal(words: ["get", "--log-json", "ftp://a.test/b", "-o", "-"], error: "unsupportedURL", status: 64),
        Fatal(words: ["import", "--json", "/nowhere/a.mp4", "http://a.test/b"], error: "file", status: 74, url: "http://a.test/b"),
    ]

    @Test(arguments: fatal)
    func `an error that ends a command is one JSON object on standard error`(row: Fatal) throws {
        let directory = try ScratchDirectory()
        let outcome = try SpoolProcess.run(row.words, environment: ["SPOOL_CACHE": directory.path("store")], in: directory)
        #expect(outcome.code == row.status && outcome.output.isEmpty)
        #expect(outcome.errors.filter { $0 == "\n" }.count == 1, "\(outcome.errors)")
        let object = try #require(outcome.errorObjects.first, "\(outcome.errors)")
        #expect(object["error"] as? String == row.error && object["exitStatus"] as? Int == row.status, "\(outcome.errors)")
        #expect(object["level"] as? String == "error" && object["url"] as? String == row.url, "\(outcome.errors)")
        #expect((object["message"] as? String)?.isEmpty == false && object["time"] is String)
    }

    @Test func `the error of an origin has its code and the URL`() throws {
        let scene = try FilmScene(["/a.mp4"])
        let missing = scene.url("/missing.mp4")
        let outcome = try scene.run("get", "--log-json", missing, "-o", "-")
        let object = try #require(outcome.errorObjects.last, "\(outcome.errors)")
        #expect(object["error"] as? String == "originStatus" && object["url"] as? String == missing && object["exitStatus"] as? Int == 1)
        let preload = try scene.run("preload", "--json", missing)
        #expect(preload.errorObjects.first?["error"] as? String == "originStatus", "\(preload.errors)")
        let none = try scene.run("ls", "--json", scene.url("/c/"))
        #expect(none.errorObjects.first?["error"] as? String == "notStored")
    }

    @Test func `a file of settings chooses JSON for the error that ends a command`() throws {
        let directory = try ScratchDirectory()
        try Data("log-json = yes\n".utf8).write(to: URL(fileURLWithPath: directory.path("conf")))
        let outcome = try SpoolProcess.run(["get", "--config", directory.path("conf"), "ftp://a.test/b", "-o", "-"], in: directory)
        #expect(outcome.errorObjects.first?["error"] as? String == "unsupportedURL", "\(outcome.errors)")
    }
}
