import Foundation
import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTesting
import Testing

/// Tests a user's directory of documents that was given as a cache.
@Suite struct ForeignFileTests {
    private let directory: TemporaryDirectory
    private let disk: DiskStore
    private let film = StoreSample()
    private static let hash = String(repeating: "ab", count: 32)

    init() throws {
        directory = try TemporaryDirectory()
        disk = DiskStore(directory)
    }

    /// Files and empty directories with names that resemble those of the store.
    private static let files = [
        "data/2024/07/05.csv", "data/7", "data/ab/7", "data/ab/\(hash)/notes.txt", "data/ab/\(hash)/+7", "data/ab/\(hash)/007",
        "data/ab/\(hash)/-7", "data/ab/\(hash)/0", "data/ab/\(hash)/7.", "data/ab/\(hash)/7.tar.gz", "data/ab/\(hash)/7.an-ex",
        "data/AB/\(hash)/7.mp4", "data/cd/\(hash)/7.mp4", "data/ab/\(hash)0/7", "data/ab/\(hash)/9223372036854775807",
    ]
    private static let directories = ["data/2025/08", "data/ab/old", "data/ab/\(hash)/7.d"]

    private func lay(_ names: [String]) throws {
        for name in names {
            let path = "\(disk.root)/\(name)"
            let parent = URL(fileURLWithPath: path).deletingLastPathComponent().path
            try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
            try write([1, 2, 3], toFile: path)
        }
    }

    private func layEverything() throws {
        try lay(Self.files)
        for name in Self.directories {
            try FileManager.default.createDirectory(atPath: "\(disk.root)/\(name)", withIntermediateDirectories: true)
        }
        // Links that lead out of the store: from a group, from a resource's directory, from a data
        // file.
        try lay(["elsewhere/\(Self.hash)/7.mp4"])
        for (link, target) in [
            ("data/ee", "elsewhere"), ("data/ab/\(String(repeating: "ab", count: 31))ff", "elsewhere/\(Self.hash)"),
            ("data/ab/\(Self.hash)/8.mp4", "elsewhere/\(Self.hash)/7.mp4"),
        ] {
            try FileManager.default.createSymbolicLink(atPath: "\(disk.root)/\(link)", withDestinationPath: "\(disk.root)/\(target)")
        }
    }

    private func expectEverything(_ label: String) throws {
        for name in Self.files + Self.directories + ["data/ee", "data/ab/\(Self.hash)/8.mp4", "elsewhere/\(Self.hash)/7.mp4"] {
            #expect(try POSIXFileSystem().statusOfName("\(disk.root)/\(name)") != nil, "\(label): \(name) is gone")
        }
    }

    @Test func `nothing is written or punched through a link in the place of a data file`() throws {
        var store = try disk.open()
        let generation = store.makeGeneration()
        try film.store([0..<200_000], of: generation, in: store)
        try store.close()
        let path = try #require(try disk.dataFiles().first)
        let letter = [UInt8](repeating: 7, count: 200_000)
        try write(letter, toFile: directory.path + "/letter")
        try POSIXFileSystem().unlink(path)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: directory.path + "/letter")
        store = try disk.open()
        #expect(try store.lookup(film.key)?.spans.isEmpty ?? true, "the link's bytes are not of the store")
        try film.store([0..<100_000], of: generation, in: store)
        #expect(try store.lookup(film.key)?.spans == .of(0..<100_000))
        try store.close()
        #expect(try POSIXFileSystem().statusOfName(path)?.isRegular == true)
        #expect(try Data(contentsOf: URL(fileURLWithPath: directory.path + "/letter")) == Data(letter))
        try FileManager.default.createSymbolicLink(atPath: path + "-link", withDestinationPath: directory.path + "/letter")
        #expect(throws: SystemError.self) { _ = try POSIXFileSystem().open(path + "-link", .readWrite) }
    }

    @Test func `a link in the place of a directory takes no file, and changes none behind it`() throws {
        var store = try disk.open()
        try film.store([0..<1000], of: store.makeGeneration(), in: store)
        try store.close()
        let path = try #require(try disk.dataFiles().first)
        let own = URL(fileURLWithPath: path).deletingLastPathComponent().path
        let home = directory.path + "/home"
        try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: false)
        try FileManager.default.removeItem(atPath: own)
        try FileManager.default.createSymbolicLink(atPath: own, withDestinationPath: home)
        store = try disk.open()
        let generation = store.makeGeneration()
        let letter = "\(home)/\(generation.rawValue).\(film.fileExtension)"
        try write([1, 2, 3], toFile: letter)
        #expect(throws: StoreError.self) { try film.store([0..<1000], of: generation, in: store) }
        #expect(try Data(contentsOf: URL(fileURLWithPath: letter)) == Data([1, 2, 3]))
        try store.close()
    }

    @Test func `removing everything leaves foreign files`() throws {
        try layEverything()
        let store = try disk.open()
        for _ in 0..<20 { try film.store([0..<10], of: store.makeGeneration(), in: store) }
        try lay(["data/ab/\(Self.hash)/7.mp4"])
        try store.removeAll()
        try expectEverything("rm --everything")
        #expect(try POSIXFileSystem().status("\(disk.root)/data/ab/\(Self.hash)/7.mp4") == nil, "an orphan of the store is removed")
        try store.close()
    }

    @Test func `the search for orphans leaves foreign files`() throws {
        try disk.open().close()
        var store: SQLiteStore? = try disk.open()
        _ = try store?.count()
        // The process is killed here.
        store = nil
        try layEverything()
        try lay(["data/ab/\(Self.hash)/7.mp4"])
        let next = try disk.open()
        #expect(next.owesSweep)
        while try !next.sweepOrphans(limit: 8) {}
        try expectEverything("the search")
        #expect(try POSIXFileSystem().status("\(disk.root)/data/ab/\(Self.hash)/7.mp4") == nil)
        try next.close()
    }

    @Test func `a directory with foreign files opens as a cache`() throws {
        try layEverything()
        let store = try disk.open()
        try film.store([0..<10], of: store.makeGeneration(), in: store)
        #expect(try store.lookup(film.key)?.spans == .of(0..<10))
        try store.close()
    }
}
