import Spool
import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// Tests whole runs of the cache from a seed: readers, seeks, cancels and removals against an
/// origin and a disk with faults.
@Suite struct CacheWorldTests {
    private static let url = "http://origin.test/movie.mp4"
    private static let other = "http://origin.test/song.mp3"

    private static func check(_ test: String, count: Int, _ make: (UInt64) throws -> World, expect: (World) -> [String]) throws {
        for seed in Seeds.list(count: count) {
            let world = try make(seed)
            world.run()
            var found = world.violations + (world.violations.isEmpty ? expect(world) : [])
            let promised = world.cache.room.promisedBytes
            if promised != 0 { found.append("\(promised) bytes are promised to no write") }
            world.shutdown()
            if !found.isEmpty {
                Issue.record(
                    "\(world.simulator.report(found.joined(separator: "\n")))\nSPOOL_SEED=\(seed) swift test --filter 'CacheWorldTests.*\(test)'"
                )
                return
            }
        }
    }

    // MARK: Workloads

    private static func resource(_ url: String, _ world: World) -> VirtualResource {
        let sizes: [ClosedRange<Int64>] = [0...3, 1...70_000, 100_000...600_000, 1_000_000...3_000_000]
        let length = world.number(sizes[Int(world.number(0...3))])
        return VirtualResource(url: url, seed: world.simulator.next() >> 32, length: length)
    }

    private static func script(_ resource: VirtualResource, _ world: World) -> WorldReader.Script {
        let ranges = (0...world.number(0...3)).map { _ -> (lower: Int64, upper: Int64?) in
            let lower = world.number(0...2) == 0 ? 0 : world.number(0...max(0, resource.length - 1))
            return (lower, world.number(0...2) == 0 ? nil : lower + world.number(1...max(1, resource.length)))
        }
        var script = WorldReader.Script(url: resource.url, ranges: ranges)
        script.pause = world.number(0...1) == 0 ? 0 : .milliseconds(world.number(1...2000))
        if world.number(0...2) == 0 { script.leavesAfter = world.number(0...max(1, resource.length)) }
        script.leavesExplicitly = world.number(0...1) == 0
        let policies: [FetchPolicy?] = [nil, nil, .readAhead(bytes: world.number(1...1_000_000)), .wholeResource]
        script.options.fetchPolicy = policies[Int(world.number(0...3))]
        return script
    }

    /// Adds two resources and a few readers of each.
    private static func populate(_ world: World) {
        for url in [url, other] {
            let resource = resource(url, world)
            world.serve(resource)
            for _ in 0..<world.number(1...4) {
                world.read(script(resource, world), after: .milliseconds(world.number(0...1) * world.number(0...3000)))
            }
        }
    }

    private static func pace(_ random: any RandomSource) -> SpoolTesting.OriginPace {
        let rates: [Int64?] = [nil, 200_000, 2_000_000]
        return SpoolTesting.OriginPace(
            latency: 0...(.milliseconds(Int64(random.next(below: 300)))), bytesPerSecond: rates[Int(random.next(below: 3))],
            chunkBytes: 1000...Int(1000 + random.next(below: 64_000)))
    }

    // MARK: Tests

    @Test(.timeLimit(.minutes(20)))
    func `every reader gets its bytes from a good origin, and none is fetched twice`() throws {
        try Self.check("good", count: 500) { seed in
            var plan = World.Plan()
            plan.usesDisk = seed % 4 == 0
            plan.windowBytes = seed % 5 == 0 ? 300_000 : nil
            plan.buffers = seed % 3 == 0 ? 1 : 16
            plan.fetchesPerHost = seed % 7 == 0 ? 1 : 6
            let world = try World(seed: seed, plan: plan)
            let random = world.simulator
            world.origin.follow { _, _ in .paced(Self.pace(random), .correct) }
            Self.populate(world)
            return world
        } expect: { world in
            var found = world.readers.compactMap { reader -> String? in
                guard case .failed(let error)? = reader.outcome else { return nil }
                let length = world.versions[reader.script.url]?.last?.length ?? 0
                let isBeyond = reader.script.ranges.contains { $0.lower >= length }
                return isBeyond && error.code == .rangeNotSatisfiable ? nil : "\(reader) failed: \(error)"
            }
            let total = world.versions.values.reduce(0) { $0 + $1[0].length }
            let fetched = world.cache.statistics.fetchedBytes
            if fetched > total { found.append("fetched \(fetched) of \(total) bytes") }
            return found
        }
    }

    @Test(.timeLimit(.minutes(20)))
    func `every reader ends with a bad origin, with bytes of one version`() throws {
        try Self.check("bad", count: 700) { seed in
            var plan = World.Plan()
            plan.usesDisk = seed % 5 == 0
            plan.buffers = seed % 3 == 0 ? 1 : 16
            let world = try World(seed: seed, plan: plan)
            Self.populate(world)
            Self.addOriginTrouble(to: world)
            return world
        } expect: { _ in
            []
        }
    }

    @Test(.timeLimit(.minutes(20)))
    func `a bad disk with a good origin has no effect on readers`() throws {
        try Self.check("disk", count: 500) { seed in
            var plan = World.Plan()
            plan.usesDisk = seed % 2 == 0
            plan.keptFiles = seed % 6 == 4 ? 1 : nil
            plan.diskFaults = .random(seed: seed, oneIn: [10, 50, 300][Int(seed % 3)])
            plan.capacityBytes = [0, 65_536, 400_000][Int(seed % 3)]
            let world = try World(seed: seed, plan: plan)
            let random = world.simulator
            world.origin.follow { _, _ in .paced(Self.pace(random), .correct) }
            Self.populate(world)
            return world
        } expect: { world in
            world.readers.compactMap { reader -> String? in
                guard case .failed(let error)? = reader.outcome, error.code != .rangeNotSatisfiable else { return nil }
                return "\(reader) failed: \(error)"
            }
        }
    }

    @Test(.timeLimit(.minutes(20)))
    func `every reader ends with everything bad at once, and the store stays correct`() throws {
        try Self.check("everything", count: 300) { seed in
            var plan = World.Plan()
            plan.usesDisk = seed % 2 == 0
            plan.keptFiles = seed % 6 == 4 ? 1 : nil
            plan.diskFaults = .random(seed: seed, oneIn: 100)
            plan.capacityBytes = 400_000
            plan.windowBytes = seed % 3 == 0 ? 200_000 : nil
            let world = try World(seed: seed, plan: plan)
            Self.populate(world)
            Self.addOriginTrouble(to: world)
            let cache = world.cache
            for _ in 0..<world.number(0...3) {
                world.later(.milliseconds(world.number(0...4000))) {
                    cache.remove(ResourceKey(normalized: Self.url)) { _ in }
                }
            }
            return world
        } expect: { _ in
            []
        }
    }

    @Test(.timeLimit(.minutes(20)))
    func `a small quota holds while every reader gets its bytes`() throws {
        try Self.check("quota", count: 300) { seed in
            var plan = World.Plan()
            plan.usesDisk = seed % 3 != 0
            plan.keptFiles = seed % 4 == 1 ? 1 : nil
            plan.quotaBytes = [300_000, 1_000_000, 3_000_000][Int(seed / 3 % 3)]
            let policies: [any EvictionPolicy] = [LeastRecentlyUsed(), LargestFirst(), KeepHeads(bytes: 65_536)]
            plan.policy = policies[Int(seed / 9 % 3)]
            let world = try World(seed: seed, plan: plan)
            let random = world.simulator
            world.origin.follow { _, _ in .paced(Self.pace(random), .correct) }
            for number in 0..<world.number(2...6) {
                let resource = Self.resource("http://origin.test/\(number).mp4", world)
                world.serve(resource)
                for _ in 0..<world.number(1...4) {
                    world.read(Self.script(resource, world), after: .milliseconds(world.number(0...8000)))
                }
            }
            return world
        } expect: { world in
            world.readers.compactMap { reader -> String? in
                guard case .failed(let error)? = reader.outcome, error.code != .rangeNotSatisfiable else { return nil }
                return "\(reader) failed: \(error)"
            }
        }
    }

    /// Bytes outside the index count, too: bytes that were written before a kill prevented their
    /// commit, and files that no entry names any more.
    @Test(.timeLimit(.minutes(20)))
    func `a small quota holds in a process that is killed again and again`() throws {
        for seed in Seeds.list(count: 60) {
            var plan = World.Plan()
            plan.usesDisk = true
            plan.quotaBytes = [300_000, 1_000_000, 3_000_000][Int(seed % 3)]
            for life in 0..<8 as Range<UInt64> {
                let world = try World(seed: seed &+ life << 32, plan: plan)
                let random = world.simulator
                world.origin.follow { _, _ in .paced(Self.pace(random), .correct) }
                for number in 0..<6 as Range<UInt64> {
                    let resource = VirtualResource(
                        url: "http://origin.test/\(number).mp4", seed: seed ^ number, length: 50_000 << Int64(number))
                    world.serve(resource)
                    world.read(Self.script(resource, world), after: .milliseconds(world.number(0...2000)))
                }
                // The last life is not killed: its readers get their bytes from any remaining
                // store.
                if life == 7 { world.run() } else { world.run(steps: Int(world.number(1...1500))) }
                var found = world.violations
                for case .failed(let error)? in world.readers.map(\.outcome) where error.code != .rangeNotSatisfiable {
                    found.append("a reader failed: \(error)")
                }
                plan.disk = world.disk.crash()
                world.shutdown()
                guard found.isEmpty else {
                    Issue.record(
                        "life \(life) of seed \(seed): \(found.joined(separator: "\n"))\nSPOOL_SEED=\(seed) swift test --filter 'CacheWorldTests.*killed'"
                    )
                    return
                }
            }
        }
    }

    /// Adds trouble for ten seconds: wrong answers, new versions, and a lost network. Afterwards
    /// everything works.
    private static func addOriginTrouble(to world: World) {
        let (random, origin) = (world.simulator, world.origin)
        origin.follow { _, _ in .paced(Self.pace(random), Self.behaviour(random)) }
        for _ in 0..<world.number(0...2) {
            let url = world.number(0...1) == 0 ? url : other
            let seed = world.simulator.next() >> 32, length = world.number(0...1_000_000)
            let version = VirtualResource(url: url, seed: seed, length: length)
            let unsafeWorld = Unconfined(world)
            world.later(.milliseconds(world.number(0...5000))) { unsafeWorld.value.serve(version) }
        }
        if world.number(0...1) == 0 {
            let start = world.number(0...3000)
            world.later(.milliseconds(start)) { origin.setOffline(true, breaksTransfers: true) }
            world.later(.milliseconds(start + world.number(1...4000))) { origin.setOffline(false) }
        }
        world.later(.seconds(10)) { origin.follow { _, _ in .correct } }
    }

    private static func behaviour(_ random: any RandomSource) -> OriginBehaviour {
        let position = Int64(random.next(below: 500_000))
        switch random.next(below: 12) {
        case 0: return .ignoresRange
        case 1: return .ignoresIfRange
        case 2: return .shiftedRange(by: Int64(random.next(below: 20)) - 10)
        case 3: return .shorterRange(maxBytes: 1 + position)
        case 4: return .cut(afterBytes: position, .reset, .correct)
        case 5: return .status([403, 404, 410, 500, 503][Int(random.next(below: 5))])
        case 6: return .stall(afterBytes: position, .correct)
        case 7: return .refuse
        case 8: return .fields(["Cache-Control": "no-store"], .correct)
        case 9: return .unknownLength(.chunked, .ignoresRange)
        default: return .correct
        }
    }
}

/// Carries a value into a job of the simulator, where everything runs on one thread.
private struct Unconfined<Value>: @unchecked Sendable {
    let value: Value
    init(_ value: Value) { self.value = value }
}
