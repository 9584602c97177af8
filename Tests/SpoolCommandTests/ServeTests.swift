import Foundation
import SpoolCore
import SpoolJSON
import SpoolLibc
import SpoolTesting
import Testing

/// The commands that run until a signal stops them.
@Suite(.timeLimit(.minutes(20)))
struct ServeTests {
    private let directory = Result { try ScratchDirectory() }

    @Test(arguments: [SIGINT, SIGTERM])
    func `serve prints its address, and a signal stops it cleanly`(signal: Int32) throws {
        let directory = try directory.get()
        let process = try SpoolProcess(["serve", "--listen", "127.0.0.1:0", "--cache", directory.path("store")], in: directory)
        let line = try #require(process.readLine())
        #expect(line.hasPrefix("listening on http://127.0.0.1:") && line.hasSuffix("/"))
        process.send(signal)
        let outcome = try process.end()
        #expect(outcome.code == 0)
        #expect(outcome.output.isEmpty, "standard output has one line only")
        #expect(outcome.errors.contains("stopped; what was fetched stays"), "\(outcome.errors)")
    }

    /// The origin answers only after the server has closed its port.
    @Test(arguments: [(SIGTERM, 1000), (SIGINT, 0)])
    func `an answer under way is finished after SIGTERM, and cut off after Ctrl-C`(signal: Int32, bytes: Int) throws {
        let directory = try directory.get()
        let mayAnswer = DispatchSemaphore(value: 0)
        let origin = try RawOrigin(script: { _, _ in
            mayAnswer.wait()
            mayAnswer.signal()
            return .correct
        })
        defer { origin.stop() }
        origin.serve(VirtualResource(url: origin.url("/a.mp4"), seed: 3, length: 1000))
        let process = try SpoolProcess(
            ["serve", "--listen", "127.0.0.1:0", "--drain", "1h", "--cache", directory.path("store")], in: directory)
        let base = try #require(process.readLine()).dropFirst("listening on ".count)
        let url = "\(base)http/" + origin.url("/a.mp4").dropFirst("http://".count)
        let client = try SpoolProcess(["get", url, "--as-given", "-o", "-", "--cache", directory.path("other")], in: directory)
        while origin.connectionCount == 0 { sched_yield() }
        process.send(signal)
        let port = try #require(UInt16(base.dropLast().split(separator: ":").last ?? ""))
        while Self.accepts(port) { sched_yield() }
        mayAnswer.signal()
        #expect(try client.end().output.count == bytes)
        #expect(try process.end().code == 0)
    }

    /// Whether a port of this machine accepts connections.
    private static func accepts(_ port: UInt16) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0 }
        }
    }

    /// Writes a file that only its owner can read.
    private func writeSecret(_ text: String, to path: String) throws {
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    }

    @Test(arguments: [false, true])
    func `the token is read from the environment or a file, and never printed`(isFile: Bool) throws {
        let directory = try directory.get()
        try writeSecret("secret-of-mine\n", to: directory.path("token"))
        let process = try SpoolProcess(
            ["serve", "-v"] + (isFile ? ["--token", "@" + directory.path("token")] : []),
            environment: [
                "SPOOL_LISTEN": "127.0.0.1:0", "SPOOL_TOKEN": isFile ? "" : "secret-of-mine", "SPOOL_CACHE": directory.path("store"),
            ], in: directory)
        let line = try #require(process.readLine())
        #expect(line.wholeMatch(of: /listening on http:\/\/127\.0\.0\.1:\d+\//) != nil, "\(line)")
        let base = line.dropFirst("listening on ".count)
        let origin = try RawOrigin()
        defer { origin.stop() }
        origin.serve(VirtualResource(url: origin.url("/a.mp4"), seed: 3, length: 1000))
        let host = origin.url("/a.mp4").dropFirst("http://".count)
        let other = ["SPOOL_CACHE": directory.path("other")]
        let without = try SpoolProcess.run(["get", "--as-given", base + "http/" + host], environment: other, in: directory)
        #expect(without.code == 1 && without.errors.contains("403"), "\(without.errors)")
        let with = try SpoolProcess.run(
            ["get", "--as-given", base + "secret-of-mine/http/alice:hunter2@" + host], environment: other, in: directory)
        #expect(with.output.count == 1000, "\(with.errors)")
        process.send(SIGINT)
        let outcome = try process.end()
        #expect(outcome.code == 0)
        #expect(outcome.errors.contains("a.mp4"), "the access log has the request: \(outcome.errors)")
        #expect(!outcome.errors.contains("secret-of-mine") && !outcome.errors.contains("hunter2"), "\(outcome.errors)")
    }

    @Test(arguments: [
        (["--listen", "127.0.0.1:0"], true), (["--listen", "127.0.0.1:0", "--users", "many"], false),
        (["--listen", "0.0.0.0:0"], false), (["--listen", "0.0.0.0:0", "--users", "one"], true),
    ])
    func `a private response is stored for one user, and not on an address that others reach`(flags: [String], isKept: Bool) throws {
        let directory = try directory.get()
        let origin = try RawOrigin(script: { _, _ in .fields(["Cache-Control": "private, max-age=600"], .correct) })
        defer { origin.stop() }
        origin.serve(VirtualResource(url: origin.url("/a.mp4"), seed: 3, length: 1000))
        let process = try SpoolProcess(
            ["serve", "--token", "a-token", "--allow-origin", origin.url(""), "--cache", directory.path("store")] + flags, in: directory)
        let base = try #require(process.readLine()).dropFirst("listening on ".count)
        let url = "\(base)a-token/http/" + origin.url("/a.mp4").dropFirst("http://".count)
        for turn in 1...2 {
            let got = try SpoolProcess.run(["get", "--as-given", url, "--cache", directory.path("other-\(turn)")], in: directory)
            #expect(got.output.count == 1000, "\(got.errors)")
        }
        #expect(origin.log.entries.count == (isKept ? 1 : 2))
        process.send(SIGINT)
        #expect(try process.end().code == 0)
    }

    @Test func `stat shows the server's reason with the characters that JSON escapes`() throws {
        let directory = try directory.get()
        let store = directory.path(#"a "store" <in>\a way"#)
        // An origin that stops half-way keeps the server at this resource.
        let origin = try RawOrigin(script: { _, _ in .stall(afterBytes: 4_000_000, .correct) })
        defer { origin.stop() }
        origin.serve(VirtualResource(url: origin.url("/a.mp4"), seed: 3, length: 8_000_000))
        let process = try SpoolProcess(["serve", "--listen", "127.0.0.1:0", "--cache", store], in: directory)
        let base = try #require(process.readLine()).dropFirst("listening on ".count)
        // A file in the place of the directory makes the store fail with an error that names it.
        try FileManager.default.removeItem(atPath: store + "/data")
        try Data().write(to: URL(fileURLWithPath: store + "/data"))
        let url = "\(base)http/" + origin.url("/a.mp4").dropFirst("http://".count)
        let client = try SpoolProcess(["get", "--as-given", url, "--cache", directory.path("other")], in: directory)
        func stat() throws -> String {
            let outcome = try SpoolProcess.run(["stat", origin.url("/a.mp4"), "--cache", store], in: directory)
            return outcome.text + outcome.errors
        }
        var shown = try stat()
        for _ in 0..<3000 where !shown.contains("failed") { shown = try stat() }
        #expect(shown.contains("the store failed: ") && shown.contains("\(store)/data/"), "\(shown)")
        origin.follow { _, _ in .correct }
        origin.breakConnections()
        #expect(try client.end().output.count == 8_000_000)
        process.send(SIGINT)
        #expect(try process.end().code == 0)
    }

    #if os(Linux)
    @Test(arguments: ["http_proxy", "all_proxy"])
    func `serve warns at start of a proxy in the environment, which resolves names itself`(variable: String) throws {
        let directory = try directory.get()
        let outputs = try [[:], [variable: "http://127.0.0.1:9"]].map { (environment: [String: String]) in
            let process = try SpoolProcess(
                ["serve", "--listen", "127.0.0.1:0", "--cache", directory.path("store")], environment: environment, in: directory)
            _ = process.readLine()
            process.send(SIGINT)
            return try process.end().errors
        }
        #expect(!outputs[0].contains(variable))
        #expect(outputs[1].contains(variable) && outputs[1].contains("private"), "\(outputs[1])")
    }
    #endif

    @Test func `a token file that others can read is refused`() throws {
        let directory = try directory.get()
        try writeSecret("secret\n", to: directory.path("token"))
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: directory.path("token"))
        let outcome = try SpoolProcess.run(["serve", "--token", "@" + directory.path("token")], in: directory)
        #expect(outcome.code == 64 && outcome.errors.contains("--token") && outcome.errors.contains("chmod 600"), "\(outcome.errors)")
    }

    @Test func `log lines are JSON objects on request`() throws {
        let directory = try directory.get()
        let process = try SpoolProcess(
            ["serve", "--listen", "127.0.0.1:0", "--quota", "10G", "--log-json", "--cache", directory.path("store")], in: directory)
        _ = process.readLine()
        process.send(SIGINT)
        let outcome = try process.end()
        #expect(!outcome.errors.isEmpty)
        for line in outcome.errors.split(separator: "\n") {
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            #expect(object?["level"] is String && object?["message"] is String && object?["time"] is String)
        }
    }

    #if os(Linux)
    @Test func `the data lanes of serve keep off the core of its event loop`() throws {
        let directory = try directory.get()
        let process = try SpoolProcess(["serve", "--listen", "127.0.0.1:0", "--cache", directory.path("store")], in: directory)
        let url = try #require(process.readLine()?.split(separator: " ").last.flatMap { URL(string: $0 + "_spool/") })
        let threads = "/proc/\(process.processID)/task"
        func cores(_ thread: String) throws -> Substring? {
            let text = try String(contentsOfFile: "\(threads)/\(thread)/status", encoding: .utf8)
            return text.split(separator: "\n").first { $0.hasPrefix("Cpus_allowed_list:") }
        }
        var lanes: [String] = []
        // A thread has its name a moment after it has begun.
        while lanes.count < 2 {
            lanes = try FileManager.default.contentsOfDirectory(atPath: threads).filter { thread in
                try String(contentsOfFile: "\(threads)/\(thread)/comm", encoding: .utf8).hasPrefix("spool-data")
            }
        }
        let own = try cores("\(process.processID)")
        // If the tests may use one core only, all threads share it.
        if own?.contains(where: { "-,".contains($0) }) == true {
            // The loop gives its core back when it has slept. Requests keep it busy until all lanes
            // have moved.
            while try lanes.contains(where: { try cores($0) == own }) { _ = try Data(contentsOf: url) }
        }
        #expect(lanes.count == 2)
        process.send(SIGINT)
        #expect(try process.end().code == 0)
    }
    #endif

    @Test func `serve on a taken address fails and names it`() throws {
        let directory = try directory.get()
        let first = try SpoolProcess(["serve", "--listen", "127.0.0.1:0", "--cache", directory.path("one")], in: directory)
        let line = try #require(first.readLine())
        let address = line.dropFirst("listening on http://".count).dropLast()
        let second = try SpoolProcess.run(["serve", "--listen", String(address), "--cache", directory.path("two")], in: directory)
        #expect(second.code == 1)
        #expect(second.output.isEmpty)
        #expect(second.errors.contains(address))
        #expect(second.errors.filter { $0 == ";" }.count == 2, "the advice is given once: \(second.errors)")
        first.send(SIGINT)
        #expect(try first.end().code == 0)
    }

    @Test func `bytes fetched by get are served by the proxy, and get reads the proxy's store meanwhile`() throws {
        let directory = try directory.get()
        let origin = try RawOrigin()
        defer { origin.stop() }
        let url = origin.url("/a.mp4")
        origin.serve(VirtualResource(url: url, seed: 3, length: 200_000))
        let environment = ["SPOOL_CACHE": directory.path("store")]
        let expected = Data(OriginContent(seed: 3).bytes(at: 0, count: 200_000))
        #expect(try SpoolProcess.run(["get", url], environment: environment, in: directory).output == expected)

        let server = try SpoolProcess(["serve", "--listen", "127.0.0.1:0"], environment: environment, in: directory)
        let base = String(try #require(server.readLine()).dropFirst("listening on ".count))
        origin.setOffline(true)
        let other = ["SPOOL_CACHE": directory.path("other")]
        let proxied = base + "http/" + url.dropFirst("http://".count)
        #expect(try SpoolProcess.run(["get", "--as-given", proxied], environment: other, in: directory).output == expected)
        #expect(try SpoolProcess.run(["get", url], environment: environment, in: directory).output == expected)
        // The server has the store, so it carries out the removal.
        #expect(try SpoolProcess.run(["rm", url], environment: environment, in: directory).code == 0)
        #expect(try SpoolProcess.run(["get", "--as-given", proxied], environment: other, in: directory).output == expected)
        #expect(try SpoolProcess.run(["get", url], environment: environment, in: directory).code != 0)
        server.send(SIGINT)
        #expect(try server.end().code == 0)
    }

    @Test func `the demo's music is the same in parts and as a whole, and plays`() throws {
        let directory = try directory.get()
        let origin = try SpoolProcess(["demo", "--origin-only", "--rate", "0", "--seconds", "2"], in: directory)
        let base = String(try #require(origin.readLine()).dropFirst("origin on ".count))
        let length = 44 + 2 * 44_100 * 4
        for name in ["morning-loop.wav", "harbour-lights.wav", "slow-orbit.wav"] {
            let whole = try SpoolProcess.run(["get", base + name, "--cache", directory.path("whole")], in: directory)
            #expect(whole.output.count == length)
            #expect(whole.output.prefix(4) == Data("RIFF".utf8) && whole.output[8..<16] == Data("WAVEfmt ".utf8))
            #expect(Set(whole.output).count > 200, "the file is not silent")
            // The parts end inside the header, inside a sample, and at the end.
            let parts = try ["90001-", "0-30", "31-90000"].map {
                try SpoolProcess.run(["get", base + name, "-v", "--range", $0, "--cache", directory.path("parts")], in: directory)
            }
            #expect(parts[1].output + parts[2].output + parts[0].output == whole.output, "\(parts.map(\.errors))")
        }
        origin.send(SIGINT)
        #expect(try origin.end().code == 0)
    }

    @Test func `the demo prints its page and removes its store at the end`() throws {
        let directory = try directory.get()
        let process = try SpoolProcess(
            ["demo", "--listen", "127.0.0.1:0", "--seconds", "1"], environment: ["TMPDIR": directory.url.path], in: directory)
        #expect(process.readLine()?.hasPrefix("listening on http://127.0.0.1:") == true)
        #expect(try directory.names.contains { $0.hasPrefix("spool-demo-") })
        process.send(SIGINT)
        let outcome = try process.end()
        #expect(outcome.code == 0)
        #expect(outcome.text.contains("/_spool/"))
        #expect(try directory.names.isEmpty)
    }

    /// A player that prints its arguments and the playlist in them, runs `more` with the URL as
    /// `$url`, and exits with `exitCode`.
    private func player(_ name: String, exitCode: Int, more: String = ":", in directory: ScratchDirectory) throws {
        let path = directory.path(name)
        let script = """
            #!/bin/sh
            echo "$@"
            for word do list=${word#--playlist=}; done
            while read -r line; do url=$line; done <"$list"
            echo "$url"
            /bin/ls -l "$list"
            echo "token:$SPOOL_TOKEN passphrase:$SPOOL_PASSPHRASE bucket:$AWS_SECRET_ACCESS_KEY$AWS_SESSION_TOKEN cache:$SPOOL_CACHE"
            \(more)
            exit \(exitCode)

            """
        try script.write(toFile: path, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
    }

    @Test(arguments: ["mpv", "vlc", "ffplay"])
    func `play passes its URL to the player in a file that only its user can read`(name: String) throws {
        let directory = try directory.get()
        try player(name, exitCode: 0, in: directory)
        let environment = [
            "PATH": directory.url.path, "SPOOL_CACHE": directory.path("store"), "TMPDIR": directory.url.path, "SPOOL_TOKEN": "mine",
            "SPOOL_PASSPHRASE": "of my store", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "session",
        ]
        let outcome = try SpoolProcess.run(
            ["play", "https://example.com/a.mp4?b", "--", "--fullscreen"], environment: environment, in: directory)
        #expect(outcome.code == 0, "\(outcome.errors)")
        let lines = outcome.text.split(separator: "\n").map(String.init)
        try #require(lines.count == 4, "\(lines) \(outcome.errors)")
        #expect(lines[0].contains("--fullscreen") && !lines[0].contains("://"), "\(lines)")
        let url = /(file ')?http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}\/https\/example\.com\/a\.mp4\?b'?/
        #expect(lines[1].wholeMatch(of: url) != nil, "\(lines)")
        #expect(lines[2].hasPrefix("-rw-------"), "\(lines)")
        #expect(lines[3] == "token: passphrase: bucket: cache:\(directory.path("store"))")
        #expect(try directory.names.sorted() == [name, "store"].sorted(), "the playlist is removed when the player ends")
    }

    @Test func `play reports a player that fails or is missing`() throws {
        let directory = try directory.get()
        try player("mpv", exitCode: 3, in: directory)
        let environment = ["PATH": directory.url.path, "SPOOL_CACHE": directory.path("store")]
        let failed = try SpoolProcess.run(["play", "https://example.com/a.mp4"], environment: environment, in: directory)
        #expect(failed.code == 1)
        #expect(failed.errors.contains("mpv ended with exit code 3"))
        let missing = try SpoolProcess.run(
            ["play", "https://example.com/a.mp4", "--player", "ffplay"], environment: environment, in: directory)
        #expect(missing.code == 1)
        #expect(missing.errors.contains("ffplay"))
    }

    @Test func `play reports a failed player with the last error of its requests`() throws {
        let directory = try directory.get()
        let origin = try RawOrigin()
        defer { origin.stop() }
        let program = try #require(SpoolProcess.executable).path
        let get = "'\(program)' get --as-given \"$url\" -o - --cache '\(directory.path("other"))' 2>/dev/null"
        try player("mpv", exitCode: 2, more: get, in: directory)
        let environment = ["PATH": directory.url.path, "SPOOL_CACHE": directory.path("store")]
        let outcome = try SpoolProcess.run(["play", origin.url("/missing.mp4")], environment: environment, in: directory)
        #expect(outcome.code == 1)
        let told = "spool: mpv ended with exit code 2; the last error in an answer was 404\n"
        #expect(outcome.errors == told, "\(outcome.errors)")
    }

    @Test func `a demo on an existing store takes the store's key`() throws {
        let directory = try directory.get()
        try writeSecret(String(repeating: "ab", count: 32), to: directory.path("key"))
        let process = try SpoolProcess(
            ["demo", "--listen", "127.0.0.1:0", "--seconds", "1", "--cache", directory.path("store"), "--key-file", directory.path("key")],
            in: directory)
        _ = try #require(process.readLine())
        process.send(SIGINT)
        #expect(try process.end().code == 0)
        let without = try SpoolProcess.run(["ls", "--cache", directory.path("store")], in: directory)
        #expect(without.code == 1 && without.errors.contains("encrypted"), "\(without.errors)")
        let with = try SpoolProcess.run(["ls", "--cache", directory.path("store"), "--key-file", directory.path("key")], in: directory)
        #expect(with.code == 0, "\(with.errors)")
    }

    // MARK: Commands through a running server

    /// Runs `body` with a server, an origin behind it, and the environment of its store.
    private func withServer(
        _ flags: [String] = [], _ body: (RawOrigin, [String: String], ScratchDirectory) throws -> Void
    ) throws {
        let directory = try directory.get()
        let origin = try RawOrigin()
        defer { origin.stop() }
        let environment = ["SPOOL_CACHE": directory.path("store")]
        let server = try SpoolProcess(["serve", "--listen", "127.0.0.1:0"] + flags, environment: environment, in: directory)
        _ = try #require(server.readLine())
        do { try body(origin, environment, directory) } catch { Issue.record(error) }
        server.send(SIGINT)
        #expect(try server.end().code == 0)
        #expect(!FileManager.default.fileExists(atPath: directory.path("store/serve.json")), "serve.json is removed when the server ends")
    }

    @Test(arguments: [[], ["--token", "secret"]])
    func `get, pin and rm work through the server that has the store`(flags: [String]) throws {
        try withServer(flags) { origin, environment, directory in
            let attributes = try FileManager.default.attributesOfItem(atPath: directory.path("store/serve.json"))
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            let url = origin.url("/a film.mp4?x=1&y=2".replacingOccurrences(of: " ", with: "%20"))
            origin.serve(VirtualResource(url: url, seed: 3, length: 200_000))
            let expected = Data(OriginContent(seed: 3).bytes(at: 0, count: 200_000))
            for _ in 0..<2 {
                let got = try SpoolProcess.run(["get", url], environment: environment, in: directory)
                #expect(got.output == expected, "\(got.errors)")
            }
            #expect(origin.log.entries.count == 1, "the server keeps the bytes that it fetched")
            let pinned = try SpoolProcess.run(["pin", url], environment: environment, in: directory)
            #expect(pinned.code == 0 && pinned.text == "pinned \(url)\n", "\(pinned.errors)")
            #expect(try SpoolProcess.run(["stat", url], environment: environment, in: directory).text.contains("pinned     yes"))
            let removed = try SpoolProcess.run(["rm", url], environment: environment, in: directory)
            #expect(removed.code == 0 && removed.text.hasPrefix("removed "), "\(removed.errors)")
            let again = try SpoolProcess.run(["rm", url], environment: environment, in: directory)
            #expect(again.code == 1 && again.errors.contains("nothing is stored"))
            _ = try SpoolProcess.run(["get", url], environment: environment, in: directory)
            #expect(origin.log.entries.count == 2)
            let all = try SpoolProcess.run(["rm", "--all"], environment: environment, in: directory)
            #expect(all.text.hasPrefix("removed 1 resource"), "\(all.text) \(all.errors)")
        }
    }

    @Test func `play beside a server fetches through it, and the played bytes are stored`() throws {
        try withServer { origin, environment, directory in
            let url = origin.url("/film.mp4")
            origin.serve(VirtualResource(url: url, seed: 3, length: 200_000))
            let program = try #require(SpoolProcess.executable).path
            let get = "'\(program)' get --as-given \"$url\" -o '\(directory.path("played"))' --cache '\(directory.path("other"))'"
            let quiet = get + " --log-level error"
            try player("mpv", exitCode: 0, more: quiet, in: directory)
            let play = environment.merging(["PATH": directory.url.path]) { $1 }
            let outcome = try SpoolProcess.run(["play", url], environment: play, in: directory)
            #expect(outcome.code == 0 && outcome.errors.isEmpty, "\(outcome.errors)")
            let expected = Data(OriginContent(seed: 3).bytes(at: 0, count: 200_000))
            #expect(try Data(contentsOf: directory.url.appendingPathComponent("played")) == expected)
            origin.setOffline(true)
            #expect(try SpoolProcess.run(["get", url], environment: environment, in: directory).output == expected)
            #expect(origin.log.entries.count == 1)
        }
    }

    @Test func `a second serve names the server that has the store, and fetches through it`() throws {
        try withServer { origin, environment, directory in
            let url = origin.url("/film.mp4")
            origin.serve(VirtualResource(url: url, seed: 3, length: 200_000))
            let second = try SpoolProcess(["serve", "--listen", "127.0.0.1:0"], environment: environment, in: directory)
            let base = try #require(second.readLine()).dropFirst("listening on ".count)
            let other = ["SPOOL_CACHE": directory.path("other")]
            let expected = Data(OriginContent(seed: 3).bytes(at: 0, count: 200_000))
            let got = try SpoolProcess.run(
                ["get", "--as-given", base + "http/" + url.dropFirst("http://".count)], environment: other, in: directory)
            #expect(got.output == expected, "\(got.errors)")
            origin.setOffline(true)
            #expect(try SpoolProcess.run(["get", url], environment: environment, in: directory).output == expected)
            #expect(origin.log.entries.count == 1)
            second.send(SIGINT)
            let outcome = try second.end()
            #expect(outcome.errors.contains(/the server at http:\/\/127\.0\.0\.1:\d+\/ \(process \d+\) has the store/), "\(outcome.errors)")
        }
    }

    @Test func `a second serve goes on alone when the first has ended`() throws {
        let directory = try directory.get()
        let origin = try RawOrigin()
        defer { origin.stop() }
        let url = origin.url("/film.mp4")
        origin.serve(VirtualResource(url: url, seed: 3, length: 200_000))
        let environment = ["SPOOL_CACHE": directory.path("store")]
        let first = try SpoolProcess(["serve", "--listen", "127.0.0.1:0"], environment: environment, in: directory)
        _ = try #require(first.readLine())
        let second = try SpoolProcess(["serve", "--listen", "127.0.0.1:0"], environment: environment, in: directory)
        let base = try #require(second.readLine()).dropFirst("listening on ".count)
        first.send(SIGINT)
        #expect(try first.end().code == 0)
        let got = try SpoolProcess.run(
            ["get", "--as-given", base + "http/" + url.dropFirst("http://".count)], environment: ["SPOOL_CACHE": directory.path("other")],
            in: directory)
        #expect(got.output == Data(OriginContent(seed: 3).bytes(at: 0, count: 200_000)), "\(got.errors)")
        second.send(SIGINT)
        #expect(try second.end().code == 0)
    }

    @Test func `get beside a server reports the same code, reason and URL as without one`() throws {
        let port = try RawOrigin.unusedPort()
        let alone = try directory.get()
        func failures(_ origin: RawOrigin, _ environment: [String: String], _ directory: ScratchDirectory) throws -> [String] {
            try ["http://127.0.0.1:\(port)/a", "http://nosuch.invalid/a", origin.url("/missing")].map { url in
                let got = try SpoolProcess.run(["get", url, "-o", "-"], environment: environment, in: directory)
                return "\(got.code) \(got.errors.replacing(/after \d+ ms/, with: "")))"
            }
        }
        try withServer { origin, environment, directory in
            let beside = try failures(origin, environment, directory)
            #expect(try beside == failures(origin, ["SPOOL_CACHE": alone.path("unserved")], alone))
            try #require(beside.count == 3)
            #expect(beside[0].hasPrefix("69 spool: http://127.0.0.1:\(port)/a: the origin can't be reached: "), "\(beside)")
            #expect(beside[1].hasPrefix("69 spool: http://nosuch.invalid/a: the origin can't be reached: "), "\(beside)")
            #expect(beside[2].hasPrefix("1 spool: \(origin.url("/missing")): the origin answered 404"), "\(beside)")
        }
    }

    @Test func `stat reports the reason why the running server did not store a resource`() throws {
        try withServer(["--max-resource", "100K"]) { origin, environment, directory in
            let url = origin.url("/film.mp4")
            origin.serve(VirtualResource(url: url, seed: 3, length: 200_000))
            let got = try SpoolProcess.run(["get", url], environment: environment, in: directory)
            #expect(got.output == Data(OriginContent(seed: 3).bytes(at: 0, count: 200_000)), "\(got.errors)")
            let status = try SpoolProcess.run(["stat", url], environment: environment, in: directory)
            #expect(status.code == 1)
            #expect(status.errors.contains("nothing is stored of \(url): it is larger than 102400 bytes"), "\(status.errors)")
        }
    }

    @Test func `a host with inconsistent entity tags can be identified by length and date`() throws {
        try withServer(["--identity", "127.0.0.1=length-and-date"]) { origin, environment, directory in
            var film = VirtualResource(url: origin.url("/film.mp4"), seed: 3, length: 200_000)
            film.lastModified = Timestamp(seconds: 1_700_000_000)
            origin.serve(film)
            origin.follow { _, ordinal in
                ordinal == 0 ? .cut(afterBytes: 50_000, .close, .correct) : .fields(["ETag": "\"node-2\""], .correct)
            }
            let got = try SpoolProcess.run(["get", film.url], environment: environment, in: directory)
            #expect(got.output == Data(OriginContent(seed: 3).bytes(at: 0, count: 200_000)), "\(got.errors)")
            #expect(origin.log.entries.map(\.range) == ["bytes=0-", "bytes=50000-"])
            _ = try SpoolProcess.run(["get", film.url], environment: environment, in: directory)
            #expect(origin.log.entries.count == 2, "both parts are stored")
        }
    }

    @Test func `a killed server's serve.json does not stop a later command`() throws {
        let directory = try directory.get()
        let environment = ["SPOOL_CACHE": directory.path("store")]
        let server = try SpoolProcess(["serve", "--listen", "127.0.0.1:0"], environment: environment, in: directory)
        _ = try #require(server.readLine())
        server.send(SIGKILL)
        _ = try server.end()
        let removed = try SpoolProcess.run(["rm", "--all"], environment: environment, in: directory)
        #expect(removed.code == 0, "\(removed.errors)")
    }
}
