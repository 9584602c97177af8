import Spool
import SpoolCore
import SpoolLibc
import SpoolSystem
import SpoolTestSupport
import SpoolTesting

/// Each system call of the store fails once with each of its errors in turn: playback continues,
/// and the bytes are right.
enum FaultTable {
    private static let errors: [FaultPlan.Call: [Int32]] = [
        .open: [EMFILE, ENFILE, EACCES, EIO, ENOENT], .createDirectory: [ENOSPC, EROFS, EACCES, EMLINK], .unlink: [EIO, EBUSY, EROFS],
        .removeDirectory: [EIO, EBUSY], .rename: [EIO, ENOSPC], .synchronizeDirectory: [EIO, EMFILE], .list: [EIO, EMFILE],
        .status: [EIO, EACCES], .read: [EIO], .write: [ENOSPC, EDQUOT, EIO, EROFS, EFBIG], .truncate: [EIO, EFBIG],
        .punchHole: [EOPNOTSUPP, EIO, ENOSPC], .synchronize: [EIO, ENOSPC, EDQUOT], .lock: [EIO, ENOLCK],
    ]
    /// A life that makes every call: two players of two resources, a removal in between, and then
    /// everything once more.
    private static func world(_ faults: FaultPlan) throws -> World {
        var plan = World.Plan()
        plan.usesDisk = true
        plan.diskFaults = faults
        let world = try World(seed: 11, plan: plan)
        for (number, url) in ["http://origin.test/film.mp4", "http://origin.test/song.mp3"].enumerated() {
            let resource = VirtualResource(url: url, seed: UInt64(number), length: 400_000)
            world.serve(resource)
            var script = WorldReader.Script(url: url, ranges: [(lower: 0, upper: nil), (lower: 100_000, upper: 300_000)])
            world.read(script)
            script.pause = .milliseconds(500)
            world.read(script, after: .milliseconds(100))
            world.read(script, after: .seconds(9))
        }
        let cache = world.cache
        world.later(.seconds(7)) { cache.remove(ResourceKey(normalized: "http://origin.test/song.mp3")) { _ in } }
        return world
    }

    private static func run(_ faults: FaultPlan) throws -> [String] {
        let world = try world(faults)
        defer { world.shutdown() }
        world.run()
        var problems = world.violations
        for reader in world.readers {
            switch reader.outcome {
            case .complete: break
            // This player's resource is removed while it plays.
            case .failed(let error) where error.code == .removed: break
            default: problems.append("\(reader) ended with \(String(describing: reader.outcome))")
            }
        }
        return problems
    }

    /// Tries `places` calls of each kind with each of its errors.
    static func run(places: Int, seed: UInt64) throws {
        let random = SeededRandom(seed: seed)
        for (call, codes) in errors.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            let count = try count(of: call)
            let step = max(1, count / max(1, places))
            var place = 1 + Int(random.next(below: UInt64(step)))
            while place <= count {
                for code in codes {
                    let problems = try run(FaultPlan(faults: [.init(call, .call(place), code: code)]))
                    guard problems.isEmpty else {
                        throw CrashOptions.Complaint(
                            description: "\(call) \(place) of \(count) failed with errno \(code): \(problems.joined(separator: "; "))")
                    }
                }
                place += step
            }
        }
    }

    private static func count(of call: FaultPlan.Call) throws -> Int {
        let world = try world(.none)
        defer { world.shutdown() }
        var count = 0
        var isOver = false
        while !isOver {
            world.run(steps: 1000)
            isOver = world.readers.allSatisfy(\.isOver) || !world.violations.isEmpty
            count = world.disk.callCount(of: call)
        }
        return count
    }
}
