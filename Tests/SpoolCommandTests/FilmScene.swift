import Foundation
import SpoolCore
import SpoolTesting
import Testing

/// An origin with films of 1000 bytes each, and one store.
final class FilmScene {
    let directory: ScratchDirectory
    let origin: RawOrigin

    static let bytes = Data(OriginContent(seed: 7).bytes(at: 0, count: 1000))

    /// Creates the origin.
    ///
    /// - Parameters:
    ///   - paths: The paths of the films.
    ///   - isStored: Whether the films are in the store already.
    init(_ paths: [String], isStored: Bool = true) throws {
        directory = try ScratchDirectory()
        origin = try RawOrigin()
        for path in paths {
            origin.serve(VirtualResource(url: origin.url(path), seed: 7, length: 1000, contentType: "video/mp4"))
            if isStored { #expect(try run("get", url(path), "-o", "-").output == Self.bytes) }
        }
    }

    deinit { origin.stop() }

    func url(_ path: String) -> String { origin.url(path) }

    /// Runs a command on the store of the scene.
    func run(_ words: String...) throws -> SpoolProcess.Outcome {
        try SpoolProcess.run(words, environment: ["SPOOL_CACHE": directory.path("store")], in: directory)
    }

    /// Starts a server on the store.
    func serve() throws -> SpoolProcess {
        let server = try SpoolProcess(["serve", "--listen", "127.0.0.1:0", "--cache", directory.path("store")], in: directory)
        _ = try #require(server.readLine())
        return server
    }

    /// The paths of the listed films.
    func listed() throws -> [String] {
        let objects = try #require(try run("ls", "--json").json as? [[String: Any]])
        return objects.compactMap { ($0["url"] as? String).map { String($0.dropFirst(url("").count)) } }.sorted()
    }
}

extension SpoolProcess.Outcome {
    /// The lines of standard error as JSON objects.
    var errorObjects: [[String: Any]] {
        errors.split(separator: "\n").compactMap { try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] }
    }

    var lines: [String] { text.split(separator: "\n").map(String.init) }
}
