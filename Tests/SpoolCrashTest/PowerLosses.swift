import Spool
import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting

/// Tests lives of a store on a recording disk. The power fails after a random change of the disk;
/// of the unsynced pages, any subset is lost, zeroed or torn. The index is on the same disk.
enum PowerLosses {
    /// The number of cuts of one life. A new life costs more than a cut.
    private static let cutsPerLife = 50

    /// Tries `count` cuts, and throws the errors of the first bad one.
    static func run(count: Int, seed: UInt64) throws {
        let seeds = SeededRandom(seed: seed)
        for first in stride(from: 0, to: count, by: cutsPerLife) {
            let seed = count <= cutsPerLife ? seed : seeds.next() >> 24
            let life = try StoreLife(seed: seed)
            let random = SeededRandom(seed: seed ^ 0xC0FFEE)
            for _ in first..<min(count, first + cutsPerLife) {
                let change = Int(random.next(below: UInt64(life.disk.operationCount) + 1))
                let rest = life.disk.powerLoss(keeping: change, random: SeededRandom(seed: random.next()))
                let problems = try look(at: rest, life, change, random)
                guard problems.isEmpty else {
                    throw CrashOptions.Complaint(
                        description: "life \(seed), power lost behind change \(change): \(problems.joined(separator: "; "))")
                }
            }
        }
    }

    /// Returns the errors of the disk after a power loss. In one case of four, the power fails
    /// again while the store is being opened.
    private static func look(at rest: MemoryDisk, _ life: StoreLife, _ count: Int, _ random: SeededRandom) throws -> [String] {
        var disk = rest
        if random.next(below: 4) == 0 {
            let store = try StoreLife.open(disk, boot: "second boot")
            if random.next(below: 2) == 0 { try store.makeDurable() }
            disk = disk.powerLoss(random: SeededRandom(seed: random.next()))
            withExtendedLifetime(store) {}
        }
        let store = try StoreLife.open(disk, boot: "third boot")
        var problems: [String] = []
        let floor = life.survivors(after: count)
        for film in life.films {
            let (spans, wrong) = try film.readable(in: store)
            problems += wrong
            guard let wanted = floor[film.key] else { continue }
            let lost = wanted.spans.subtracting(spans)
            if !lost.isEmpty { problems.append("\(film.key) lost \(lost), which was durable") }
        }
        // The store remains usable.
        let film = StoreSample("after")
        try film.store([0..<100_000], of: store.makeGeneration(), in: store)
        try store.close()
        let again = try StoreLife.open(disk.crash(), boot: "fourth boot")
        for film in life.films + [film] { problems += try film.readable(in: again).wrong }
        if try film.readable(in: again).spans != .of(0..<100_000) { problems.append("the store does not go on") }
        try again.close()
        return problems
    }

    /// Tests the whole engine: readers are active when the power fails or the process is killed,
    /// and the next start serves the origin's bytes.
    static func runWorlds(count: Int, seed: UInt64) throws {
        let seeds = SeededRandom(seed: seed)
        for _ in 0..<count {
            let seed = count == 1 ? seed : seeds.next() >> 24
            let problems = try stopWorlds(seed: seed)
            guard problems.isEmpty else {
                throw CrashOptions.Complaint(description: "worlds of seed \(seed): \(problems.joined(separator: "; "))")
            }
        }
    }

    private static func stopWorlds(seed: UInt64) throws -> [String] {
        let random = SeededRandom(seed: seed)
        var plan = World.Plan()
        plan.usesDisk = true
        let resources = (0..<2).map { number in
            VirtualResource(
                url: "http://origin.test/\(number).mp4", seed: random.next() >> 32, length: 1 + Int64(random.next(below: 900_000)))
        }
        var problems: [String] = []
        for round in 0..<4 where problems.isEmpty {
            let world = try World(seed: seed &+ UInt64(round), plan: plan)
            let isLast = round == 3
            for resource in resources {
                world.serve(resource)
                for _ in 0..<2 { world.read(script(resource, world, isWhole: isLast)) }
            }
            if isLast { world.run() } else { world.run(steps: Int(world.number(1...3000))) }
            problems = world.violations
            for reader in world.readers {
                if case .failed(let error)? = reader.outcome { problems.append("\(reader) failed: \(error)") }
            }
            let isPowerLoss = random.next(below: 2) == 0
            plan.disk = isPowerLoss ? world.disk.powerLoss(random: random) : world.disk.crash()
            if isPowerLoss { plan.bootID = "boot \(round)" }
            world.shutdown()
        }
        return problems
    }

    private static func script(_ resource: VirtualResource, _ world: World, isWhole: Bool) -> WorldReader.Script {
        let lower = isWhole ? 0 : world.number(0...resource.length - 1)
        var script = WorldReader.Script(url: resource.url, ranges: [(lower: lower, upper: nil)])
        script.pause = isWhole ? 0 : .milliseconds(world.number(0...2000))
        return script
    }
}

/// A random life of a store on a recording disk, and the entries that must survive a power loss at
/// each of its moments.
struct StoreLife {
    struct Entry {
        var generation: GenerationID
        var spans = ByteRangeSet()
    }

    private enum Event {
        /// Everything of these entries is durable from the change `after` on.
        case durable([ResourceKey: Entry], after: Int)
        /// From the change `after` on, these bytes of a key may be gone, or all of them if nil.
        case takenAway(ResourceKey, ByteRangeSet?, after: Int)
    }

    static let steps = 30

    let disk = MemoryDisk(isRecording: true)
    let films = ["a", "b", "c"].map { StoreSample("https://media.example/\($0)") }
    private var events: [Event] = []
    private var entries: [ResourceKey: Entry] = [:]
    private var store: SQLiteStore
    private var files: [GenerationID: any DataFile] = [:]
    private let random: SeededRandom

    static func open(_ disk: MemoryDisk, boot: String) throws(StoreError) -> SQLiteStore {
        var options = SQLiteStore.Options()
        options.usesFileSystemForIndex = true
        options.bootID = boot
        options.processID = 1
        return try SQLiteStore(directory: "/cache", fileSystem: disk, random: SeededRandom(seed: 7), options: options)
    }

    init(seed: UInt64) throws {
        random = SeededRandom(seed: seed)
        store = try Self.open(disk, boot: "first boot")
        for _ in 0..<Self.steps { try step() }
        files = [:]
    }

    private mutating func step() throws {
        let film = films[Int(random.next(below: 3))]
        switch random.next(below: 16) {
        case 0: try remove(film)
        case 1: try replace(film)
        case 2: try discard(film)
        case 3: try reopen()
        case 4...6: try makeDurable(film, growsMeanwhile: false)
        case 7, 8: try makeDurable(film, growsMeanwhile: true)
        default: try grow(film)
        }
    }

    private mutating func grow(_ film: StoreSample) throws {
        var entry = entries[film.key] ?? Entry(generation: store.makeGeneration())
        let lengths: [UInt64] = [10, 3000, 70_000, 300_000]
        let lower = Int64(random.next(below: 500_000))
        let range = ByteRange(lower: lower, upper: lower + 1 + Int64(random.next(below: lengths[Int(random.next(below: 4))])))
        let gaps = entry.spans.gaps(in: range)
        files[entry.generation] = try film.store(gaps.map { $0.lowerBound..<$0.upperBound }, of: entry.generation, in: store)
        for gap in gaps { entry.spans.insert(gap) }
        entries[film.key] = entry
    }

    private mutating func makeDurable(_ film: StoreSample, growsMeanwhile: Bool) throws {
        let covered = entries
        let point = try store.beginDurablePoint()
        if growsMeanwhile { try grow(film) }
        point?.synchronize()
        if growsMeanwhile { try grow(film) }
        if let point, let failure = store.finish(point).failure { throw failure }
        events.append(.durable(covered, after: disk.operationCount))
    }

    private mutating func reopen() throws {
        files = [:]
        try store.close()
        events.append(.durable(entries, after: disk.operationCount))
        store = try Self.open(disk, boot: "first boot")
    }

    private mutating func remove(_ film: StoreSample) throws {
        guard let entry = entries.removeValue(forKey: film.key) else { return }
        events.append(.takenAway(film.key, nil, after: disk.operationCount))
        _ = try store.remove(film.key)
        files[entry.generation] = nil
    }

    private mutating func replace(_ film: StoreSample) throws {
        events.append(.takenAway(film.key, nil, after: disk.operationCount))
        entries[film.key] = nil
        try grow(film)
    }

    private mutating func discard(_ film: StoreSample) throws {
        guard let entry = entries[film.key] else { return }
        let lower = Int64(random.next(below: 8)) * Piece.blockBytes
        let gone = ByteRangeSet([ByteRange(lower: lower, upper: lower + Piece.blockBytes * Int64(1 + random.next(below: 3)))])
        events.append(.takenAway(film.key, gone, after: disk.operationCount))
        try store.discard(gone, of: entry.generation)
        entries[film.key]?.spans.subtract(gone)
        for range in gone.ranges { _ = try files[entry.generation]?.punch(range) }
    }

    /// Returns the entries that must exist after a power loss at a change.
    func survivors(after count: Int) -> [ResourceKey: Entry] {
        var survivors: [ResourceKey: Entry] = [:]
        for event in events {
            switch event {
            case .durable(let entries, let after): if after <= count { survivors = entries }
            case .takenAway(let key, let gone, let after):
                guard after <= count else { continue }
                if let gone { survivors[key]?.spans.subtract(gone) } else { survivors[key] = nil }
            }
        }
        return survivors
    }
}

extension StoreSample {
    /// Returns the spans of this resource that a reader gets, and the errors in their bytes.
    func readable(in store: SQLiteStore) throws -> (spans: ByteRangeSet, wrong: [String]) {
        guard let found = try store.lookup(key), !found.spans.isEmpty else { return (ByteRangeSet(), []) }
        let file = try store.dataFile(of: found.generation, key: key, fileExtension: found.fileExtension)
        let spans = try found.spans.subtracting(store.damagedSpans(of: found, in: file))
        var wrong: [String] = []
        for span in spans.ranges {
            let bytes = try file.bytes(at: span.lowerBound, count: Int(span.count))
            if bytes != pattern(found.generation.rawValue, at: span.lowerBound, count: Int(span.count)) {
                wrong.append("bytes of \(key) \(found.generation) are wrong in \(span)")
            }
        }
        if found.representation != representation { wrong.append("\(key) is described as \(found.representation)") }
        return (spans, wrong)
    }
}
