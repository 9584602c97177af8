import SpoolLibc
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

@Suite struct MemoryDiskCrashTests {
    private func page(_ value: UInt8) -> [UInt8] { [UInt8](repeating: value, count: 4096) }

    // MARK: Kill

    @Test func `a killed process loses its handles and locks but no written byte`() throws {
        let disk = MemoryDisk()
        let file = try disk.open("/file", .create)
        try file.write([1, 2], at: 0)
        #expect(try file.lock(.exclusive))
        let next = disk.crash()
        let again = try next.open("/file", .readWrite)
        #expect(try again.lock(.exclusive))
        try again.write([9], at: 0)
        #expect(try again.bytes(0, 9) == [9, 2])
        #expect(try file.bytes(0, 9) == [1, 2])
    }

    @Test func `a recording disk can be cut after every change`() throws {
        let disk = MemoryDisk(isRecording: true)
        try disk.createDirectory("/d")
        let file = try disk.open("/d/file", .create)
        try file.write([1], at: 0)
        try file.write([2], at: 1)
        try disk.rename("/d/file", to: "/d/other")
        try disk.unlink("/d/other")
        try file.write([3], at: 2)
        #expect(disk.operationCount == 7)
        #expect(disk.operations.count == 7)

        var found: [String] = []
        for count in 0...7 {
            let next = disk.crash(keeping: count)
            let names = try next.status("/d") == nil ? ["none"] : try next.list("/d")
            let bytes = try names.map { name in
                try next.status("/d/\(name)") == nil ? "" : "\(try next.open("/d/\(name)", .read).bytes(0, 9))"
            }
            found.append(zip(names, bytes).map { "\($0)\($1)" }.joined())
        }
        #expect(found == ["none", "", "file[]", "file[1]", "file[1, 2]", "other[1, 2]", "", ""])
    }

    // MARK: Power

    /// Returns the contents of the file that all seeds together leave, nil if one leaves no file.
    private func survivors(_ disk: MemoryDisk, _ path: String = "/file", seeds: UInt64 = 100) throws -> Set<[UInt8]?> {
        var found: Set<[UInt8]?> = []
        for seed in 0..<seeds {
            let next = disk.powerLoss(random: SeededRandom(seed: seed))
            found.insert(try next.status(path) == nil ? nil : try next.open(path, .read).bytes(0, 100_000))
        }
        return found
    }

    @Test func `synced bytes survive every power loss`() throws {
        let disk = MemoryDisk()
        let file = try disk.open("/file", .create)
        try file.write(page(1) + [2], at: 0)
        try file.synchronize(full: false)
        try disk.synchronizeDirectory("/")
        #expect(try survivors(disk) == [page(1) + [2]])
    }

    @Test func `an unsynced page is there, lost, empty or torn`() throws {
        let disk = MemoryDisk()
        let file = try disk.open("/file", .create)
        try file.write(page(1), at: 0)
        try file.synchronize(full: false)
        try disk.synchronizeDirectory("/")
        try file.write(page(2), at: 0)
        try file.write(page(3), at: 8192)
        let found = try survivors(disk, seeds: 500).compactMap { $0 }
        let firstPages = Set(found.map { Array($0.prefix(4096)) })
        #expect(firstPages.isSuperset(of: [page(1), page(2)]))
        // The expected pages are the old one, the new one, and seven torn ones, but never zeros in
        // place of durable bytes.
        #expect(firstPages.count == 9)
        #expect(!firstPages.contains { $0.contains(0) })
        #expect(Set(found.map(\.count)) == [4096, 3 * 4096])
        let lastPages = Set(found.filter { $0.count > 4096 }.map { Array($0.suffix(4096)) })
        #expect(lastPages.isSuperset(of: [page(0), page(3)]))
        #expect(lastPages.count == 9)
    }

    @Test func `durable bytes keep their values when other bytes of their page change`() throws {
        let disk = MemoryDisk()
        let file = try disk.open("/file", .create)
        try file.write([UInt8](repeating: 1, count: 1000), at: 0)
        try file.synchronize(full: false)
        try disk.synchronizeDirectory("/")
        try file.write([UInt8](repeating: 2, count: 3000), at: 1000)
        for bytes in try survivors(disk) {
            #expect(bytes?.prefix(1000).allSatisfy { $0 == 1 } == true)
        }
    }

    @Test func `an unsynced truncation may be undone`() throws {
        let disk = MemoryDisk()
        let file = try disk.open("/file", .create)
        try file.write(page(1) + page(2), at: 0)
        try file.synchronize(full: false)
        try disk.synchronizeDirectory("/")
        try file.truncate(to: 0)
        let found = try survivors(disk)
        #expect(found.contains([]))
        #expect(found.contains(page(1) + page(2)))
    }

    @Test func `pages lost by a failed sync stay lost until rewritten`() throws {
        let disk = MemoryDisk()
        let file = try disk.open("/file", .create)
        try file.truncate(to: 4096)
        try disk.synchronizeDirectory("/")
        try file.synchronize(full: false)
        try file.write(page(1), at: 0)
        disk.setFaults(FaultPlan(faults: [.init(.synchronize, .call(1), code: EIO)]))
        #expect(throws: SystemError.self) { try file.synchronize(full: false) }
        try file.synchronize(full: false)
        #expect(try survivors(disk).contains(page(0)))
        try file.write([1], at: 0)
        try file.synchronize(full: false)
        #expect(try survivors(disk) == [page(1)])
    }

    @Test func `a name is durable once its directory is synced, not its file`() throws {
        let disk = MemoryDisk()
        let file = try disk.open("/file", .create)
        try file.write([1], at: 0)
        try file.synchronize(full: true)
        #expect(try survivors(disk) == [nil, [1]])
        try disk.synchronizeDirectory("/")
        try disk.unlink("/file")
        #expect(try survivors(disk) == [nil, [1]])
        try disk.synchronizeDirectory("/")
        #expect(try survivors(disk) == [nil])
    }

    @Test func `a rename replaces its target atomically`() throws {
        let disk = MemoryDisk()
        for (name, value) in [("file", 1), ("new", 2)] as [(String, UInt8)] {
            let file = try disk.open("/\(name)", .create)
            try file.write([value], at: 0)
            try file.synchronize(full: false)
        }
        try disk.synchronizeDirectory("/")
        try disk.rename("/new", to: "/file")
        #expect(try survivors(disk) == [[1], [2]])
        #expect(try survivors(disk, "/new") == [nil, [2]])
    }

    @Test func `syncing a directory includes the earlier changes that its own depend on`() throws {
        let disk = MemoryDisk()
        try disk.createDirectory("/a")
        try disk.createDirectory("/b")
        try disk.synchronizeDirectory("/")
        let file = try disk.open("/a/file", .create)
        try file.write([1], at: 0)
        try file.synchronize(full: false)
        try disk.rename("/a/file", to: "/b/file")
        try disk.synchronizeDirectory("/b")
        #expect(try survivors(disk, "/b/file") == [[1]])
        #expect(try survivors(disk, "/a/file") == [nil])
    }

    /// Random operations on a disk. After a power loss, each file is in one place and has at least
    /// its last synced content.
    @Test func `a disk stays usable after a power loss`() throws {
        for seed in Seeds.list(count: 60) {
            let random = SeededRandom(seed: seed)
            let disk = MemoryDisk(isRecording: true)
            try disk.createDirectory("/x/y")
            for _ in 0..<120 {
                do throws(SystemError) {
                    try changeSomething(disk, random)
                } catch {
                    #expect([ENOENT, EISDIR].contains(error.code), "seed \(seed): \(error)")
                }
            }
            for directory in ["/x/y", "/x", "/"] { try disk.synchronizeDirectory(directory) }
            let settled = try files(disk)
            #expect(try files(disk.powerLoss(random: random)).map(\.path) == settled.map(\.path), "seed \(seed)")

            for _ in 0..<20 {
                let count = Int(random.next(below: UInt64(disk.operationCount + 1)))
                let next = disk.powerLoss(keeping: count, random: random)
                let found = try files(next)
                #expect(next.allocatedBytes == found.reduce(0) { $0 + $1.allocatedBytes }, "seed \(seed)")
                for file in found { try next.unlink(file.path) }
                #expect(next.allocatedBytes == 0, "seed \(seed)")
            }
        }
    }

    private func changeSomething(_ disk: MemoryDisk, _ random: SeededRandom) throws(SystemError) {
        let directories = ["", "/x", "/x/y"]
        func anyDirectory() -> String { directories[Int(random.next(below: 3))] }
        func anyPath() -> String { "\(anyDirectory())/f\(random.next(below: 4))" }
        switch random.next(below: 6) {
        case 0, 1: try disk.open(anyPath(), .create).write([UInt8(random.next(below: 256))], at: 0)
        case 2: try disk.unlink(anyPath())
        case 3: try disk.rename(anyPath(), to: anyPath())
        case 4: try disk.open(anyPath(), .read).synchronize(full: false)
        default: try disk.synchronizeDirectory("\(anyDirectory())/")
        }
    }

    private func files(_ disk: MemoryDisk, _ directory: String = "") throws -> [(path: String, allocatedBytes: Int64)] {
        try disk.list(directory.isEmpty ? "/" : directory).flatMap { name in
            let path = "\(directory)/\(name)"
            let status = try #require(try disk.status(path))
            return status.isDirectory ? try files(disk, path) : [(path, status.allocatedBytes)]
        }
    }
}
