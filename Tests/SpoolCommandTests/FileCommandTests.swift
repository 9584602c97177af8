import Foundation
import SpoolCore
import SpoolTesting
import Testing

/// `export`, `import` and `verify --repair`, on a store of their own and while a server has it.
@Suite(.timeLimit(.minutes(20)))
struct FileCommandTests {
    private static let length: Int64 = 5_000_001

    /// One origin, one store, and optionally a server that has it.
    private final class Scene {
        let directory: ScratchDirectory
        let origin: RawOrigin
        let url: String
        let bytes = Data(OriginContent(seed: 7).bytes(at: 0, count: Int(FileCommandTests.length)))
        private var server: SpoolProcess?

        init(withServer: Bool) throws {
            directory = try ScratchDirectory()
            origin = try RawOrigin()
            url = origin.url("/music/song.mp3")
            origin.serve(VirtualResource(url: url, seed: 7, length: FileCommandTests.length, contentType: "audio/mpeg"))
            if withServer { try startServer() }
        }

        deinit {
            server?.send(SIGKILL)
            origin.stop()
        }

        func startServer() throws {
            let server = try SpoolProcess(
                ["serve", "--listen", "127.0.0.1:0", "--cache", directory.path("store")], in: directory)
            _ = try #require(server.readLine())
            self.server = server
        }

        func run(_ words: String...) throws -> SpoolProcess.Outcome {
            try SpoolProcess.run(words, environment: ["SPOOL_CACHE": directory.path("store")], in: directory)
        }

        func file(_ name: String) throws -> Data { try Data(contentsOf: directory.url.appendingPathComponent(name)) }

        func makeFile(_ name: String, _ bytes: Data) throws -> String {
            try bytes.write(to: directory.url.appendingPathComponent(name))
            return directory.path(name)
        }
    }

    /// A combining mark makes another character of the slash before it, and the same bytes.
    @Test func `get writes into the named directory, also where a combining mark follows a slash of the URL`() throws {
        let scene = try Scene(withServer: false)
        let name = "\u{301}song.mp3", encoded = scene.origin.url("/music/%CC%81song.mp3")
        scene.origin.serve(VirtualResource(url: encoded, seed: 7, length: Self.length, contentType: "audio/mpeg"))
        try FileManager.default.createDirectory(atPath: scene.directory.path("files"), withIntermediateDirectories: false)
        let outcome = try scene.run("get", scene.origin.url("/music/") + name, "-o", scene.directory.path("files"))
        #expect(outcome.code == 0, "\(outcome.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: scene.directory.path("files")) == [name])
    }

    @Test func `get ignores a link or a partial file under its temporary name`() throws {
        let scene = try Scene(withServer: false)
        let (out, mine) = (scene.directory.path("out.mp3"), try scene.makeFile("mine.txt", Data("mine".utf8)))
        try FileManager.default.createSymbolicLink(atPath: out + ".part", withDestinationPath: mine)
        #expect(try scene.run("get", scene.url, "-o", out).code == 0)
        #expect(try scene.file("out.mp3") == scene.bytes)
        #expect(try scene.file("mine.txt") == Data("mine".utf8))
        _ = try scene.makeFile("again.mp3.part", Data(count: 100))
        #expect(try scene.run("get", scene.url, "-o", scene.directory.path("again.mp3")).code == 0)
        #expect(try scene.file("again.mp3") == scene.bytes)
    }

    @Test func `a server's token goes to a new file that only its owner can read`() throws {
        let scene = try Scene(withServer: false)
        let store = scene.directory.path("store")
        try FileManager.default.createDirectory(atPath: store, withIntermediateDirectories: true)
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: store)
        let mine = try scene.makeFile("mine.txt", Data("mine".utf8))
        try FileManager.default.createSymbolicLink(atPath: store + "/serve.json.new", withDestinationPath: mine)
        let server = try SpoolProcess(["serve", "--listen", "127.0.0.1:0", "--cache", store], in: scene.directory)
        _ = try #require(server.readLine())
        #expect(try scene.file("mine.txt") == Data("mine".utf8))
        let attributes = try FileManager.default.attributesOfItem(atPath: store + "/serve.json")
        #expect(attributes[.posixPermissions] as? Int == 0o600 && attributes[.type] as? FileAttributeType == .typeRegular)
        server.send(SIGTERM)
        let ended = try server.end()
        #expect(ended.errors.contains("others can write to \(store)"), "\(ended.errors)")
    }

    @Test(arguments: [false, true])
    func `export writes a stored resource to a file, also into a directory`(withServer: Bool) throws {
        let scene = try Scene(withServer: withServer)
        let missing = try scene.run("export", scene.url, scene.directory.path("out.mp3"))
        #expect(missing.code == 1 && missing.errors.contains(withServer ? "nothing is stored" : "there is no store"), "\(missing.errors)")
        _ = try scene.run("get", scene.url, "-o", scene.directory.path("got.mp3"))
        // A server commits received bytes up to a second later.
        let out = scene.directory.path("out.mp3")
        let exported = try scene.run("export", scene.url, out)
        #expect(exported.code == 0, "\(exported.errors)")
        #expect(exported.text.hasPrefix("exported \(scene.url) to \(out) ("), "\(exported.text)")
        #expect(try scene.file("out.mp3") == scene.bytes)
        let again = try scene.run("export", scene.url, out)
        #expect(again.code == 1 && again.errors.contains("there is a file of that name"), "\(again.errors)")
        #expect(again.errors.contains("(--replace)"), "\(again.errors)")
        #expect(try scene.run("export", scene.url, out, "--replace").code == 0)
        try FileManager.default.createDirectory(atPath: scene.directory.path("music"), withIntermediateDirectories: false)
        #expect(try scene.run("export", scene.url, scene.directory.path("music"), "--link").code == 0)
        #expect(try scene.file("music/song.mp3") == scene.bytes)
        let nowhere = try scene.run("export", scene.url, scene.directory.path("missing/song.mp3"))
        #expect(nowhere.code == 74 && nowhere.errors.contains("missing"), "\(nowhere.errors)")
    }

    @Test(arguments: [false, true])
    func `get names the reason for which a page in place of a film is not stored`(withServer: Bool) throws {
        let scene = try Scene(withServer: withServer)
        let url = scene.origin.url("/film.mp4")
        scene.origin.serve(VirtualResource(url: url, seed: 3, length: 1000, contentType: "text/html"))
        let got = try scene.run("get", url)
        #expect(got.code == 0 && got.output.count == 1000)
        #expect(got.errors.hasSuffix("\nspool: \(url) is not stored: it is a page (text/html) in place of media\n"), "\(got.errors)")
    }

    @Test(arguments: [false, true])
    func `import stores a file as a resource, which is read without its origin`(withServer: Bool) throws {
        let scene = try Scene(withServer: withServer)
        scene.origin.setOffline(true)
        let path = try scene.makeFile("mine.mp3", scene.bytes)
        let imported = try scene.run("import", path, scene.url, "--etag", "\"v1\"")
        #expect(imported.code == 0, "\(imported.errors)")
        #expect(imported.text.hasPrefix("imported \(path) as \(scene.url) ("), "\(imported.text)")
        let status = try scene.run("stat", scene.url)
        #expect(status.text.contains("audio/mpeg") && status.text.contains("\"v1\""), "\(status.text)")
        #expect(try scene.run("ls").text.contains(scene.url))
        let again = try scene.run("import", path, scene.url)
        #expect(again.code == 1 && again.errors.contains("is stored of") && again.errors.contains("(--replace)"), "\(again.errors)")
        #expect(try scene.run("import", path, scene.url, "--replace").code == 0)
        #expect(try scene.run("get", scene.url, "-o", "-").output == scene.bytes)
        let missing = try scene.run("import", scene.directory.path("missing"), scene.url + "2")
        #expect(missing.code == 74 && missing.errors == "spool: there is no file \(scene.directory.path("missing")) to import\n")
        #expect(try scene.run("verify").code == 0)
    }

    @Test(arguments: [false, true])
    func `verify discards damaged bytes, also of a store that a server has`(withServer: Bool) throws {
        let scene = try Scene(withServer: false)
        _ = try scene.run("get", scene.url, "-o", scene.directory.path("got.mp3"))
        try scene.directory.changeStoredByte(at: 1_000_000)
        if withServer { try scene.startServer() }
        let looked = try scene.run("verify")
        #expect(looked.code == 1 && looked.text.contains("damaged: bytes 983040-1048575"), "\(looked.text)")
        let repaired = try scene.run("verify", "--repair")
        #expect(
            repaired.code == 0 && repaired.text.contains("damaged, taken out: bytes 983040-1048575"), "\(repaired.text) \(repaired.errors)")
        #expect(try scene.run("verify", scene.url, "--repair").text.contains("no damage"))
        #expect(try scene.run("get", scene.url, "-o", "-").output == scene.bytes)
    }

    @Test func `an import that the limits refuse names the flags of the limits`() throws {
        let scene = try Scene(withServer: false)
        let path = try scene.makeFile("mine.mp3", scene.bytes)
        for limit in [["--quota", "1M"], ["--max-resource", "1M"]] {
            let outcome = try SpoolProcess.run(
                ["import", path, scene.url, "--cache", scene.directory.path("store")] + limit, in: scene.directory)
            #expect(outcome.code == 1 && outcome.errors.hasSuffix("(--quota, --max-resource)\n"), "\(outcome.errors)")
        }
    }

    @Test func `an interrupted import stores nothing`() throws {
        let scene = try Scene(withServer: false)
        // A file that takes long enough to be interrupted. It is sparse and occupies no blocks.
        let path = scene.directory.path("large.mp4")
        #expect(FileManager.default.createFile(atPath: path, contents: nil))
        #expect(truncate(path, 6 << 30) == 0)
        let process = try SpoolProcess(
            ["import", path, scene.url, "--cache", scene.directory.path("store")], in: scene.directory)
        // On a separate thread. Beside other tests, a task might not run before the import is over.
        let store = scene.directory.path("store/data"), importer = process.identifier
        Thread.detachNewThread {
            // The data file appears once the import copies.
            while Self.dataFiles(below: store).isEmpty, kill(importer, 0) == 0 { sched_yield() }
            kill(importer, SIGINT)
        }
        let outcome = try process.end()
        #expect(outcome.code == 130)
        #expect(outcome.errors.contains("interrupted; nothing was stored"), "\(outcome.errors)")
        #expect(try scene.run("ls").text.contains("song.mp3") == false)
        #expect(Self.dataFiles(below: store).isEmpty)
    }

    private static func dataFiles(below path: String) -> [String] {
        FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String }.filter { $0.hasSuffix(".mp3") } ?? []
    }
}
