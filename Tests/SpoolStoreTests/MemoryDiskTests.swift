import SpoolLibc
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

@Suite struct MemoryDiskTests {
    private func makeFile(_ disk: MemoryDisk, _ bytes: [UInt8] = []) throws -> any FileHandle {
        let file = try disk.open("/file", .create)
        try file.write(bytes, at: 0)
        return file
    }

    private func page(_ value: UInt8) -> [UInt8] { [UInt8](repeating: value, count: 4096) }

    // MARK: Space

    @Test func `a file of 20 GiB with two written pages takes two pages`() throws {
        let disk = MemoryDisk()
        let file = try makeFile(disk)
        try file.truncate(to: 20 << 30)
        try file.write([1], at: 0)
        try file.write([1], at: 20 << 30 - 1)
        #expect(disk.allocatedBytes == 8192)
        try file.punchHole(at: 4096, count: 20 << 30)
        #expect(disk.allocatedBytes == 4096)
    }

    @Test func `an unlinked file takes room until its last handle is closed`() throws {
        let disk = MemoryDisk()
        var file: (any FileHandle)? = try makeFile(disk, page(1))
        try disk.unlink("/file")
        #expect(disk.allocatedBytes == 4096)
        #expect(try file?.bytes(0, 2) == [1, 1])
        file = nil
        #expect(disk.allocatedBytes == 0)
    }

    @Test func `a full disk takes the bytes that fit, and a punched hole frees room`() throws {
        let disk = MemoryDisk(faults: FaultPlan(capacityBytes: 3 * 4096))
        let file = try makeFile(disk, page(1))
        #expect(try disk.freeBytes("/") == 2 * 4096)
        let error = #expect(throws: SystemError.self) { try file.write(page(2) + page(3) + page(4), at: 4096) }
        #expect(error?.code == ENOSPC)
        #expect(try file.status().size == 3 * 4096)
        #expect(try disk.freeBytes("/") == 0)
        try file.write(page(9), at: 4096)
        try file.punchHole(at: 0, count: 4096)
        try file.write(page(4), at: 3 * 4096)
        #expect(try file.bytes(0, 20_000) == page(0) + page(9) + page(3) + page(4))
    }

    // MARK: Faults

    @Test func `a fault applies to a call number or onward, and to matching paths only`() throws {
        let disk = MemoryDisk(
            faults: FaultPlan(faults: [
                .init(.write, .call(2), code: EIO, pathSuffix: ".mp4"),
                .init(.rename, .from(2), code: EROFS),
            ]))
        let media = try disk.open("/a.mp4", .create)
        let index = try disk.open("/index", .create)
        try media.write([1], at: 0)
        #expect(throws: SystemError(code: EIO, operation: "pwrite", subject: "/a.mp4")) { try media.write([2], at: 0) }
        try media.write([3], at: 0)
        try index.write([4], at: 0)
        try disk.rename("/index", to: "/other")
        for _ in 0..<3 {
            #expect(throws: SystemError(code: EROFS, operation: "rename", subject: "/other")) {
                try disk.rename("/other", to: "/index")
            }
        }
        disk.setFaults(.none)
        try disk.rename("/other", to: "/index")
    }

    @Test func `random faults depend only on the seed`() throws {
        func failures(_ seed: UInt64) throws -> [Int] {
            let disk = MemoryDisk()
            let file = try makeFile(disk)
            disk.setFaults(.random(seed: seed, oneIn: 5))
            return (0..<100).filter { number in
                do {
                    try file.write([1], at: Int64(number))
                    return false
                } catch {
                    return true
                }
            }
        }
        #expect(try failures(1) == failures(1))
        #expect(try failures(1) != failures(2))
        #expect(try 5...50 ~= failures(1).count)
    }

    @Test func `a failed write may leave part of its bytes, as on a real disk`() throws {
        var lengths: Set<Int64> = []
        for seed in 0..<50 {
            let disk = MemoryDisk()
            let file = try makeFile(disk)
            disk.setFaults(FaultPlan(seed: UInt64(seed), faults: [.init(.write, .call(1), code: EIO)]))
            #expect(throws: SystemError.self) { try file.write([1, 2, 3], at: 0) }
            lengths.insert(try file.status().size)
        }
        #expect(lengths == [0, 1, 2, 3])
    }

    @Test func `a short read returns the first bytes`() throws {
        let disk = MemoryDisk()
        let file = try makeFile(disk, Array(0..<100))
        disk.setFaults(FaultPlan(seed: 3, shortReadOneIn: 2))
        var counts: Set<Int> = []
        for _ in 0..<100 {
            let bytes = try file.bytes(0, 100)
            #expect(bytes == Array(0..<UInt8(bytes.count)))
            counts.insert(bytes.count)
        }
        #expect(counts.contains(100) && counts.count > 10 && !counts.contains(0))
    }

    @Test func `a disk that fails after a change keeps the earlier ones`() throws {
        let disk = MemoryDisk(faults: FaultPlan(diesAfterOperation: 3))
        let file = try makeFile(disk, [1])
        try file.write([2], at: 1)
        #expect(throws: SystemError(code: EIO, operation: "pwrite", subject: "/file")) { try file.write([3], at: 2) }
        #expect(throws: SystemError.self) { _ = try disk.list("/") }
        #expect(try disk.crash().open("/file", .read).bytes(0, 9) == [1, 2])
    }

    @Test func `damage changes one byte without a report`() throws {
        let disk = MemoryDisk()
        let file = try makeFile(disk, [1, 2, 3])
        try disk.damage("/file", at: 1)
        #expect(try file.bytes(0, 9) == [1, 2 ^ 0x55, 3])
        #expect(throws: SystemError.self) { try disk.damage("/file", at: 3) }
    }
}
