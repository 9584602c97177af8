import Foundation
import SpoolCore
import SpoolTesting
import Testing

/// `get`, `ls`, `stat` and `rm` on a store without a server, against an origin on a socket.
@Suite(.timeLimit(.minutes(20)))
struct StoreCommandTests {
    /// More than one commit, with an end inside a block.
    private static let length: Int64 = 5_000_001

    /// One origin, one file, one store.
    private final class Scene {
        let directory: ScratchDirectory
        let origin: RawOrigin
        let content = OriginContent(seed: 7)
        let url: String

        init(length: Int64 = StoreCommandTests.length) throws {
            directory = try ScratchDirectory()
            origin = try RawOrigin()
            url = origin.url("/music/song.mp3")
            origin.serve(VirtualResource(url: url, seed: 7, length: length, contentType: "audio/mpeg"))
        }

        deinit {
            origin.stop()
        }

        func run(_ words: String...) throws -> SpoolProcess.Outcome {
            try SpoolProcess.run(words, environment: ["SPOOL_CACHE": directory.path("store")], in: directory)
        }

        func bytes(_ range: Range<Int64>) -> Data {
            Data(content.bytes(at: range.lowerBound, count: range.count))
        }

        /// The number of the origin's requests.
        var requestCount: Int { origin.log.entries.count }
    }

    @Test func `get writes the bytes to standard output and one line about them to standard error, also without the origin`() throws {
        let scene = try Scene()
        let first = try scene.run("get", scene.url, "-o", "-")
        #expect(first.code == 0)
        #expect(first.output == scene.bytes(0..<Self.length))
        let line = /spool: received 4\.8 MiB of song\.mp3 in [0-9.]+ s, 0 % from the store\n/
        #expect(first.errors.wholeMatch(of: line) != nil, "\(first.errors)")
        #expect(scene.requestCount == 1)

        scene.origin.stop()
        let second = try scene.run("get", scene.url)
        #expect(second.code == 0)
        #expect(second.output == scene.bytes(0..<Self.length))
        #expect(second.errors.hasSuffix(" s, 100 % from the store\n"), "\(second.errors)")
        let silent = try scene.run("get", scene.url, "--log-level", "error")
        #expect(silent.output == first.output && silent.errors.isEmpty, "\(silent.errors)")
    }

    /// The first play fetches its bytes and the head of the response, which is more than it reads.
    @Test func `stat without a URL reports that nothing is saved yet after the first play, and the bytes after the second`() throws {
        let scene = try Scene()
        _ = try scene.run("get", scene.url)
        let first = try scene.run("stat").lines
        #expect(first.count == 3 && first.dropFirst().allSatisfy { $0.contains("   nothing yet   ") }, "\(first)")
        _ = try scene.run("get", scene.url)
        #expect(try scene.run("stat").lines.last?.contains("   4.8 MiB   9.5 MiB   4.8 MiB   ") == true)
    }

    /// With each limit another call is the first that gets no descriptor.
    @Test(arguments: [12, 14, 15, 16, 18])
    func `a command without a free descriptor ends with a reason`(descriptors: Int) throws {
        let scene = try Scene(length: 1000)
        let process = try SpoolProcess(
            ["get", scene.url], environment: ["SPOOL_CACHE": scene.directory.path("store")], descriptors: descriptors, in: scene.directory)
        let outcome = try process.end()
        #expect([0, 1, 69, 74].contains(outcome.code), "no signal: \(outcome.code): \(outcome.errors)")
        #expect(outcome.code == 0 || outcome.errors.contains("spool: "))
    }

    @Test func `get treats two signed URLs of one resource as one, and stat finds it by either`() throws {
        let scene = try Scene()
        for signature in ["?sig=1", "?sig=2"] {
            scene.origin.serve(VirtualResource(url: scene.url + signature, seed: 7, length: Self.length, contentType: "audio/mpeg"))
        }
        let rules = ["--drop-query", "*=sig,expires", "--same-hosts", "127.0.0.1,localhost"]
        func run(_ words: [String]) throws -> SpoolProcess.Outcome {
            try SpoolProcess.run(words + rules, environment: ["SPOOL_CACHE": scene.directory.path("store")], in: scene.directory)
        }
        #expect(try run(["get", scene.url + "?sig=1", "-o", "-"]).output == scene.bytes(0..<Self.length))
        scene.origin.stop()
        #expect(try run(["get", scene.url.replacing("127.0.0.1", with: "localhost") + "?sig=2"]).output == scene.bytes(0..<Self.length))
        #expect(try run(["stat", scene.url + "?sig=3"]).text.contains("key        \(scene.url)\n"))
        #expect(try run(["rm", scene.url + "?sig=4"]).code == 0)
    }

    @Test func `the output file of get appears when it is complete`() throws {
        let scene = try Scene()
        let outcome = try scene.run("get", scene.url, "--output", scene.directory.path("song.mp3"))
        #expect(outcome.code == 0)
        #expect(outcome.output.isEmpty)
        #expect(try Data(contentsOf: scene.directory.url.appendingPathComponent("song.mp3")) == scene.bytes(0..<Self.length))
        #expect(try scene.directory.names == ["song.mp3", "store"])
    }

    @Test func `get keeps an existing file unless it may replace it, and asks for nothing before`() throws {
        let scene = try Scene()
        let file = scene.directory.url.appendingPathComponent("song.mp3")
        try Data("precious".utf8).write(to: file)
        let kept = try scene.run("get", scene.url, "-o", file.path)
        #expect(kept.code == 1 && kept.errors.contains("exists; --replace replaces it"), "\(kept.errors)")
        #expect(try Data(contentsOf: file) == Data("precious".utf8))
        #expect(scene.origin.log.entries.isEmpty)
        #expect(try scene.run("get", scene.url, "-o", file.path, "--replace").code == 0)
        #expect(try Data(contentsOf: file) == scene.bytes(0..<Self.length))
    }

    @Test func `get takes several URLs, and an error ends one of them`() throws {
        let scene = try Scene()
        let outcome = try scene.run("get", scene.origin.url("/missing"), scene.url, "-o", scene.directory.url.path)
        #expect(outcome.code == 1 && outcome.errors.contains("404"), "\(outcome.errors)")
        #expect(try Data(contentsOf: scene.directory.url.appendingPathComponent("song.mp3")) == scene.bytes(0..<Self.length))
        let twins = try scene.run("get", scene.url, scene.url + "?again", "-o", scene.directory.url.path)
        #expect(twins.code == 64 && twins.errors.contains("two URLs name one file"), "\(twins.errors)")
    }

    @Test func `get into a directory takes the file's name from the URL`() throws {
        let scene = try Scene(length: 1000)
        #expect(try scene.run("get", scene.url, "-o", scene.directory.url.path).code == 0)
        #expect(try Data(contentsOf: scene.directory.url.appendingPathComponent("song.mp3")) == scene.bytes(0..<1000))
        let nameless = try scene.run("get", scene.origin.url("/"), "-o", scene.directory.url.path)
        #expect(nameless.code == 64 && nameless.errors.contains("names no file"))
    }

    /// A slash and a combining mark are one `Character`, which a split at slashes passes over.
    @Test func `a file of get is in the given directory, also where a mark combines with a slash`() throws {
        let scene = try Scene(length: 1000)
        scene.origin.serve(VirtualResource(url: scene.origin.url("/music/%CC%B8song.mp3"), seed: 7, length: 1000))
        #expect(try scene.run("get", scene.origin.url("/music/\u{338}song.mp3"), "-o", scene.directory.url.path).code == 0)
        #expect(try scene.directory.names == ["store", "\u{338}song.mp3"])
    }

    @Test(arguments: [("0-0", 0, 1), ("100-199", 100, 200), ("4999990-", 4_999_990, 5_000_001), ("-5", 4_999_996, 5_000_001)])
    func `get returns the given range`(range: String, lower: Int64, upper: Int64) throws {
        let scene = try Scene()
        let outcome = try scene.run("get", scene.url, "--range", range)
        #expect(outcome.code == 0)
        #expect(outcome.output == scene.bytes(lower..<upper))
    }

    @Test func `get reports a range beyond the end`() throws {
        let scene = try Scene()
        let outcome = try scene.run("get", scene.url, "--range", "5000001-")
        #expect(outcome.code == 1)
        #expect(outcome.output.isEmpty)
        #expect(outcome.errors.contains("5000001"))
    }

    @Test func `get writes an empty file for an empty resource`() throws {
        let scene = try Scene(length: 0)
        let outcome = try scene.run("get", scene.url, "-o", scene.directory.path("empty"))
        #expect(outcome.code == 0)
        #expect(try Data(contentsOf: scene.directory.url.appendingPathComponent("empty")).isEmpty)
    }

    @Test func `get exits with 69 when the origin cannot be reached, and leaves no file`() throws {
        let scene = try Scene()
        let url = "http://127.0.0.1:\(try RawOrigin.unusedPort())/a"
        let outcome = try scene.run("get", url, "-o", scene.directory.path("a"))
        #expect(outcome.code == 69)
        #expect(outcome.errors.contains("can't be reached"))
        #expect(outcome.errors.filter { $0 == "\n" }.count == 1)
        #expect(try scene.directory.names == ["store"])
    }

    @Test func `get reports the status of an origin's refusal`() throws {
        let scene = try Scene()
        let outcome = try scene.run("get", scene.origin.url("/missing"), "-o", "-")
        #expect(outcome.code == 1)
        #expect(outcome.errors == "spool: \(scene.origin.url("/missing")): the origin answered 404\n")
    }

    @Test func `get exits with 74 when it cannot write to the output's directory`() throws {
        let scene = try Scene()
        let outcome = try scene.run("get", scene.url, "-o", scene.directory.path("missing/song.mp3"))
        #expect(outcome.code == 74)
        #expect(outcome.errors.contains("missing/song.mp3.part"))
    }

    @Test func `get ends quietly when the reader of its output leaves`() throws {
        let scene = try Scene(length: 64 << 20)
        let process = try SpoolProcess(
            ["get", scene.url, "-o", "-"], environment: ["SPOOL_CACHE": scene.directory.path("store")], in: scene.directory)
        // The bytes may contain a line end anywhere. One line is enough to show that they arrive.
        #expect(process.readLine() != nil)
        try process.closeOutput()
        let outcome = try process.end()
        #expect(outcome.code == 0)
        #expect(outcome.errors.isEmpty)
    }

    @Test func `ls, stat and rm report the stored resources`() throws {
        let scene = try Scene()
        _ = try scene.run("get", scene.url, "--range", "0-99")
        _ = try scene.run("get", scene.url, "-o", scene.directory.path("song.mp3"))

        let list = try scene.run("ls")
        #expect(list.text.contains("100 %") && list.text.contains(scene.url))
        #expect(try scene.run("ls", "--long").text.contains("audio/mpeg"))
        let all = try #require(try scene.run("ls", "--json").json as? [[String: Any]])
        #expect(all.count == 1 && all.first?["url"] as? String == scene.url)

        let status = try scene.run("stat", scene.url)
        #expect(status.code == 0)
        for fact in [scene.url, "5 000 001 bytes", "audio/mpeg", "\"v7\" (strong)", "0-5000000", "████"] {
            #expect(status.text.contains(fact), "\(fact)")
        }
        let object = try #require(try scene.run("stat", "--json", scene.url).json as? [String: Any])
        #expect(object["length"] as? Int == 5_000_001)
        #expect(object["stored"] as? [[Int]] == [[0, 5_000_001]])
        #expect(object["complete"] as? Bool == true)

        let removal = try scene.run("rm", scene.url)
        #expect(removal.code == 0)
        #expect(removal.text.hasPrefix("removed \(scene.url)"))
        #expect(try scene.run("ls").text.hasPrefix("0 resources, 0 B stored"))
        #expect(try scene.run("stat", scene.url).code == 1)
        let again = try scene.run("rm", scene.url)
        #expect(again.code == 1)
        #expect(again.errors.contains(scene.url))
    }

    @Test func `ls and stat show pins, and pin and unpin report their changes`() throws {
        let scene = try Scene()
        #expect(try scene.run("pin", scene.url).text == "pinned \(scene.url)\n")
        _ = try scene.run("get", scene.url, "--range", "0-99")
        #expect(try scene.run("stat", scene.url).text.contains("pinned     yes\n"))
        #expect(try scene.run("ls", "--long").text.contains("Z  *  \(scene.url)"))
        let object = try #require(try scene.run("stat", "--json", scene.url).json as? [String: Any])
        #expect(object["pinned"] as? Bool == true)
        #expect(try scene.run("pin", scene.url).text == "\(scene.url) was pinned already\n")
        #expect(try scene.run("unpin", scene.url).text == "unpinned \(scene.url)\n")
        #expect(try !scene.run("stat", scene.url).text.contains("pinned"))
        let again = try scene.run("unpin", scene.url)
        #expect(again.code == 1 && again.errors.contains("was not pinned"))
    }

    @Test func `a pin of a resource without stored bytes is listed and can be removed`() throws {
        let scene = try Scene()
        let typo = scene.origin.url("/music/sogn.mp3")
        let pinned = try scene.run("pin", typo)
        #expect(pinned.code == 0 && pinned.text == "pinned \(typo)\n")
        #expect(pinned.errors.contains("nothing is stored of \(typo) yet"))
        #expect(try scene.run("ls").text.contains("\(typo)  (pinned, nothing stored yet)\n"))
        #expect(try scene.run("ls", "-l").text.contains("*  \(typo)\n"))
        let objects = try #require(try scene.run("ls", "--json").json as? [[String: Any]])
        #expect(objects.count == 1 && objects.first?["key"] as? String == typo && objects.first?["pinned"] as? Bool == true)
        let status = try scene.run("stat", typo)
        #expect(status.code == 1 && status.errors.contains("it is pinned"))
        #expect(try scene.run("unpin", typo).text == "unpinned \(typo)\n")
        #expect(try scene.run("pin", typo).code == 0)
        let removed = try scene.run("rm", typo)
        #expect(removed.code == 0 && removed.text == "unpinned \(typo), of which nothing was stored\n")
        #expect(try scene.run("rm", typo).code == 1)
        #expect(try scene.run("ls").text.hasPrefix("0 resources, 0 B stored"))
        #expect(try scene.run("ls", "--json").text == "[]\n")
    }

    @Test func `text from origins and arguments reaches the terminal without control characters`() throws {
        let scene = try Scene(length: 1000)
        let url = scene.origin.url("/evil.mp3")
        scene.origin.serve(VirtualResource(url: url, seed: 7, length: 1000, contentType: "audio/mpeg\u{1B}]0;owned\u{7}"))
        #expect(try scene.run("get", url, "-o", "-").code == 0)
        for words in [["ls", "-l"], ["ls", "--json"], ["stat", url], ["stat", "--json", url], ["stat", "http://a/\u{9B}31m\u{1B}c"]] {
            let outcome = try SpoolProcess.run(words, environment: ["SPOOL_CACHE": scene.directory.path("store")], in: scene.directory)
            for scalar in (outcome.text + outcome.errors).unicodeScalars where scalar != "\n" {
                #expect(scalar.value >= 0x20 && !(0x7F...0x9F).contains(scalar.value), "\(words): U+\(String(scalar.value, radix: 16))")
            }
        }
    }

    @Test(arguments: [false, true])
    func `rm --all keeps pinned resources and prints their bytes, and rm --everything removes them`(withServer: Bool) throws {
        let scene = try FilmScene(["/a.mp4", "/b.mp4"])
        let server = withServer ? try scene.serve() : nil
        defer { server?.send(SIGKILL) }
        _ = try scene.run("pin", scene.url("/a.mp4"))
        #expect(try scene.run("rm", "-n", "--all").lines.last?.hasPrefix("would keep 1 resource (") == true)
        let all = try scene.run("rm", "--all")
        #expect(all.code == 0 && all.lines.first?.hasPrefix("removed 1 resource (") == true, "\(all.text)")
        #expect(all.lines.last?.hasPrefix("kept 1 resource (") == true && all.text.contains("'spool rm --everything'"), "\(all.text)")
        #expect(try scene.listed() == ["/a.mp4"])
        let everything = try scene.run("rm", "--everything")
        #expect(everything.code == 0 && everything.lines.count == 1, "\(everything.text)")
        #expect(everything.text.hasPrefix("removed 1 resource ("), "\(everything.text)")
        #expect(try scene.listed().isEmpty)
    }

    @Test func `rm --all empties the store and counts the resources`() throws {
        let scene = try Scene()
        _ = try scene.run("get", scene.url, "--range", "0-99")
        let removal = try scene.run("rm", "--all")
        #expect(removal.code == 0)
        #expect(removal.text.hasPrefix("removed 1 resource ("))
        #expect(try scene.run("ls", "--json").json as? [[String: Any]] != nil)
        #expect(try scene.run("ls").text.hasPrefix("0 resources, 0 B stored"))
    }

    @Test func `a command on a missing store names the directory, fails, and creates nothing`() throws {
        let scene = try Scene()
        // The directory may be mistyped.
        let commands = [
            ["ls"], ["ls", "--json"], ["ls", scene.url], ["stat", scene.url], ["verify"], ["verify", scene.url], ["verify", "--repair"],
            ["rm", "--all"], ["rm", "--all", "--dry-run"], ["rm", scene.url], ["unpin", scene.url], ["pin", scene.origin.url("/*")],
            ["export", scene.url, scene.directory.path("out")], ["limits"],
        ]
        for command in commands {
            let outcome = try SpoolProcess.run(
                command, environment: ["SPOOL_CACHE": scene.directory.path("store")], in: scene.directory)
            #expect(outcome.code == 1 && outcome.output.isEmpty, "\(command): \(outcome.text)")
            #expect(outcome.errors.contains("there is no store at \(scene.directory.path("store")); --cache DIR"), "\(command)")
        }
        #expect(try scene.directory.names.isEmpty)
    }

    @Test func `verify finds a byte that the disk changed, and discards it with --repair`() throws {
        let scene = try Scene()
        #expect(try scene.run("get", scene.url, "-o", "-").code == 0)
        let sound = try scene.run("verify")
        #expect(sound.code == 0)
        #expect(sound.text == "1 resource, 4.8 MiB sound, no damage\n")

        try scene.directory.changeStoredByte(at: 100_000)
        let found = try scene.run("verify", scene.url)
        #expect(found.code == 1)
        #expect(found.text.contains("damaged: bytes 65536-131071 of \(scene.url)\n"))
        #expect(found.errors.contains("--repair"))
        let json = try scene.run("verify", "--json")
        #expect(json.code == 1)
        #expect(json.text.contains("\"damagedBytes\":65536,\"damaged\":[[65536,131072]],\"repaired\":false"))

        let repaired = try scene.run("verify", "--repair")
        #expect(repaired.code == 0)
        #expect(repaired.text.contains("damaged, taken out: bytes 65536-131071 of"))
        #expect(try scene.run("verify").code == 0)
        #expect(try scene.run("get", scene.url, "-o", "-").output == scene.bytes(0..<Self.length))
        #expect(try scene.run("verify").text == "1 resource, 4.8 MiB sound, no damage\n")
    }

    @Test func `verify reports a resource that is not stored`() throws {
        let scene = try Scene()
        _ = try scene.run("pin", scene.url)
        let none = try scene.run("verify", scene.url)
        #expect(none.code == 1)
        #expect(none.errors.contains("nothing is stored of \(scene.url)"))
        #expect(try scene.run("verify").code == 0)
        #expect(try scene.run("verify", "--json").text == "[]\n")
    }
}
