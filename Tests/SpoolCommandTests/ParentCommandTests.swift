import Foundation
import SpoolCore
import SpoolTesting
import Testing

/// `spool serve --parent`: servers that ask each other before the origin.
@Suite(.timeLimit(.minutes(20)))
struct ParentCommandTests {
    private let directory = Result { try ScratchDirectory() }
    private static let bytes = 300_000

    /// A server, and the beginning of its URLs.
    private struct Node {
        let process: SpoolProcess
        let base: String

        init(_ flags: [String], _ name: String, port: UInt16 = 0, in directory: ScratchDirectory) throws {
            process = try SpoolProcess(
                ["serve", "--listen", "127.0.0.1:\(port)", "--cache", directory.path(name)] + flags, in: directory)
            base = String(try #require(process.readLine()).dropFirst("listening on ".count))
        }

        func stop() throws {
            process.send(SIGINT)
            #expect(try process.end().code == 0)
        }
    }

    private func origin() throws -> (RawOrigin, path: String) {
        let origin = try RawOrigin()
        origin.serve(VirtualResource(url: origin.url("/a.mp4"), seed: 3, length: Int64(Self.bytes)))
        return (origin, "http/" + origin.url("/a.mp4").dropFirst("http://".count))
    }

    private func get(_ url: String, in directory: ScratchDirectory) throws -> Data {
        let name = UUID().uuidString
        let outcome = try SpoolProcess.run(["get", "--as-given", url, "-o", "-", "--cache", directory.path(name)], in: directory)
        #expect(outcome.code == 0, "\(outcome.errors)")
        return outcome.output
    }

    @Test func `two nodes with one parent fetch each byte from the origin once`() throws {
        let directory = try directory.get()
        let (origin, path) = try origin()
        defer { origin.stop() }
        let parent = try Node(["--token", "a-token"], "parent", in: directory)
        let one = try Node(["--parent", parent.base + "a-token"], "one", in: directory)
        let two = try Node(["--parent", parent.base + "a-token/"], "two", in: directory)
        let first = try get(one.base + path, in: directory)
        let second = try get(two.base + path, in: directory)
        #expect(first.count == Self.bytes && first == second)
        #expect(origin.log.entries.count == 1)
        #expect(origin.log.handedOver(origin.url("/a.mp4")).bytes == Int64(Self.bytes))
        for node in [one, two, parent] { try node.stop() }
    }

    @Test func `without its parent a node asks the origin itself`() throws {
        let directory = try directory.get()
        let (origin, path) = try origin()
        defer { origin.stop() }
        let node = try Node(["--parent", "http://127.0.0.1:\(try RawOrigin.unusedPort())/"], "node", in: directory)
        #expect(try get(node.base + path, in: directory).count == Self.bytes)
        #expect(origin.log.entries.count == 1)
        node.process.send(SIGINT)
        #expect(try node.process.end().errors.contains("the parent http://127.0.0.1:"))
    }

    @Test func `two nodes that are each other's parent refuse the second round and serve`() throws {
        let directory = try directory.get()
        let (origin, path) = try origin()
        defer { origin.stop() }
        let port = try RawOrigin.unusedPort()
        let one = try Node(["--parent", "http://127.0.0.1:\(port)/", "-v"], "one", in: directory)
        let two = try Node(["--parent", one.base], "two", port: port, in: directory)
        #expect(try get(one.base + path, in: directory).count == Self.bytes)
        #expect(origin.log.handedOver(origin.url("/a.mp4")).bytes == Int64(Self.bytes))
        try two.stop()
        one.process.send(SIGINT)
        #expect(try one.process.end().errors.contains("508"), "the second round was refused, and did not wait for a time-out")
    }

    @Test func `a parent is no part of a proxy for one site, and its token is not shown`() throws {
        let directory = try directory.get()
        let both = try SpoolProcess.run(["serve", "--origin", "http://a.example", "--parent", "http://b/"], in: directory)
        #expect(both.code == 64 && both.errors.contains("leave out --origin"), "\(both.errors)")
        let wrong = try SpoolProcess.run(["serve", "--parent", "10.0.0.5:8080/secret-of-mine"], in: directory)
        #expect(wrong.code == 64 && !wrong.errors.contains("secret-of-mine"), "\(wrong.errors)")
        let shown = try SpoolProcess.run(["config", "--parent", "http://b/secret-of-mine"], in: directory)
        #expect(shown.code == 0 && !shown.text.contains("secret-of-mine"), "\(shown.errors)")
    }
}
