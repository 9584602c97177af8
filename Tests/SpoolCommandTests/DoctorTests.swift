import Foundation
import SpoolCommand
import SpoolSystem
import Testing

/// `spool doctor`: each check as it should be, and with the fault that it looks for.
@Suite(.timeLimit(.minutes(20)))
struct DoctorTests {
    private let directory = Result { try ScratchDirectory() }

    private struct Report {
        var code: Int32
        /// Level, text and advice by the name of the check.
        var checks: [String: (level: String, text: String, advice: String?)]
    }

    private func doctor(
        _ words: [String] = [], _ variables: [String: String] = [:], descriptors: Int? = nil
    ) throws -> Report {
        let listen = words.contains("--listen") ? [] : ["--listen", "127.0.0.1:0"]
        let process = try SpoolProcess(
            ["doctor", "--json"] + words + listen, environment: variables, descriptors: descriptors, in: directory.get())
        let outcome = try process.end()
        #expect(outcome.errors == "")
        let checks = try #require((outcome.json as? [String: Any])?["checks"] as? [[String: Any]])
        let rows = checks.map { check in
            (
                check["check"] as? String ?? "",
                (check["level"] as? String ?? "", check["text"] as? String ?? "", check["advice"] as? String)
            )
        }
        return Report(code: outcome.code, checks: Dictionary(uniqueKeysWithValues: rows))
    }

    @Test func `a usual machine has no problem, and every fault comes with advice`() throws {
        let report = try doctor()
        #expect(report.code == 0)
        for (name, check) in report.checks {
            #expect(check.level != "problem", "\(name): \(check.text)")
            #expect((check.level == "ok") == (check.advice == nil), "\(name)")
        }
        for name in ["program", "open files", "directory", "file system", "clock", "disk space", "store", "server", "port"] {
            #expect(report.checks[name] != nil, "\(name) is checked")
        }
        #expect(report.checks["file system"]?.level == "ok")
        #expect(try directory.get().names.isEmpty, "nothing is left behind, and no store was made")
    }

    @Test func `media that the present key does not seal are a warning with the command that goes on`() throws {
        let (store, key) = (try directory.get().path("store"), try directory.get().path("key"))
        // A store that was stopped on the way to another key.
        let fixture = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Fixtures/stores/3f0c9b1/rotation")
        try FileManager.default.copyItem(atPath: fixture.path, toPath: store)
        try Data(repeating: 2, count: 32).write(to: URL(fileURLWithPath: key))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key)
        let check = try doctor(["--cache", store, "--key-file", key]).checks["store"]
        #expect(check?.level == "warning" && check?.text.hasSuffix("have the key before the present one") == true, "\(check?.text ?? "")")
        #expect(check?.advice?.contains("spool rekey") == true)
    }

    @Test func `a taken port is a problem that names the flag`() throws {
        let address = try #require(SocketAddress(literal: "127.0.0.1", port: 0))
        var taken = try Socket.listening(on: address)
        defer { taken.close() }
        let bound = taken.localAddress
        let port = try #require(bound).port
        let report = try doctor(["--listen", "127.0.0.1:\(port)"])
        #expect(report.code == 1)
        #expect(report.checks["port"]?.level == "problem" && report.checks["port"]?.advice?.contains("--listen") == true)
    }

    @Test func `the port of the running server is its own`() throws {
        let directory = try directory.get()
        let store = ["--cache", directory.path("store")]
        let server = try SpoolProcess(["serve", "--listen", "127.0.0.1:0"] + store, in: directory)
        let line = try #require(server.readLine())
        let address = line.dropFirst("listening on http://".count).dropLast()
        let report = try doctor(store + ["--listen", String(address)])
        #expect(report.code == 0)
        #expect(report.checks["server"]?.level == "ok" && report.checks["server"]?.text.contains(address) == true)
        #expect(report.checks["port"]?.text.contains("that server's") == true)
        server.send(SIGKILL)
        _ = try server.end()
        #expect(try doctor(store).checks["server"]?.level == "warning", "serve.json of a killed server is left")
    }

    @Test func `too little room, few descriptors and a proxy of the environment are found`() throws {
        let report = try doctor(["--min-free", "900T"], ["http_proxy": "http://proxy.example:3128"], descriptors: 200)
        #expect(report.code == 1)
        #expect(report.checks["disk space"]?.level == "problem")
        #expect(report.checks["disk space"]?.text.contains("--min-free") == true)
        #expect(report.checks["open files"]?.level == "warning")
        #expect(report.checks["proxies"]?.text.contains("http_proxy") == true && report.checks["proxies"]?.level == "warning")
    }

    @Test func `a directory that others can write to, and one that can't be made, are found`() throws {
        let directory = try directory.get()
        try FileManager.default.createDirectory(
            atPath: directory.path("open"), withIntermediateDirectories: false, attributes: [.posixPermissions: 0o777])
        // The mask of the process does not apply to a later change.
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: directory.path("open"))
        #expect(try doctor(["--cache", directory.path("open")]).checks["directory"]?.level == "warning")
        try Data().write(to: directory.url.appendingPathComponent("file"))
        let report = try doctor(["--cache", directory.path("file") + "/store"])
        #expect(report.code == 1 && report.checks["directory"]?.level == "problem")
        #expect(report.checks["directory"]?.advice?.contains("--cache") == true)
    }

    @Test func `a sealed store without its key is a problem that names the flag`() throws {
        let directory = try directory.get()
        let store = ["SPOOL_CACHE": directory.path("store")]
        let key = store.merging(["SPOOL_PASSPHRASE": "open sesame"]) { $1 }
        let server = try SpoolProcess(["serve", "--listen", "127.0.0.1:0"], environment: key, in: directory)
        _ = server.readLine()
        server.send(SIGTERM)
        _ = try server.end()
        #expect(try doctor([], key).checks["store"]?.level == "ok")
        let report = try doctor([], store)
        #expect(report.checks["store"]?.level == "problem" && report.checks["store"]?.text.contains("--key-file") == true)
    }

    /// A store, and a drop-in of the unit.
    struct Place: Sendable {
        var cache: String
        var dropIn = ""
        var level = Finding.Level.problem
        var word: String
    }

    @Test(arguments: [
        Place(cache: "/var/cache/spool", level: .ok, word: "lets"),
        Place(cache: "/mnt/media/store", word: "does not let"),
        Place(cache: "/mnt/media/store", dropIn: "[Service]\nReadWritePaths=-/srv /mnt/media\n", level: .ok, word: "lets"),
        Place(cache: "/var/cache/spool", dropIn: "[Service]\nCacheDirectory=\n", word: "does not let"),
        Place(cache: "/run/user/1000/spool", dropIn: "[Service]\nReadWritePaths=/run/user/1000\n", word: "hides"),
    ])
    func `a store that the package's unit keeps from its server is a problem`(place: Place) throws {
        let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let file = tests.deletingLastPathComponent().appendingPathComponent("packaging/spool.service")
        let unit = UnitCheck([try String(contentsOf: file, encoding: .utf8), place.dropIn])
        let finding = unit.finding(store: place.cache, user: "spool")
        #expect(finding?.level == place.level)
        #expect(finding?.text.contains(place.word) == true)
        #expect(unit.finding(store: place.cache, user: "somebody") == nil, "a command of another user is not about the unit")
    }

    @Test func `a token inside a file of settings gets a warning`() throws {
        let directory = try directory.get()
        try "token = secret-word\n".write(toFile: directory.path("spool.conf"), atomically: true, encoding: .utf8)
        let report = try doctor(["--config", directory.path("spool.conf")])
        #expect(report.checks["token"]?.level == "warning")
        #expect(report.checks["token"]?.text.contains("secret-word") == false)
    }
}
