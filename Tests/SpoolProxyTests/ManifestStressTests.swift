import SpoolCore
import SpoolProxy
import SpoolTesting
import Testing

/// For the sanitizers: manifests are read from the memory of fetches while other clients download.
@Suite(.serialized, .timeLimit(.minutes(20))) struct ManifestStressTests {
    /// The sizes of the playlists in references. The smallest one fits in one read. The largest one
    /// takes several buffers of the pool.
    private static let sizes = [600, 9000, 40_000]
    private static let rounds = 6
    private static let film = [UInt8](repeating: 0x42, count: 4 << 20)

    private static func playlist(_ name: String, references: Int) -> [UInt8] {
        var text = "#EXTM3U\n#EXT-X-TARGETDURATION:4\n"
        for number in 0..<references { text += "#EXTINF:4,\nsegment-\(name)-\(1_000_000 + number).ts\n" }
        return Array((text + "#EXT-X-ENDLIST\n").utf8)
    }

    /// A playlist was copied from a buffer that a lane had given back, and had the bytes of another
    /// client's download.
    @Test(arguments: StoreKind.allCases, [1, 3])
    func `a manifest beside downloads has its own bytes`(store: StoreKind, loopCount: Int) throws {
        let origin = DocumentOrigin()
        let names = (0..<4).flatMap { client in (0..<Self.rounds).map { "\(client)-\($0)" } }
        var playlists: [String: [UInt8]] = [:]
        for (index, name) in names.enumerated() {
            let playlist = Self.playlist(name, references: Self.sizes[index % Self.sizes.count])
            playlists[name] = playlist
            origin["https://origin.example/\(name).m3u8"] = document(playlist, name, "application/vnd.apple.mpegurl")
            origin["https://origin.example/\(name).mp4"] = document(Self.film, name, "video/mp4")
        }
        let world = try ProxyWorld(store: store, transport: origin, options: { $0.loopCount = loopCount })
        defer { world.stop() }
        let violations = concurrently(4) { [playlists] client in
            var violations: [String] = []
            for round in 0..<Self.rounds {
                let name = "\(client)-\(round)"
                let isFilm = client % 2 == 1
                let answer = try world.get("/https/origin.example/\(name).\(isFilm ? "mp4" : "m3u8")")
                if answer.status != 200 || answer.body != (isFilm ? Self.film : playlists[name]) {
                    violations.append("\(name): status \(answer.status), \(answer.body.count) bytes")
                }
            }
            return violations
        }
        #expect(violations == [])
    }

    /// The tag is stated, because a computed one would take longer than the test.
    private func document(_ body: [UInt8], _ tag: String, _ type: String) -> DocumentOrigin.Document {
        var document = DocumentOrigin.Document(type: type, fields: ["ETag": "\"\(tag)\""])
        (document.body, document.hasTag) = (body, false)
        return document
    }
}
