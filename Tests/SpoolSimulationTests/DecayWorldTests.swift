import Spool
import SpoolCore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// Tests bytes that the disk changes between two runs: no reader ever gets one of them.
@Suite struct DecayWorldTests {
    private static let url = "http://origin.test/movie.mp4"

    @Test(.timeLimit(.minutes(20)))
    func `a damaged byte is never served, and all others come from the disk`() throws {
        for seed in Seeds.list(count: 100) {
            let first = try World(seed: seed, plan: Self.plan(on: MemoryDisk()))
            let film = VirtualResource(url: Self.url, seed: seed, length: first.number(1...2_000_000))
            Self.populate(first, film)
            first.run()
            let disk = first.disk.crash()
            let changed = try Self.change(disk, first)
            first.shutdown()

            let second = try World(seed: seed, plan: Self.plan(on: disk))
            Self.populate(second, film)
            second.run()
            var found = first.violations + second.violations
            for reader in second.readers {
                if case .failed(let error)? = reader.outcome { found.append("\(reader) failed: \(error)") }
            }
            second.shutdown()
            if !found.isEmpty {
                Issue.record(
                    "\(second.simulator.report(found.joined(separator: "\n")))\n\(changed) bytes changed; SPOOL_SEED=\(seed) swift test --filter DecayWorldTests"
                )
                return
            }
        }
    }

    private static func plan(on disk: MemoryDisk) -> World.Plan {
        var plan = World.Plan()
        plan.usesDisk = true
        plan.disk = disk
        return plan
    }

    private static func populate(_ world: World, _ film: VirtualResource) {
        world.serve(film)
        for _ in 0..<world.number(1...3) {
            let ranges = (0...world.number(0...2)).map { _ -> (lower: Int64, upper: Int64?) in
                let lower = world.number(0...film.length - 1)
                return (lower, world.number(0...1) == 0 ? nil : lower + world.number(1...film.length))
            }
            var script = WorldReader.Script(url: url, ranges: ranges)
            if world.number(0...2) == 0 { script.leavesAfter = world.number(0...film.length) }
            world.read(script, after: .milliseconds(world.number(0...500)))
        }
    }

    /// Changes up to eight bytes of each data file, and returns their number.
    private static func change(_ disk: MemoryDisk, _ world: World) throws -> Int {
        var count = 0
        for group in try disk.list("/cache/data") {
            for hash in try disk.list("/cache/data/\(group)") {
                for name in try disk.list("/cache/data/\(group)/\(hash)") {
                    let path = "/cache/data/\(group)/\(hash)/\(name)"
                    guard let size = try disk.status(path)?.size, size > 0 else { continue }
                    for _ in 0...world.number(0...7) { try disk.damage(path, at: world.number(0...size - 1)) }
                    count += 1
                }
            }
        }
        return count
    }
}
