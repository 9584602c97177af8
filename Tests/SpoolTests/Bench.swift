import Spool
import SpoolCore
import SpoolOrigin
import SpoolStore
import SpoolSystem
import SpoolTesting
import Testing

/// A cache on real lanes and clocks, with a scripted origin and a store in memory.
final class Bench: Sendable {
    static let url = "http://origin.test/movie.mp4"

    let origin: ScriptedOrigin
    let store: any ResourceStore
    let cache: MediaCache
    let resource: VirtualResource
    private let lanes: [DiskLane]

    init(
        length: Int64, store: any ResourceStore = MemoryStore(), behaviour: @escaping @Sendable () -> OriginBehaviour = { .correct },
        configuration: Configuration = Configuration(), time: any TimeSource = SystemTime()
    ) throws {
        let random = SeededRandom(seed: 1)
        lanes = ["origin", "control", "index", "data 0", "data 1"].map { DiskLane(name: $0) }
        resource = VirtualResource(url: Self.url, seed: 7, length: length)
        origin = ScriptedOrigin([resource], mailbox: lanes[0], time: time, random: random) { _, _ in behaviour() }
        self.store = store
        let environment = CacheEnvironment(
            time: time, random: random, transport: origin, control: lanes[1], indexLane: lanes[2], dataLanes: [lanes[3], lanes[4]],
            shutDown: { [lanes] in for lane in lanes { lane.shutdown() } })
        cache = try MediaCache(configuration: configuration, environment: environment, store: store)
    }

    /// SQLite on a disk in memory.
    static func sqlite(on disk: MemoryDisk) throws -> SQLiteStore {
        var options = SQLiteStore.Options()
        options.usesFileSystemForIndex = true
        return try SQLiteStore(directory: "/cache", fileSystem: disk, random: SeededRandom(seed: 2), options: options)
    }

    func reader(_ options: ReadOptions = ReadOptions()) throws -> ByteReader { try cache.reader(for: Self.url, options: options) }

    var key: ResourceKey {
        get throws { try cache.key(for: Self.url) }
    }

    var requests: [OriginLog.Entry] { origin.log.entries }

    /// The offset of the first wrong byte of `[lower, lower + bytes.count)`.
    func difference(_ bytes: [UInt8], at lower: Int64, of version: VirtualResource? = nil) -> Int? {
        bytes.withUnsafeBytes { (version ?? resource).content.firstDifference(in: $0, at: lower) }
    }

    /// Reads `range`, compares it with the origin's bytes, and returns the number of bytes read.
    func read(_ reader: ByteReader, _ range: Range<Int64>) async throws -> Int64 {
        var position = range.lowerBound
        for try await chunk in reader.chunks(in: range) {
            #expect(difference(chunk, at: position) == nil)
            position += Int64(chunk.count)
        }
        return position - range.lowerBound
    }

    /// The stored ranges as the session sees them. They need no commit.
    func stored() async throws -> ByteRangeSet {
        try await cache.status(of: key)?.stored ?? ByteRangeSet()
    }
}
