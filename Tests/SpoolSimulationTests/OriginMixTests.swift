import Spool
import SpoolCore
import SpoolOrigin
import SpoolStore
import SpoolSystem
import SpoolTesting
import Testing

/// Random mixes of everything that origins do, with clients that seek and leave, and with kills and power losses in between.
///
/// Whatever happens: what a client gets is a prefix of what it asked for, of one version; the store holds bytes of the version that it
/// names; every reader and every request ends.
@Suite struct OriginMixTests {
    @Test(.timeLimit(.minutes(20)))
    func `whatever origins do, clients get bytes of one version, and every request ends`() throws {
        for seed in Seeds.list(count: 200, nightly: 5000) {
            var mix = try OriginMix(seed: seed)
            let found = try mix.run()
            if !found.isEmpty {
                Issue.record("\(mix.report(found))\nSPOOL_SEED=\(seed) swift test -c release --filter OriginMixTests")
                return
            }
        }
    }
}

/// One seed's run: a few starts of the cache, one after another, on one disk.
private struct OriginMix {
    private static let url = "http://origin.test/movie.mp4"
    /// Where redirects lead.
    private static let moved = "http://mirror.test/moved.mp4"
    private static let maxStarts = 4
    /// The steps after which a start is cut off at the latest.
    private static let maxStepsBeforeKill: Int64 = 6000

    private let random: SeededRandom
    private let seed: UInt64
    private var disk: MemoryDisk?
    private var boots = 1
    /// Every version that there was.
    private var history: [VirtualResource]
    /// Where origins end bodies although there is more, and nobody can tell.
    private let falseEnd: Int64
    private let kind: Kind
    private var lastReport = ""

    /// How the origin identifies its versions.
    private enum Kind: CaseIterable {
        case strongTag, weakTag, date, none, renamedTags
    }

    init(seed: UInt64) throws {
        self.seed = seed
        random = SeededRandom(seed: seed ^ 0x0417_5E5E_D00D_F00D)
        kind = Kind.allCases[Int(random.next() % UInt64(Kind.allCases.count))]
        let first = Self.version(1, kind, length: Self.length(random))
        history = [first]
        falseEnd = Int64(random.next() % UInt64(max(1, first.length)))
    }

    func report(_ found: [String]) -> String { "\(kind), \(found.joined(separator: "\n"))\n\(lastReport)" }

    private static func length(_ random: SeededRandom) -> Int64 {
        let most: [UInt64] = [3, 70_000, 300_000, 900_000]
        return Int64(random.next() % most[Int(random.next() % 4)])
    }

    /// The versions differ in length: at equal length without validators nobody can tell them apart (docs/origins.md, F16).
    private static func version(_ number: UInt64, _ kind: Kind, length: Int64) -> VirtualResource {
        var version = VirtualResource(url: url, seed: number, length: length * 8 + Int64(number % 8))
        switch kind {
        case .strongTag, .renamedTags: break
        case .weakTag: version.entityTag = "W/\"w\(number)\""
        case .none: version.entityTag = nil
        case .date:
            version.entityTag = nil
            version.lastModified = Timestamp(seconds: 1_700_000_000 + Int64(number) * 3600)
        }
        return version
    }

    // MARK: Running

    mutating func run() throws -> [String] {
        let starts = 1 + number(0...Int64(Self.maxStarts) - 1)
        for start in 1...starts {
            let world = try makeWorld(seed: seed &* 31 &+ UInt64(start), usesDisk: starts > 1)
            let isKilled = start < starts && number(0...2) > 0
            if isKilled { world.run(steps: Int(number(0...Self.maxStepsBeforeKill))) } else { world.run() }
            var found = world.violations
            if !isKilled, found.isEmpty, !world.origin.log.entries.allSatisfy(\.isOver) {
                found.append("a request to the origin never ended")
            }
            if isKilled, number(0...2) == 0 {
                disk = world.disk.powerLoss(random: SeededRandom(seed: random.next()))
                boots += 1
            } else {
                disk = world.disk.crash()
            }
            if !found.isEmpty { lastReport = world.simulator.report("start \(start) of \(starts)") }
            history = world.versions[Self.url] ?? history
            world.shutdown()
            if !found.isEmpty { return found }
        }
        return []
    }

    private func makeWorld(seed: UInt64, usesDisk: Bool) throws -> World {
        var plan = World.Plan()
        plan.usesDisk = usesDisk
        plan.disk = disk
        plan.bootID = "boot \(boots)"
        plan.buffers = number(0...2) == 0 ? 1 : 16
        plan.windowBytes = number(0...3) == 0 ? 200_000 : nil
        let policy: CachePolicy = [.preferStored, .standard, .storeEverything][Int(number(0...2))]
        plan.configure = { $0.cachePolicy = policy }
        let world = try World(seed: seed, plan: plan)
        for version in history {
            serve(version, in: world)
            // Of an old one, too: it may be what is stored.
            recogniseFalseEnd(of: version, in: world)
        }
        populate(world)
        addTrouble(to: world)
        return world
    }

    private func serve(_ version: VirtualResource, in world: World) {
        world.serve(version)
        var mirror = version
        mirror.url = Self.moved
        world.origin.serve(mirror)
    }

    /// What a false end leaves of a version is all that a client can know of it.
    private func recogniseFalseEnd(of version: VirtualResource, in world: World) {
        if version.length > falseEnd { world.recognise(version.version(seed: version.content.seed, length: falseEnd)) }
    }

    // MARK: Clients

    private func populate(_ world: World) {
        for _ in 0..<number(1...5) {
            world.read(script(), after: .milliseconds(number(0...1) * number(0...4000)))
        }
    }

    private func script() -> WorldReader.Script {
        let length = history.last?.length ?? 1
        let ranges = (0...number(0...3)).map { _ -> (lower: Int64, upper: Int64?) in
            let lower = number(0...2) == 0 ? 0 : number(0...max(0, length))
            return (lower, number(0...2) == 0 ? nil : lower + number(1...max(1, length)))
        }
        var script = WorldReader.Script(url: Self.url, ranges: ranges)
        script.pause = number(0...1) == 0 ? 0 : .milliseconds(number(1...1500))
        if number(0...2) == 0 { script.leavesAfter = number(0...max(1, length)) }
        script.leavesExplicitly = number(0...1) == 0
        script.options.mode = [.automatic, .automatic, .automatic, .reload, .onlyStored, .doNotStore][Int(number(0...5))]
        let policies: [FetchPolicy?] = [nil, nil, .readAhead(bytes: number(1...500_000)), .wholeResource]
        script.options.fetchPolicy = policies[Int(number(0...3))]
        return script
    }

    // MARK: The origin

    /// Answers go wrong one way or another, versions change, the network goes away; after ten seconds all is well.
    private func addTrouble(to world: World) {
        let simulator = world.simulator, origin = world.origin, mix = self
        origin.follow { request, _ in
            request.url == Self.moved ? .correct : mix.behaviour(simulator)
        }
        if number(0...2) == 0 {
            let length = Self.length(random)
            let next = Self.version((history.last?.content.seed ?? 1) + 1, kind, length: length)
            let carried = Carried((mix, world))
            world.later(.milliseconds(number(0...4000))) {
                let (mix, world) = carried.value
                mix.serve(next, in: world)
                mix.recogniseFalseEnd(of: next, in: world)
            }
        }
        if number(0...2) == 0 {
            let start = number(0...3000)
            world.later(.milliseconds(start)) { origin.setOffline(true, breaksTransfers: true) }
            world.later(.milliseconds(start + number(1...3000))) { origin.setOffline(false) }
        }
        world.later(.seconds(10)) { origin.follow { _, _ in .correct } }
    }

    private func behaviour(_ random: any RandomSource) -> OriginBehaviour {
        let pace = SpoolTesting.OriginPace(
            latency: 0...(.milliseconds(Int64(random.next(below: 400)))),
            bytesPerSecond: [nil, 200_000, 2_000_000][Int(random.next(below: 3))],
            chunkBytes: 1000...Int(1000 + random.next(below: 64_000)))
        return .paced(pace, random.next(below: 3) == 0 ? .correct : trouble(random))
    }

    private func trouble(_ random: any RandomSource) -> OriginBehaviour {
        let position = Int64(random.next(below: 300_000))
        let cut: OriginCut = random.next(below: 2) == 0 ? .close : .reset
        switch random.next(below: 30) {
        case 0: return .ignoresRange
        case 1: return .shiftedRange(by: Int64(random.next(below: 40)) - 20)
        case 2, 3: return .shorterRange(maxBytes: 1 + position)
        case 4, 5: return .cut(afterBytes: position, cut, .correct)
        case 6: return .cut(afterBytes: position, cut, .ignoresRange)
        case 7: return .cut(afterBytes: position, .reset, .unknownLength(.chunked, .ignoresRange))
        case 8: return .cut(afterBytes: position, .reset, .unknownLength(.close, .ignoresRange))
        case 9: return .cut(afterBytes: falseEnd, .close, .unknownLength(.close, .ignoresRange))
        case 10: return .fields(["Content-Length": String(falseEnd)], .ignoresRange)
        case 11: return .status([400, 401, 403, 404, 410, 500, 502][Int(random.next(below: 7))])
        case 12: return .status(503, fields: ["Retry-After": String(random.next(below: 60))])
        case 13: return .status(416, fields: random.next(below: 2) == 0 ? [:] : ["Content-Range": "bytes */\(position)"])
        case 14: return .stall(afterBytes: position, .correct)
        case 15: return .silence
        case 16: return .refuse
        case 17: return .raw(Array((random.next(below: 2) == 0 ? "HTTP/1.1 2" : "what?").utf8))
        case 18: return .fields(["Cache-Control": ["no-store", "no-cache", "max-age=1", "private"][Int(random.next(below: 4))]], .correct)
        case 19: return .fields(["Vary": ["*", "Accept", "User-Agent"][Int(random.next(below: 3))]], .correct)
        case 20: return .fields(["Content-Encoding": "gzip"], .correct)
        case 21: return .without(["Content-Range"], .correct)
        case 22: return .fields(["Content-Range": ["bytes 9-5/10", "items 0-9/10", "bytes 0-9/5"][Int(random.next(below: 3))]], .correct)
        case 23: return .unknownLength(.chunked, .correct)
        case 24: return .informational(103, count: Int(random.next(below: 40)), .correct)
        case 25: return .redirect([301, 302, 303, 307, 308][Int(random.next(below: 5))], to: Self.moved)
        case 26: return .status(206, fields: ["Content-Type": "multipart/byteranges; boundary=x"], body: Array("--x\r\n\r\n--x--".utf8))
        case 27: return .fields(["ETag": "\"a\"", "ETag": "\"b\""], .correct)
        // To pay no heed to `If-Range` is only seen where the answer says which version it is of.
        case 28 where kind == .strongTag || kind == .renamedTags: return .ignoresIfRange
        case 29 where kind == .renamedTags: return .fields(["ETag": "\"node-\(random.next(below: 3))-\(position)\""], .correct)
        default: return .correct
        }
    }

    private func number(_ range: ClosedRange<Int64>) -> Int64 {
        range.lowerBound + Int64(random.next() % UInt64(range.upperBound - range.lowerBound + 1))
    }
}

/// Carries a value into a job of the simulator, where everything runs on one thread.
private struct Carried<Value>: @unchecked Sendable {
    let value: Value
    init(_ value: Value) { self.value = value }
}
