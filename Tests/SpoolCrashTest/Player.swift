import Foundation
import Spool
import SpoolCore
import SpoolOrigin
import SpoolStore
import SpoolSystem
import SpoolTesting

/// The process that is killed: players that read and seek at random, on the real disk, from an
/// origin in the same process.
///
/// Writes to standard output, for its parent, each commit (`c URL bytes`), each eviction (`e URL`)
/// and each error (`w …`).
struct Player {
    static let players = 4

    let life: CrashOptions.Life

    init(_ life: CrashOptions.Life) { self.life = life }

    func play() async throws {
        let random = SeededRandom(seed: life.seed)
        let time = SystemTime()
        let lanes = ["control", "index", "sync", "data-0", "data-1", "origin"].map { DiskLane(name: $0) }
        let origin = ScriptedOrigin(Programme.resources, mailbox: lanes[5], time: time, random: SystemRandom())
        var environment = CacheEnvironment(
            time: time, random: SystemRandom(), transport: origin, control: lanes[0], indexLane: lanes[1],
            dataLanes: Array(lanes[3...4]))
        environment.syncLane = lanes[2]
        var configuration = Configuration()
        configuration.limits.quotaBytes = life.quotaBytes
        configuration.events = [Reporter()]
        let store = try SQLiteStore(
            directory: life.directory, fileSystem: POSIXFileSystem(), random: SystemRandom(), options: SQLiteStore.Options())
        let cache = try MediaCache(configuration: configuration, environment: environment, store: store)
        Reporter.say("r")
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<Self.players {
                let seed = random.next()
                group.addTask { await Self.watch(cache, SeededRandom(seed: seed)) }
            }
        }
    }

    /// Plays one resource after the other until the process ends.
    private static func watch(_ cache: MediaCache, _ random: SeededRandom) async {
        while true {
            let resource = Programme.resources[Int(random.next(below: UInt64(Programme.resources.count)))]
            let lower = random.next(below: 3) == 0 ? 0 : Int64(random.next(below: UInt64(resource.length)))
            let upper = random.next(below: 2) == 0 ? resource.length : min(resource.length, lower + 1 + Int64(random.next(below: 200_000)))
            do {
                var position = lower
                for try await chunk in try cache.reader(for: resource.url).chunks(in: lower..<upper) {
                    let difference = chunk.withUnsafeBytes { resource.content.firstDifference(in: $0, at: position) }
                    if let difference { Reporter.say("w \(resource.url) is wrong at \(position + Int64(difference))") }
                    position += Int64(chunk.count)
                    if random.next(below: 20) == 0 { break }
                }
            } catch {
                Reporter.say("w \(resource.url): \(error)")
            }
        }
    }
}

/// Writes each event to standard output as one line, so that a kill between two events leaves whole
/// lines.
struct Reporter: EventSink {
    func record(_ event: CacheEvent) {
        switch event {
        case .bytesCommitted(let key, let bytes): Self.say("c \(key) \(bytes)")
        case .evicted(let key, _, _), .removed(let key): Self.say("e \(key)")
        case .representationReplaced(let key, _, _): Self.say("w \(key) was replaced")
        case .damageFound(let key, let bytes): Self.say("w \(bytes) stored bytes of \(key) are damaged")
        default: break
        }
    }

    static func say(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = bytes.withUnsafeBytes { write(1, $0.baseAddress, $0.count) }
    }
}
