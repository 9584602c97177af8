import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

@Suite struct FileSystemContractTests {
    @Test func `the system's file system satisfies the contract`() throws {
        for seed in Seeds.list(count: 3) {
            let directory = try TemporaryDirectory()
            let violations = FileSystemContract.violations(of: POSIXFileSystem(), in: directory.path, seed: seed)
            #expect(violations == [], "seed \(seed)")
        }
    }

    @Test func `the disk in memory satisfies the contract`() throws {
        for seed in Seeds.list(count: 3) {
            let disk = MemoryDisk()
            try disk.createDirectory("/cache")
            #expect(FileSystemContract.violations(of: disk, in: "/cache", seed: seed) == [], "seed \(seed)")
        }
    }

    #if os(Linux)
    @Test func `an unaligned punch has the same result on both file systems`() throws {
        for seed in Seeds.list(count: 5) {
            let random = SeededRandom(seed: seed)
            let directory = try TemporaryDirectory()
            let real = try POSIXFileSystem().open("\(directory.path)/file", .create)
            let fake = try MemoryDisk().open("/file", .create)
            for _ in 0..<50 {
                let offset = Int64(random.next(below: 40_000))
                let bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: random.next()), count: 10_000)
                let hole = (at: Int64(random.next(below: 50_000)), count: 1 + Int64(random.next(below: 20_000)))
                for file in [real, fake] {
                    try file.write(bytes, at: offset)
                    try file.punchHole(at: hole.at, count: hole.count)
                }
                #expect(try real.bytes(0, 100_000) == fake.bytes(0, 100_000), "seed \(seed)")
            }
        }
    }

    @Test func `a lock that cannot be upgraded is lost on both file systems`() throws {
        let directory = try TemporaryDirectory()
        for (disk, path) in [(POSIXFileSystem(), "\(directory.path)/lock"), (MemoryDisk(), "/lock")] as [(any FileSystem, String)] {
            let first = try disk.open(path, .create)
            let second = try disk.open(path, .create)
            #expect(try first.lock(.shared))
            #expect(try second.lock(.shared))
            #expect(try !first.lock(.exclusive))
            // If the first handle had kept its shared lock, the second could not get an exclusive
            // one.
            #expect(try second.lock(.exclusive))
        }
    }
    #endif
}
