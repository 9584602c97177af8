import AVFoundation
import Spool
import SpoolAVFoundation
import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// The table of hostile origins at the AVFoundation door (docs/origins.md): the answer, the stored
/// bytes, and the requests to the origin.
@Suite(.timeLimit(.minutes(20))) struct OriginCaseTests {
    @Test(arguments: OriginCase.all.filter(\.isForLoader))
    func `each hostile origin leads to the answer of its row`(row: OriginCase) throws {
        for seed in OriginCaseRun.seeds {
            let run = try OriginCaseRun(row, seed: seed)
            let differences = try run.play().differences(from: row.loaderOutcome)
            #expect(differences.isEmpty, "an origin that \(row.name), seed \(seed)\n\(differences.joined(separator: "\n"))")
            #expect(run.breaches == [])
        }
    }
}

/// Plays one row with an asset for each of its clients, on one simulated machine.
private final class OriginCaseRun {
    private let row: OriginCase
    private let door: DoorWorld
    private let script = OriginCaseScript()
    /// Further away than the disk, and slower than the loader: the stored bytes are found before the
    /// origin answers, and the request of the player joins the first fetch before it brings bytes.
    /// Without the rate, the head and all bytes arrive at one moment. Then the order of the threads
    /// decides whether a response that is cut off has ended before the player's request joins it,
    /// and both outcomes of the rows 18 to 22 are right.
    private static let pace = OriginPace(latency: 20_000_000...20_000_000, bytesPerSecond: 100_000_000)
    /// Orders of the threads. No outcome depends on them.
    static let seeds: [UInt64] = Array(1...8)

    init(_ row: OriginCase, seed: UInt64) throws {
        self.row = row
        var plan = World.Plan()
        plan.configure = row.configure
        door = try DoorWorld(seed: seed, plan: plan)
        let script = script
        door.world.origin.follow { request, _ in .paced(Self.pace, script.behaviour(of: request)) }
        door.world.serve(row.resource)
    }

    var breaches: [String] { door.breaches }

    func play() throws -> OriginCase.Outcome {
        var answers: [String] = []
        for step in row.steps {
            switch step {
            case .follow(let behaviours): script.follow(behaviours)
            case .route(let path, let behaviour): script.route(path, behaviour)
            case .serve(let version): door.world.serve(version)
            case .offline(let isOffline): door.world.origin.setOffline(isOffline)
            case .closeConnections, .agent: break
            case .ask(let ask): answers.append(try words(for: ask))
            }
        }
        // Lingering fetches end, and received bytes are stored.
        door.pass(.seconds(5))
        return OriginCase.Outcome(
            answers: answers.joined(separator: "; "), stored: try storedWords(), requests: row.words(for: door.requests))
    }

    private func words(for ask: OriginCase.Ask) throws -> String {
        let asset = door.factory.asset(for: try #require(URL(string: row.resource.url)))
        guard asset.route == .cache else { return "the original" }
        let part = ask.ranges[0]
        let length = part.upper.map { Int($0 - part.lower) }
        let load = door.load(asset, information: true, part.lower, length ?? .max, toEnd: length == nil)
        #expect(door.runToEnd())
        if load.redirect != nil { return "the original" }
        guard !load.bytes.isEmpty else { return load.error == nil ? "nothing" : "error" }
        return row.words(for: load.bytes, at: part.lower) + (load.error == nil ? "" : ", cut")
    }

    private func storedWords() throws -> String {
        let cache = door.world.cache
        let key = try cache.key(for: row.resource.url)
        let answer = Locked<Result<ResourceStatus?, CacheError>?>(nil)
        cache.status(of: key) { result in answer.withLock { $0 = result } }
        #expect(door.run { answer.withLock { $0 } != nil })
        guard let status = try answer.withLock({ $0 })?.get(), let stored = try cache.store.lookup(key) else { return "nothing" }
        let file = try cache.store.dataFile(of: stored.generation, key: key, fileExtension: stored.fileExtension)
        return try row.words(stored: stored.spans, isComplete: status.isComplete) { range in
            var bytes = [UInt8](repeating: 0, count: Int(range.count))
            let count = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: range.lowerBound) }
            return Array(bytes.prefix(count))
        }
    }
}
