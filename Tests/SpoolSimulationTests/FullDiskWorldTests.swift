import Spool
import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// Tests whole runs of the cache on a disk that the store or another program fills, and that has
/// room again later.
@Suite struct FullDiskWorldTests {
    @Test(.timeLimit(.minutes(20)))
    func `every reader gets its bytes on a full disk, and unnamed bytes are freed`() throws {
        for seed in Seeds.list(count: 400) {
            var plan = World.Plan()
            plan.usesDisk = true
            plan.keptFiles = seed % 3 == 0 ? 1 : nil
            let world = try World(seed: seed, plan: plan)
            world.origin.follow { _, _ in
                .paced(SpoolTesting.OriginPace(latency: 0...1_000_000, bytesPerSecond: nil, chunkBytes: 1000...60_000), .correct)
            }
            for number in 0..<world.number(1...4) {
                let length = world.number(1...3_000_000)
                let film = VirtualResource(url: "http://origin.test/\(number).mp4", seed: seed ^ UInt64(number), length: length)
                world.serve(film)
                for _ in 0..<world.number(1...3) {
                    let start = world.number(0...1) == 0 ? 0 : world.number(0...length - 1)
                    var script = WorldReader.Script(url: film.url, ranges: [(start, nil)])
                    script.pause = world.number(0...1) == 0 ? 0 : .milliseconds(world.number(1...2000))
                    if world.number(0...3) == 0 { script.leavesAfter = world.number(1...length) }
                    world.read(script, after: .milliseconds(world.number(0...3000)))
                }
            }
            // The disk has room for the index and a part of the bytes, and later less, when another
            // program takes the rest.
            let disk = world.disk
            let capacity = disk.allocatedBytes + 200_000 + world.number(0...2_000_000)
            disk.setFaults(FaultPlan(seed: seed, capacityBytes: capacity))
            if world.number(0...1) == 0 {
                world.later(.milliseconds(world.number(0...3000))) {
                    disk.setFaults(FaultPlan(seed: seed, capacityBytes: disk.allocatedBytes))
                }
            }
            world.run()
            var found = world.violations
            for case .failed(let error)? in world.readers.map(\.outcome) { found.append("a reader failed: \(error)") }
            if found.isEmpty { found += try unnamed(in: world) }
            world.shutdown()
            guard found.isEmpty else {
                Issue.record("\(world.simulator.report(found.joined(separator: "\n")))")
                return
            }
        }
    }

    /// Returns the data files that occupy more than the blocks of their entries in the index.
    private func unnamed(in world: World) throws -> [String] {
        let disk = world.disk.crash()
        var options = SQLiteStore.Options()
        options.usesFileSystemForIndex = true
        options.bootID = world.plan.bootID
        let store = try SQLiteStore(directory: "/cache", fileSystem: disk, random: SeededRandom(seed: 1), options: options)
        var named: Int64 = 0
        for resource in try store.resources(after: nil, limit: 1000) {
            named += ByteRangeSet(resource.spans.ranges.map(\.widenedToBlocks)).totalBytes
        }
        try store.close()
        let index = ["", "-wal", "-shm", "-journal"].map { "/cache/spool.sqlite\($0)" }
        let occupied = disk.allocatedBytes(except: index + ["/cache/lock", "/cache/reserve"])
        return occupied <= named ? [] : ["\(occupied) bytes are occupied, \(named) at most are named"]
    }
}
