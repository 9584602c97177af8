import Foundation
import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTesting
import Testing

/// Tests stores that the programs of earlier commits wrote (Tests/Fixtures/stores).
@Suite struct StoreFixtureTests {
    /// One store, and the key that opens it.
    struct Fixture: CustomTestStringConvertible, Sendable {
        var name: String
        var encryption: EncryptionOptions?
        var hasSong = false
        /// Whether it has a list of downloads.
        var hasDownloads = false
        var notes: [RecoveryNote] = []

        var testDescription: String { name }
    }

    private static let fixtures = [
        Fixture(name: "3f0c9b1/plain", hasSong: true, hasDownloads: true),
        Fixture(name: "3f0c9b1/key", encryption: .testing(keyByte: 1), hasSong: true, hasDownloads: true),
        Fixture(
            name: "3f0c9b1/passphrase", encryption: EncryptionOptions(keyProvider: .passphrase("correct horse battery staple"))),
        Fixture(name: "3f0c9b1/rotation", encryption: .testing(keyByte: 2), notes: [.rotationUnfinished(plainBytes: 0)]),
    ]

    /// The stored content of one resource in a fixture.
    private struct Content {
        var path: String
        var seed: Int64
        var length: Int64
        var tag: String?
        var type: String
        var spans: ByteRangeSet
        var isPinned = false
        /// The bytes of a text.
        var text = ""

        var key: ResourceKey { ResourceKey(normalized: "http://media.example\(path)") }

        /// The bytes that the origin of the fixtures sent.
        func bytes(_ range: ByteRange) -> [UInt8] {
            if !text.isEmpty { return Array(Array(text.utf8)[Int(range.lowerBound)..<Int(range.upperBound)]) }
            return (range.lowerBound..<range.upperBound).map { UInt8(truncatingIfNeeded: ($0 * 2_654_435_761 + seed * 97) >> 13) }
        }
    }

    private static func contents(of fixture: Fixture) -> [Content] {
        let song = Content(
            path: "/song.mp3", seed: 2, length: 66_000, tag: "\"song-1\"", type: "audio/mpeg", spans: .of(0..<66_000), isPinned: true)
        let count = Int64(playlist.utf8.count)
        let list = Content(
            path: "/list.m3u8", seed: 0, length: count, tag: "\"list-1\"", type: "application/vnd.apple.mpegurl", spans: .of(0..<count),
            text: playlist)
        let news = Content(path: "/news.mp3", seed: 4, length: 2_000, tag: "\"news-2\"", type: "audio/mpeg", spans: .of(0..<2_000))
        let always = [
            Content(path: "/dated.m4a", seed: 6, length: 1_500, tag: nil, type: "audio/mp4", spans: .of(0..<1_500)),
            Content(path: "/empty.vtt", seed: 5, length: 0, tag: "\"empty-1\"", type: "text/vtt", spans: ByteRangeSet()),
            Content(
                path: "/film.mp4", seed: 1, length: 9_000, tag: "\"film-1\"", type: "video/mp4", spans: .of(0..<4_000, 8_000..<9_000)),
        ]
        return always + (fixture.hasDownloads ? [list] : []) + [news] + (fixture.hasSong ? [song] : [])
    }

    /// The stream that a server of that program downloaded.
    private static let playlist = "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\ndated.m4a\n#EXT-X-ENDLIST\n"
    private static let later = ResourceKey(normalized: "http://media.example/later.mp4")
    private static let directory = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Fixtures/stores").path

    private let directory: TemporaryDirectory
    private let log = RecoveryLog()

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func open(_ fixture: Fixture) throws -> SQLiteStore {
        let root = directory.path + "/cache"
        if try POSIXFileSystem().status(root) == nil {
            try FileManager.default.copyItem(atPath: "\(Self.directory)/\(fixture.name)", toPath: root)
        }
        return try SQLiteStore(
            directory: root, fileSystem: POSIXFileSystem(), random: SystemRandom(), options: .testing(fixture.encryption, log))
    }

    private func expect(_ content: Content, in store: SQLiteStore) throws {
        let stored = try #require(try store.lookup(content.key), "\(content.path)")
        #expect(stored.spans == content.spans && stored.isPinned == content.isPinned, "\(content.path)")
        #expect(stored.representation.length == content.length, "\(content.path)")
        #expect(stored.representation.contentType == content.type, "\(content.path)")
        switch stored.representation.validator {
        case .strong(let tag): #expect(tag == content.tag, "\(content.path)")
        case .lastModified: #expect(content.tag == nil, "\(content.path)")
        case let other: Issue.record("\(content.path) has the validator \(other)")
        }
        guard !stored.spans.isEmpty else { return }
        let file = try store.dataFile(of: stored.generation, key: stored.key, fileExtension: stored.fileExtension)
        #expect(try store.damagedSpans(of: stored, in: file).isEmpty, "\(content.path)")
        for range in stored.spans.ranges {
            var found: [UInt8] = []
            // A sealed file reads up to the end of a block in one call.
            while found.count < range.count {
                let read = try file.bytes(at: range.lowerBound + Int64(found.count), count: Int(range.count) - found.count)
                try #require(!read.isEmpty, "\(content.path) ends early")
                found += read
            }
            #expect(found == content.bytes(range), "\(content.path) \(range)")
        }
    }

    private func expectDownloads(in store: SQLiteStore) throws {
        let list = ResourceKey(normalized: "http://media.example/list.m3u8")
        let states = Dictionary(uniqueKeysWithValues: try store.downloads().map { ($0.key, $0.members["state"]) })
        #expect(states == [list: "complete", Self.later: "paused"])
        #expect(try store.downloadKeys() == [list: [ResourceKey(normalized: "http://media.example/dated.m4a")], Self.later: []])
    }

    @Test(arguments: fixtures)
    func `a store of an earlier program opens with every byte, pin and key`(fixture: Fixture) throws {
        let contents = Self.contents(of: fixture)
        // The second opening uses the store as the first one left it.
        for _ in 0..<2 {
            let store = try open(fixture)
            #expect(store.isWritable)
            #expect(try store.resources(after: nil, limit: 100).map(\.key) == contents.map(\.key))
            for content in contents { try expect(content, in: store) }
            #expect(try store.setPinned(Self.later, true, time: Timestamp(seconds: 1)) == false, "the resource is pinned already")
            if fixture.hasDownloads { try expectDownloads(in: store) }
            try store.close()
        }
        #expect(log.notes == fixture.notes + fixture.notes)
    }

    /// Each table with its columns, and each index, as SQLite reports them.
    private static func schema(ofIndex path: String) throws -> [String] {
        try rows(
            """
            SELECT t.name || t.wr || t.strict || ' ' || c.cid || c.name || c.type || c."notnull" || c.pk || coalesce(c.dflt_value, '')
            FROM pragma_table_list t JOIN pragma_table_info(t.name) c WHERE t.name NOT LIKE 'sqlite_%'
            UNION ALL SELECT i.name || ' ' || c.seqno || coalesce(c.name, '') || coalesce(i.sql, '')
            FROM sqlite_schema i JOIN pragma_index_info(i.name) c WHERE i.type = 'index' ORDER BY 1
            """, ofIndex: path)
    }

    @Test func `a new store has the tables of a store of the same format`() throws {
        try SQLiteStore(
            directory: directory.path + "/new", fileSystem: POSIXFileSystem(), random: SystemRandom(), options: .testing(nil, log)
        ).close()
        let schema = try Self.schema(ofIndex: directory.path + "/new/spool.sqlite")
        #expect(schema.count > 40)
        try open(Self.fixtures[0]).close()
        #expect(try schema == Self.schema(ofIndex: directory.path + "/cache/spool.sqlite"))
    }

    @Test(arguments: ["plain", "key", "passphrase", "rotation"])
    func `a store of format 5 is refused, and no byte of it changes`(name: String) throws {
        let fixture = Fixture(name: "fa4090f/\(name)", encryption: name == "plain" ? nil : .testing(keyByte: 1))
        #expect(throws: StoreError.formatTooOld(found: 5, supported: 9)) { try open(fixture) }
        let before = try Self.files(below: "\(Self.directory)/\(fixture.name)"), after = try Self.files(below: directory.path + "/cache")
        for (path, bytes) in before where path != "lock" { #expect(after[path] == bytes, "\(path)") }
        #expect(!after.keys.contains { $0.contains("damaged") } && log.notes == [])
    }

    /// The files below a directory, with their bytes.
    private static func files(below directory: String) throws -> [String: Data] {
        let paths = FileManager.default.enumerator(atPath: directory)?.compactMap { $0 as? String } ?? []
        return paths.reduce(into: [:]) { found, path in found[path] = FileManager.default.contents(atPath: "\(directory)/\(path)") }
    }

    @Test func `a rotation that an earlier program began can be completed`() throws {
        let fixture = try #require(Self.fixtures.last)
        let store = try open(fixture)
        try store.resealEverything()
        #expect(try store.rotation.backlog().resources == 0)
        for content in Self.contents(of: fixture) { try expect(content, in: store) }
        try store.close()
    }
}
