import SpoolCore
import SpoolManifests
import SpoolProxy
import Testing

/// The keys by which eviction knows the parts of a playlist.
@Suite struct PartKeyTests {
    private static let url = "https://media.example/show/list.m3u8?session=1"
    /// References in all forms, in which neighbours share a directory and not.
    private static let references = [
        "1.ts", "2.ts?sig=a/b#t=1", "sub/3.ts", "sub/4.ts", "./5.ts", "../6.ts", "/7.ts", "/up/../8.ts", "//other.example/9.ts",
        "//other.example", "https://other.example", "HTTPS://Other.Example:443/a/10.ts", "https://other.example/a/11.ts", "?12",
        "a:13.ts", "sub/a:14.ts", "data:15", "%2e%2e/16.ts", "17%20.ts", "..", ".", "sub/", "sub/.", "ü/18.ts", "ü.ts", "#19", "a\\20.ts",
        "http://u:p@other.example/21.ts", "http://other.example?22", "sub//23.ts", "https:24.ts", "*25.ts", "https://[::1]/26.ts",
        "%2e%2e", "sub/%2E%2E", "sub/%C3%BC.ts", "27?t=12:30", "sub/?28",
    ]

    private func contents(_ lines: [String]) throws -> ManifestContents {
        let text = "#EXTM3U\n#EXT-X-TARGETDURATION:5\n" + lines.map { "#EXTINF:5,\n\($0)\n" }.joined() + "#EXT-X-ENDLIST\n"
        return try #require(try ManifestReader().contents(of: Array(text.utf8), at: Self.url))
    }

    private func strings(_ keys: PartKeys) -> [String] { keys.indices.map { keys[$0].string } }

    @Test(arguments: [KeyPolicy(), KeyPolicy().dropAllQueryItems(), KeyPolicy().sameHosts(["one.example", "other.example"])])
    func `a part has the key of its URL, in whatever form the playlist names it`(policy: KeyPolicy) throws {
        for distance in Self.references.indices {
            // Each reference follows each other one.
            let lines = Self.references.indices.flatMap { [$0, ($0 + distance) % Self.references.count] }.map { Self.references[$0] }
            let references = try contents(lines).references
            let expected = references.compactMap { $0.url }.compactMap { try? policy.key(for: $0).string }
            #expect(try strings(#require(references.keys([.segment], policy))) == expected)
        }
    }

    @Test func `keys are those of the chosen roles`() throws {
        let references = try contents(["1.ts", "2.ts"]).references
        #expect(references.keys([.key, .playlist], KeyPolicy())?.indices.isEmpty == true)
    }

    @Test func `only the first parts of the longest playlists have keys`() throws {
        let references = try contents((0..<20_000).map { "\($0)" }).references
        #expect(references.keys([.segment], KeyPolicy())?.indices.count == PartKeys.limit)
    }

    @Test func `parts in one directory take one parsed URL, and others as many as may be parsed`() throws {
        let near = try contents((0..<5000).map { "near/\($0)?sig=\($0)" }).references
        #expect(near.keys([.segment], KeyPolicy(), parsing: 1)?.indices.count == 5000)
        let far = try contents((0..<10).map { "\($0)/a" }).references
        #expect(far.keys([.segment], KeyPolicy(), parsing: 10)?.indices.count == 10)
        #expect(far.keys([.segment], KeyPolicy(), parsing: 9) == nil)
        #expect(near.keys([.segment], KeyPolicy().dropAllQueryItems(), parsing: 4999) == nil)
    }
}
