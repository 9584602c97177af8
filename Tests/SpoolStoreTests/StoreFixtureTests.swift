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
        var notes: [RecoveryNote] = []

        var testDescription: String { name }
    }

    private static let fixtures = [
        Fixture(name: "fa4090f/plain", hasSong: true),
        Fixture(name: "fa4090f/key", encryption: .testing(keyByte: 1), hasSong: true),
        Fixture(
            name: "fa4090f/passphrase", encryption: EncryptionOptions(keyProvider: .passphrase("correct horse battery staple"))),
        Fixture(name: "fa4090f/rotation", encryption: .testing(keyByte: 2), notes: [.rotationUnfinished]),
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

        var key: ResourceKey { ResourceKey(normalized: "http://media.example\(path)") }

        /// The bytes that the origin of the fixtures sent.
        func bytes(_ range: ByteRange) -> [UInt8] {
            (range.lowerBound..<range.upperBound).map { UInt8(truncatingIfNeeded: ($0 * 2_654_435_761 + seed * 97) >> 13) }
        }
    }

    private static func contents(of fixture: Fixture) -> [Content] {
        let song = Content(
            path: "/song.mp3", seed: 2, length: 66_000, tag: "\"song-1\"", type: "audio/mpeg", spans: .of(0..<66_000), isPinned: true)
        return [
            Content(path: "/dated.m4a", seed: 6, length: 1_500, tag: nil, type: "audio/mp4", spans: .of(0..<1_500)),
            Content(path: "/empty.vtt", seed: 5, length: 0, tag: "\"empty-1\"", type: "text/vtt", spans: ByteRangeSet()),
            Content(
                path: "/film.mp4", seed: 1, length: 9_000, tag: "\"film-1\"", type: "video/mp4", spans: .of(0..<4_000, 8_000..<9_000)),
            Content(path: "/news.mp3", seed: 4, length: 2_000, tag: "\"news-2\"", type: "audio/mpeg", spans: .of(0..<2_000)),
        ] + (fixture.hasSong ? [song] : [])
    }

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
            try store.close()
        }
        #expect(log.notes == fixture.notes + fixture.notes)
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
