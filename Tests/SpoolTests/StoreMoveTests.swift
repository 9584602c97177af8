import Spool
import SpoolStore
import SpoolSystem
import SpoolTesting
import Testing

/// The move of a store to the default directory that a program has for itself on macOS.
@Suite struct StoreMoveTests {
    private static let old = "/h/Library/Caches/spool", new = "/h/Library/Caches/com.example.app/spool"

    private func disk(with names: [String] = ["lock", "spool.sqlite", "spool.sqlite-wal", "reserve"]) throws -> MemoryDisk {
        let disk = MemoryDisk()
        try disk.createDirectory(Self.old + "/data/00")
        for name in names { _ = try disk.open("\(Self.old)/\(name)", .create) }
        return disk
    }

    private func move(_ disk: any FileSystem) -> StoreMove { StoreMove(old: Self.old, new: Self.new, fileSystem: disk) }

    @Test func `a store moves with all that it holds, once`() throws {
        let disk = try disk()
        #expect(try move(disk).perform() == .moved)
        #expect(try disk.list(Self.new) == ["data", "lock", "reserve", "spool.sqlite", "spool.sqlite-wal"])
        #expect(try disk.status(Self.old) == nil)
        #expect(try move(disk).perform() == .done)
        // The store at its new place can be opened for writing.
        #expect(try disk.open(Self.new + "/lock", .readWrite).lock(.exclusive))
        #expect(move(disk).directory { _ in Issue.record("it failed") } == Self.new)
    }

    @Test func `a store that another process has open stays, and is used where it is`() throws {
        let disk = try disk()
        let lock = try disk.open(Self.old + "/lock", .readWrite)
        #expect(try lock.lock(.exclusive))
        #expect(try move(disk).perform() == .inUse)
        #expect(move(disk).directory { _ in } == Self.old)
        #expect(try lock.lock(.none))
        #expect(try move(disk).perform() == .moved)
    }

    @Test func `a directory of a server is left alone, and a missing one is no trouble`() throws {
        let served = try disk(with: ["lock", "spool.sqlite", "serve.json"])
        #expect(try move(served).perform() == .foreign && served.status(Self.old + "/lock") != nil)
        let empty = MemoryDisk()
        #expect(try move(empty).perform() == .absent && empty.status(Self.new) == nil)
        #expect(move(empty).directory { _ in } == Self.new)
    }

    @Test func `a program with a bundle has a directory of its own, unless its home is its own`() {
        func own(_ home: String, _ bundle: String?) -> String { MacCaches(home: home, bundle: bundle).own("spool") }
        #expect(own("/h", "com.example.app") == Self.new)
        #expect(own("/h", nil) == Self.old && own("/h", "") == Self.old && own("/h", "../x") == Self.old)
        #expect(own("/h/Library/Containers/com.example.app/Data", "com.example.app").hasSuffix("/Data/Library/Caches/spool"))
    }
}
