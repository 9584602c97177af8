import Foundation
import SpoolCore
import SpoolTesting
import Testing

/// The commands that run until they are told to stop.
@Suite(.timeLimit(.minutes(20)))
struct ServeTests {
    private let directory = Result { try ScratchDirectory() }

    @Test(arguments: [SIGINT, SIGTERM])
    func `serve says where it listens, and a signal stops it cleanly`(signal: Int32) throws {
        let directory = try directory.get()
        let process = try SpoolProcess(["serve", "--listen", "127.0.0.1:0", "--cache", directory.path("store")], in: directory)
        let line = try #require(process.readLine())
        #expect(line.hasPrefix("listening on http://127.0.0.1:") && line.hasSuffix("/"))
        process.send(signal)
        let outcome = try process.end()
        #expect(outcome.code == 0)
        #expect(outcome.output.isEmpty, "one line is all that goes to standard output")
    }

    @Test func `the token is in the line, and comes from the environment`() throws {
        let directory = try directory.get()
        let process = try SpoolProcess(
            ["serve"],
            environment: ["SPOOL_LISTEN": "127.0.0.1:0", "SPOOL_TOKEN": "secret", "SPOOL_CACHE": directory.path("store")], in: directory)
        #expect(process.readLine()?.hasSuffix("/secret/") == true)
        process.send(SIGINT)
        #expect(try process.end().code == 0)
    }

    @Test func `log lines are JSON objects where that is asked for`() throws {
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
    @Test func `what serve writes with keeps off the core on which it serves`() throws {
        let directory = try directory.get()
        let process = try SpoolProcess(["serve", "--listen", "127.0.0.1:0", "--cache", directory.path("store")], in: directory)
        let url = try #require(process.readLine()?.split(separator: " ").last.flatMap { URL(string: $0 + "_spool/") })
        let threads = "/proc/\(process.processID)/task"
        func cores(_ thread: String) throws -> Substring? {
            let text = try String(contentsOfFile: "\(threads)/\(thread)/status", encoding: .utf8)
            return text.split(separator: "\n").first { $0.hasPrefix("Cpus_allowed_list:") }
        }
        let lanes = try FileManager.default.contentsOfDirectory(atPath: threads).filter { thread in
            try String(contentsOfFile: "\(threads)/\(thread)/comm", encoding: .utf8).hasPrefix("spool-data")
        }
        let own = try cores("\(process.processID)")
        // Where the tests may use one core only, all share it.
        if own?.contains(where: { "-,".contains($0) }) == true {
            // The loop gives its core back when it has slept: it is kept at work until all of them were told.
            while try lanes.contains(where: { try cores($0) == own }) { _ = try Data(contentsOf: url) }
        }
        #expect(lanes.count == 2)
        process.send(SIGINT)
        #expect(try process.end().code == 0)
    }
    #endif

    @Test func `an address that is taken is told`() throws {
        let directory = try directory.get()
        let first = try SpoolProcess(["serve", "--listen", "127.0.0.1:0", "--cache", directory.path("one")], in: directory)
        let line = try #require(first.readLine())
        let address = line.dropFirst("listening on http://".count).dropLast()
        let second = try SpoolProcess.run(["serve", "--listen", String(address), "--cache", directory.path("two")], in: directory)
        #expect(second.code == 1)
        #expect(second.output.isEmpty)
        #expect(second.errors.contains(address))
        first.send(SIGINT)
        #expect(try first.end().code == 0)
    }

    @Test func `what get fetched is served by the proxy, and what the proxy has get can read meanwhile`() throws {
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
        #expect(try SpoolProcess.run(["get", proxied], environment: other, in: directory).output == expected)
        #expect(try SpoolProcess.run(["get", url], environment: environment, in: directory).output == expected)
        // The server has the store: what is to be removed it removes.
        #expect(try SpoolProcess.run(["rm", url], environment: environment, in: directory).code == 0)
        #expect(try SpoolProcess.run(["get", proxied], environment: other, in: directory).output == expected)
        #expect(try SpoolProcess.run(["get", url], environment: environment, in: directory).code != 0)
        server.send(SIGINT)
        #expect(try server.end().code == 0)
    }

    @Test func `the demo's music comes out the same in parts and as a whole, and plays`() throws {
        let directory = try directory.get()
        let origin = try SpoolProcess(["demo", "--origin-only", "--rate", "0", "--seconds", "2"], in: directory)
        let base = String(try #require(origin.readLine()).dropFirst("origin on ".count))
        let length = 44 + 2 * 44_100 * 4
        for name in ["morning-loop.wav", "harbour-lights.wav", "slow-orbit.wav"] {
            let whole = try SpoolProcess.run(["get", base + name, "--cache", directory.path("whole")], in: directory)
            #expect(whole.output.count == length)
            #expect(whole.output.prefix(4) == Data("RIFF".utf8) && whole.output[8..<16] == Data("WAVEfmt ".utf8))
            #expect(Set(whole.output).count > 200, "music, not silence")
            // Ends inside the header, inside a sample, and at the end.
            let parts = try ["90001-", "0-30", "31-90000"].map {
                try SpoolProcess.run(["get", base + name, "-v", "--range", $0, "--cache", directory.path("parts")], in: directory)
            }
            #expect(parts[1].output + parts[2].output + parts[0].output == whole.output, "\(parts.map(\.errors))")
        }
        origin.send(SIGINT)
        #expect(try origin.end().code == 0)
    }

    @Test func `the demo prints its page and takes its store away again`() throws {
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

    /// A player that says what it was given and ends with the code that it is told.
    private func player(_ name: String, exitCode: Int, in directory: ScratchDirectory) throws {
        let path = directory.path(name)
        try "#!/bin/sh\necho \"$@\"\nexit \(exitCode)\n".write(toFile: path, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
    }

    @Test func `play starts the first player that there is with a URL that nobody guesses`() throws {
        let directory = try directory.get()
        try player("vlc", exitCode: 0, in: directory)
        let environment = ["PATH": directory.url.path, "SPOOL_CACHE": directory.path("store")]
        let outcome = try SpoolProcess.run(
            ["play", "https://example.com/a.mp4?b", "--", "--fullscreen"], environment: environment, in: directory)
        #expect(outcome.code == 0)
        let url = /--play-and-exit --fullscreen http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}\/https\/example\.com\/a\.mp4\?b\n/
        #expect(outcome.text.wholeMatch(of: url) != nil, "\(outcome.text)")
    }

    @Test func `a player that fails or is missing is told`() throws {
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

    // MARK: Commands through a running server

    /// A server with an origin behind it, and its cache.
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
        #expect(!FileManager.default.fileExists(atPath: directory.path("store/serve.json")), "it goes with the server")
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
            #expect(origin.log.entries.count == 1, "what the server fetched is kept")
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

    @Test func `stat says what the running server did not store, and why`() throws {
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

    @Test func `a host that is known to tag its files differently gets by with length and date`() throws {
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
            #expect(origin.log.entries.count == 2, "both parts are kept")
        }
    }

    @Test func `what a killed server left is no server`() throws {
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
