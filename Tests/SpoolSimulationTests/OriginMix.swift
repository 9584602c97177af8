import Foundation
import Spool
import SpoolCore
import SpoolOrigin
import SpoolStore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting

/// One seed's run of an origin with every known behaviour, and of its clients: a few starts of the
/// cache, one after another, on one disk.
///
/// The origin has a random history of versions. Some have the same length, and each has its own
/// validator: a strong tag, a weak one (perhaps that of another version), a date, or none. Answers
/// are wrong in every way that a client can notice: ranges that are ignored or wrong, bodies that
/// end early, pages in place of media, parts that claim to be the whole, lengths beyond 2^60.
struct OriginMix {
    private static let url = "http://origin.test/movie.mp4"
    /// The target of redirects.
    private static let moved = "http://mirror.test/moved.mp4"
    private static let maxStarts = 4
    /// The steps after which a start is killed at the latest.
    private static let maxStepsBeforeKill: Int64 = 6000
    /// The maximal number of requests for each range that a reader requests: the trouble lasts ten
    /// seconds.
    private static let maxRequests = 50

    private let random: SeededRandom
    private let seed: UInt64
    private var disk: MemoryDisk?
    private var boots = 1
    /// All versions so far.
    private var history: [VirtualResource]
    /// The offset at which origins end longer bodies in a way that no client can detect.
    private let falseEnd: Int64
    private let kind: Kind
    /// Whether all versions have the same length, so that only their validators distinguish them.
    private let hasEqualLengths: Bool
    /// Whether the origin keeps its one version, and is wrong only in ways that do not affect it.
    /// Then no stored byte may be lost.
    private let isSteady: Bool
    private var lastReport = ""

    /// The way in which the origin identifies its versions. With `mixed`, each version has its own
    /// way.
    private enum Kind: CaseIterable {
        case strongTag, weakTag, date, none, renamedTags, mixed
    }

    /// The page that the origin sometimes sends in place of media.
    private static let page = OriginContent(seed: 0xF0_0D)
    private static let pageBytes: Int64 = 700
    /// Numbers around the bound of offsets.
    private static let extremes: [UInt64] = [
        1 << 60 - 1, 1 << 60, 1 << 60 + 1, 1 << 62, UInt64(Int64.max) - 4096, UInt64(Int64.max) - 1, UInt64(Int64.max),
        UInt64(Int64.max) + 1, .max,
    ]

    private init(seed: UInt64) throws {
        self.seed = seed
        random = SeededRandom(seed: seed ^ 0x0417_5E5E_D00D_F00D)
        isSteady = random.next() % 4 == 0
        kind = isSteady ? .strongTag : Kind.allCases[Int(random.next() % UInt64(Kind.allCases.count))]
        hasEqualLengths = random.next() % 2 == 0
        let first = Self.version(1, kind, length: Self.length(random), random)
        history = [first]
        falseEnd = Int64(random.next() % UInt64(max(1, first.length)))
    }

    /// Runs a seed. Returns nil for a correct run, or else the violations and the events that led
    /// to them.
    static func story(ofSeed seed: UInt64) throws -> String? {
        var mix = try OriginMix(seed: seed)
        let found = try mix.run()
        return found.isEmpty ? nil : mix.report(found)
    }

    private func report(_ found: [String]) -> String { "\(kind), \(found.joined(separator: "\n"))\n\(lastReport)" }

    private static func length(_ random: SeededRandom) -> Int64 {
        let most: [UInt64] = [3, 70_000, 300_000, 900_000]
        return Int64(random.next() % most[Int(random.next() % 4)])
    }

    private static func version(
        _ number: UInt64, _ kind: Kind, length: Int64, _ random: SeededRandom
    ) -> VirtualResource {
        var version = VirtualResource(url: url, seed: number, length: length)
        switch kind {
        case .strongTag, .renamedTags: break
        case .weakTag: version.entityTag = "W/\"w\(number)\""
        case .none: version.entityTag = nil
        case .date:
            version.entityTag = nil
            version.lastModified = Timestamp(seconds: 1_700_000_000 + Int64(number) * 3600)
        case .mixed:
            // A weak tag may be that of another version: it identifies equivalent content.
            if random.next() % 4 == 0 {
                version.entityTag = "W/\"same\""
            } else {
                return Self.version(number, [.strongTag, .weakTag, .date, .none][Int(random.next() % 4)], length: length, random)
            }
        }
        return version
    }

    // MARK: Running

    private mutating func run() throws -> [String] {
        let starts = 1 + number(0...Int64(Self.maxStarts) - 1)
        for start in 1...starts {
            let world = try makeWorld(seed: seed &* 31 &+ UInt64(start), usesDisk: starts > 1)
            let isKilled = start < starts && number(0...2) > 0
            let before = try storedBytes(in: world)
            if isKilled { world.run(steps: Int(number(0...Self.maxStepsBeforeKill))) } else { world.run() }
            var found = world.violations
            if !isKilled, found.isEmpty, !world.origin.log.entries.allSatisfy(\.isOver) {
                found.append("a request to the origin never ended")
            }
            let lost = before.subtracting(try storedBytes(in: world))
            if !lost.isEmpty { found.append("no answer said anything about the version, and \(lost.ranges) is stored no more") }
            let wishes = world.readers.reduce(0) { $0 + $1.script.ranges.count }
            if world.origin.log.entries.count > wishes * Self.maxRequests { found.append("\(world.origin.log.entries.count) requests") }
            if isKilled, !isSteady, number(0...2) == 0 {
                disk = world.disk.powerLoss(random: SeededRandom(seed: random.next()))
                boots += 1
            } else {
                disk = world.disk.crash()
            }
            history = world.versions[Self.url] ?? history
            // The killed world is closed afterwards. Otherwise its cache and its transfers would
            // retain each other for ever.
            if isKilled, found.isEmpty {
                world.close()
                found = world.violations
            }
            if !found.isEmpty { lastReport = world.simulator.report("start \(start) of \(starts)\n\(Self.requests(in: world))") }
            world.shutdown()
            if !found.isEmpty { return found }
        }
        return []
    }

    /// Returns the stored bytes of a run in which none may get lost, and otherwise an empty set.
    private func storedBytes(in world: World) throws -> ByteRangeSet {
        isSteady && world.plan.usesDisk ? try world.storedBytes(of: Self.url) : ByteRangeSet()
    }

    /// Returns the versions and the requests of a run as text.
    private static func requests(in world: World) -> String {
        let versions = (world.versions[url] ?? []).map { version in
            "version \(version.content.seed): \(version.length) bytes, \(version.entityTag ?? version.lastModified.map { "\($0)" } ?? "-")"
        }
        let requests = world.origin.log.entries.map { entry in
            let fields = ["Range", "If-Range", "If-None-Match", "If-Modified-Since"].compactMap { entry.request.fields[$0] }
            let answer = ["Content-Range", "Content-Length", "ETag", "Last-Modified", "Content-Type"].compactMap { entry.answer[$0] }
            let status = entry.status.map { "\($0)" } ?? "none"
            return "\(entry.time) \(entry.request.url) \(fields): \(status) \(answer), \(entry.handedOverBytes) bytes"
        }
        let readers = world.readers.map { reader in
            let options = reader.script.options
            return "reader \(reader.number): \(reader.script.ranges), \(options.mode), asks first: \(reader.script.asksFirst), "
                + "\(reader.readBytes) bytes, \(reader.outcome.map { "\($0)" } ?? "not over")"
        }
        return (versions + readers + requests).joined(separator: "\n")
    }

    private func makeWorld(seed: UInt64, usesDisk: Bool) throws -> World {
        var plan = World.Plan()
        plan.usesDisk = usesDisk
        plan.disk = disk
        plan.bootID = "boot \(boots)"
        plan.buffers = number(0...2) == 0 ? 1 : 16
        plan.windowBytes = number(0...3) == 0 ? 200_000 : nil
        let policy: CachePolicy = [.preferStored, .standard, .storeEverything][Int(number(0...2))]
        plan.configure = { $0.freshness.policy = policy }
        let world = try World(seed: seed, plan: plan)
        for version in history {
            serve(version, in: world)
            // The request may name an old version, because that may be the stored one.
            recogniseFalseEnd(of: version, in: world)
        }
        world.recognise(Self.pageVersion)
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

    /// Adds the beginning of a version up to a false end: a client can't detect that there is more.
    private func recogniseFalseEnd(of version: VirtualResource, in world: World) {
        guard version.length > falseEnd else { return }
        var beginning = version
        beginning.length = falseEnd
        world.recognise(beginning)
    }

    /// The page as a version, for an origin that has nothing else.
    private static var pageVersion: VirtualResource {
        var version = VirtualResource(url: url, seed: page.seed, length: pageBytes, contentType: "text/html")
        version.entityTag = nil
        return version
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
            if number(0...19) == 0 { return extremeRange() }
            let lower = number(0...2) == 0 ? 0 : number(0...max(0, length))
            return (lower, number(0...2) == 0 ? nil : lower + number(1...max(1, length)))
        }
        var script = WorldReader.Script(url: Self.url, ranges: ranges)
        script.pause = number(0...1) == 0 ? 0 : .milliseconds(number(1...1500))
        if number(0...2) == 0 { script.leavesAfter = number(0...max(1, length)) }
        script.leavesExplicitly = number(0...1) == 0
        script.asksFirst = number(0...1) == 0
        script.options.mode = [.automatic, .automatic, .automatic, .reload, .onlyStored, .doNotStore][Int(number(0...5))]
        let policies: [FetchPolicy?] = [nil, nil, .readAhead(bytes: number(1...500_000)), .wholeResource]
        script.options.fetchPolicy = policies[Int(number(0...3))]
        return script
    }

    /// Returns a range that begins or ends where no byte can be.
    private func extremeRange() -> (lower: Int64, upper: Int64?) {
        let far = Int64(clamping: Self.extremes[Int(number(0...Int64(Self.extremes.count) - 1))])
        switch number(0...2) {
        case 0: return (far, nil)
        case 1: return (far, .max)
        default: return (number(0...1000), far)
        }
    }

    // MARK: The origin

    /// Adds trouble for ten seconds: wrong answers, new versions, and a lost network. Afterwards
    /// everything works.
    private func addTrouble(to world: World) {
        let simulator = world.simulator, origin = world.origin, mix = self
        let carried = Carried((mix, world))
        origin.follow { request, _ in
            request.url == Self.moved ? .correct : mix.behaviour(simulator, to: request, carried.value.1)
        }
        for count in 0..<UInt64(isSteady ? 0 : number(0...5) / 2) {
            // Sometimes an old version comes back.
            let isOld = number(0...4) == 0
            let next = isOld ? history[Int(number(0...Int64(history.count) - 1))] : newVersion(plus: count)
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

    /// Returns a new version. `plus` is the number of versions already made from the same history.
    private func newVersion(plus count: UInt64) -> VirtualResource {
        let newest = history.map(\.content.seed).max() ?? 1
        let length = hasEqualLengths ? history[0].length : Self.length(random)
        return Self.version(newest + 1 + count, kind, length: length, random)
    }

    private func behaviour(_ random: any RandomSource, to request: OriginRequest, _ world: World) -> OriginBehaviour {
        let pace = SpoolTesting.OriginPace(
            latency: 0...(.milliseconds(Int64(random.next(below: 400)))),
            bytesPerSecond: [nil, 200_000, 2_000_000][Int(random.next(below: 3))],
            chunkBytes: 1000...Int(1000 + random.next(below: 64_000)))
        guard random.next(below: 3) > 0 else { return .paced(pace, .correct) }
        if isSteady { return .paced(pace, passingTrouble(random, world)) }
        if random.next(below: 6) == 0 { return .paced(pace, falsehood(random, request, world)) }
        return .paced(pace, trouble(random))
    }

    /// Returns answers that contradict themselves or the request, or contain invalid numbers.
    private func falsehood(_ random: any RandomSource, _ request: OriginRequest, _ world: World) -> OriginBehaviour {
        let number = Self.extremes[Int(random.next(below: UInt64(Self.extremes.count)))]
        // The offset at which the body of a 206 begins.
        let lower = request.fields["Range"].flatMap { Int64($0.dropFirst("bytes=".count).prefix { $0 != "-" }) } ?? 0
        switch random.next(below: 8) {
        case 0, 1: return page(type: random.next(below: 3) == 0 ? "video/mp4" : "text/html")
        case 2: return partAsWhole(random, world)
        case 3: return .fields(["Content-Length": "\(number)"], .ignoresRange)
        case 4: return .fields(["Content-Length": "\(number)"], .unknownLength(.close, .ignoresRange))
        case 5: return .fields(["Content-Range": "bytes \(lower)-\(number - 1)/\(number)"], .unknownLength(.close, .correct))
        case 6: return .fields(["Content-Range": "bytes \(number - 1)-\(number)/*"], .correct)
        default: return .status(416, fields: ["Content-Range": "bytes */\(number)"])
        }
    }

    private func page(type: String) -> OriginBehaviour {
        .status(200, fields: ["Content-Type": type], body: Self.page.bytes(at: 0, count: Int(Self.pageBytes)))
    }

    /// Returns trouble that does not affect the version: temporary errors, and answers that
    /// contradict themselves.
    private func passingTrouble(_ random: any RandomSource, _ world: World) -> OriginBehaviour {
        let position = Int64(random.next(below: 300_000))
        switch random.next(below: 14) {
        case 0, 1: return page(type: "text/html")
        case 2: return partAsWhole(random, world)
        case 3: return .shiftedRange(by: Int64(random.next(below: 40)) - 20)
        case 4: return .shorterRange(maxBytes: 1 + position)
        case 5: return .cut(afterBytes: position, .reset, .correct)
        case 6: return .cut(afterBytes: position, .close, .ignoresRange)
        case 7: return .status([400, 401, 403, 500, 502, 503][Int(random.next(below: 6))])
        case 8: return .stall(afterBytes: position, .correct)
        case 9: return .silence
        case 10: return .raw(Array((random.next(below: 2) == 0 ? "HTTP/1.1 2" : "what?").utf8))
        case 11: return .without(["Content-Range"], .correct)
        case 12: return .fields(["Content-Range": ["bytes 9-5/10", "items 0-9/10", "bytes 0-9/5"][Int(random.next(below: 3))]], .correct)
        default: return .status(206, fields: ["Content-Type": "multipart/byteranges; boundary=x"], body: Array("--x\r\n\r\n--x--".utf8))
        }
    }

    /// Returns a 200 with a part as its body and a Content-Range that states it.
    private func partAsWhole(_ random: any RandomSource, _ world: World) -> OriginBehaviour {
        guard let version = world.versions[Self.url]?.last, version.length > 1 else { return .correct }
        let lower = Int64(random.next(below: UInt64(version.length - 1)))
        let count = 1 + Int64(random.next(below: UInt64(min(version.length - lower - 1, 100_000)) + 1))
        var fields: HTTPFields = ["Content-Range": "bytes \(lower)-\(lower + count - 1)/\(version.length)"]
        fields["ETag"] = version.entityTag
        return .status(200, fields: fields, body: version.content.bytes(at: lower, count: Int(count)))
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
        // Ignoring `If-Range` is visible only where the answer identifies its version.
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
