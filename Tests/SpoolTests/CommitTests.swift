import Spool
import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// When written bytes are entered into the index, which bounds the loss at a kill and at a power
/// cut.
@Suite struct `Commits of written bytes` {
    private static let MiB: Int64 = 1 << 20
    /// The largest write. One more may be under way when the earlier ones are due.
    private static let writeBytes = MiB

    /// The time of one commit, and its bytes.
    private struct Entry: Equatable {
        var time: MonotonicInstant
        var bytes: Int64
    }

    private final class Entries: EventSink {
        private let time: Simulator
        private let state = Locked<[Entry]>([])

        init(_ time: Simulator) { self.time = time }

        func record(_ event: CacheEvent) {
            guard case .bytesCommitted(_, let bytes) = event else { return }
            let now = time.now
            state.withLock { $0.append(Entry(time: now, bytes: bytes)) }
        }

        var all: [Entry] { state.withLock { $0 } }
        var bytes: Int64 { all.reduce(0) { $0 + $1.bytes } }
    }

    /// Counts the syncs that are posted.
    private final class CountingMailbox: Mailbox {
        private let mailbox: any Mailbox
        private let posted = Locked(0)

        init(_ mailbox: any Mailbox) { self.mailbox = mailbox }

        func post(_ job: @escaping @Sendable () -> Void) {
            posted.withLock { $0 += 1 }
            mailbox.post(job)
        }

        var count: Int { posted.withLock { $0 } }
    }

    /// A film that arrives at a steady rate into a store with an index.
    private struct Stage {
        let simulator = Simulator(seed: 1)
        let start: MonotonicInstant
        let film: VirtualResource
        let entries: Entries
        let sync: CountingMailbox
        let disk = MemoryDisk()
        let cache: MediaCache

        init(length: Int64, bytesPerSecond: Int64, stallsAfter: Int64? = nil, quotaBytes: Int64? = nil) throws {
            film = VirtualResource(url: "http://origin.test/film.mp4", seed: 1, length: length)
            start = simulator.now
            entries = Entries(simulator)
            sync = CountingMailbox(simulator.mailbox("sync"))
            var options = SQLiteStore.Options()
            options.usesFileSystemForIndex = true
            let store = try SQLiteStore(directory: "/cache", fileSystem: disk, random: simulator, options: options)
            let origin = ScriptedOrigin([film], mailbox: simulator.mailbox("origin"), time: simulator, random: simulator) { _, _ in
                let paced = OriginBehaviour.slow(bytesPerSecond: bytesPerSecond, chunkBytes: 65_536...65_536)
                return stallsAfter.map { .stall(afterBytes: $0, paced) } ?? paced
            }
            var environment = CacheEnvironment(
                time: simulator, random: simulator, transport: origin, control: simulator.mailbox("control"),
                indexLane: simulator.mailbox("index"), dataLanes: [simulator.mailbox("data")])
            environment.syncLane = sync
            var configuration = Configuration()
            configuration.events = [entries]
            configuration.limits.quotaBytes = quotaBytes
            cache = try MediaCache(configuration: configuration, environment: environment, store: store)
        }

        /// Plays the film to its end, or its first `bytes` bytes.
        ///
        /// - Returns: The reader, which is still open.
        @discardableResult func play(_ bytes: Int64? = nil) throws -> SessionReader {
            let reader = try cache.sessionReader(for: film.url, start: 0, end: nil, wantsBytes: true, wake: {})
            var left = bytes ?? .max
            while left > 0 {
                var count = 0, isFromOrigin = false
                switch reader.next(max: Int(min(left, 1 << 20))) {
                case .file(_, let range): count = Int(range.count)
                case .memory(let part): (count, isFromOrigin) = (part.count, true)
                case .wait:
                    guard simulator.step() else { return reader }
                case .end: return reader
                case .failed(let error): throw error
                }
                if count > 0 { reader.advance(by: count, fromOrigin: isFromOrigin) }
                left -= Int64(count)
            }
            return reader
        }

        /// The time since the stage was made.
        var elapsed: Nanoseconds { simulator.now - start }
    }

    @Test func `bytes faster than any network are committed four times a second, not every 32 MiB`() throws {
        // The whole film arrives in 257 ms.
        let stage = try Stage(length: 144 * Self.MiB, bytesPerSecond: 560 * Self.MiB)
        try stage.play()
        #expect(stage.sync.count == 0, "one durable point a second is enough")
        stage.simulator.advance(by: .seconds(1))
        #expect(stage.entries.bytes == 144 * Self.MiB, "all bytes are committed when the fetch has ended")
        #expect(stage.entries.all.count <= 3, "one commit by time, one at the end, and one for a write that was under way")
        let first = try #require(stage.entries.all.first)
        #expect(first.time - stage.start >= .milliseconds(250) && first.time - stage.start < .milliseconds(260))
        stage.simulator.runUntilIdle()
        #expect(stage.sync.count == 1, "the durable point follows the first commit by five seconds")
        stage.simulator.shutdown()
    }

    @Test func `bytes at a network's speed are committed every 32 MiB or every second`() throws {
        let stage = try Stage(length: 80 * Self.MiB, bytesPerSecond: 80 * Self.MiB)
        try stage.play()
        stage.simulator.advance(by: .seconds(1))
        #expect(stage.entries.bytes == 80 * Self.MiB)
        #expect(stage.entries.all.allSatisfy { $0.bytes <= 32 * Self.MiB + Self.writeBytes })
        #expect(stage.entries.all.count <= 4)
        stage.simulator.shutdown()
    }

    @Test func `bytes too fast for an immediate commit are committed within a second of a stall`() throws {
        let stage = try Stage(length: 64 * Self.MiB, bytesPerSecond: 1024 * Self.MiB, stallsAfter: 48 * Self.MiB)
        let reader = try stage.play(48 * Self.MiB)
        #expect(stage.entries.all.isEmpty && stage.elapsed < .milliseconds(100))
        stage.simulator.advance(by: .seconds(1))
        #expect(stage.entries.bytes == 48 * Self.MiB)
        withExtendedLifetime(reader) {}
        stage.simulator.shutdown()
    }

    @Test func `uncommitted bytes stay within a 32nd of the quota, or 32 MiB`() throws {
        let stage = try Stage(length: 96 * Self.MiB, bytesPerSecond: 1024 * Self.MiB, quotaBytes: 1 << 30)
        try stage.play()
        stage.simulator.advance(by: .seconds(1))
        #expect(stage.entries.bytes == 96 * Self.MiB)
        #expect(stage.entries.all.allSatisfy { $0.bytes <= 32 * Self.MiB + Self.writeBytes })
        stage.simulator.shutdown()
    }

    @Test(arguments: [1000, 66_536, 3_000_000] as [Int64])
    func `a suspension stores every received byte, the unfinished block included`(received: Int64) throws {
        let stage = try Stage(length: 16 * Self.MiB, bytesPerSecond: 16 * Self.MiB, stallsAfter: received)
        let reader = try stage.play(received)
        let isSuspended = Locked(false)
        stage.cache.suspend { result in isSuspended.withLock { $0 = (try? result.get()) != nil } }
        stage.simulator.advance(by: .milliseconds(10))
        #expect(isSuspended.withLock { $0 } && stage.disk.lockCount == 0)
        #expect(stage.entries.bytes == received)
        // The system ends the suspended process. The next one finds the bytes.
        var options = SQLiteStore.Options()
        options.usesFileSystemForIndex = true
        let store = try SQLiteStore(directory: "/cache", fileSystem: stage.disk.crash(), random: stage.simulator, options: options)
        #expect(try store.lookup(stage.cache.key(for: stage.film.url))?.spans == ByteRangeSet([ByteRange(0, received)].compactMap { $0 }))
        try store.close()
        withExtendedLifetime(reader) {}
        stage.simulator.shutdown()
    }

    @Test func `a fetch that goes on after a suspension is stored to its end`() throws {
        let stage = try Stage(length: 2 * Self.MiB, bytesPerSecond: 2 * Self.MiB)
        let reader = try stage.play(100_000)
        stage.cache.suspend { _ in }
        stage.simulator.advance(by: .milliseconds(1))
        #expect(stage.disk.lockCount == 0)
        stage.cache.resume { _ in }
        stage.simulator.advance(by: .milliseconds(1))
        try stage.play()
        stage.simulator.advance(by: .seconds(2))
        #expect(stage.entries.bytes == 2 * Self.MiB && stage.cache.statistics.originRequests == 1)
        withExtendedLifetime(reader) {}
        stage.simulator.shutdown()
    }

    @Test func `a fetch that no reader waits for pauses during a suspension, and no byte comes twice`() throws {
        let stage = try Stage(length: 2 * Self.MiB, bytesPerSecond: 2 * Self.MiB)
        let reader = try stage.play(100_000)
        stage.cache.suspend { _ in }
        // Bytes arrive, and could not be stored.
        stage.simulator.advance(by: .milliseconds(500))
        #expect(stage.disk.lockCount == 0)
        stage.cache.resume { _ in }
        stage.simulator.advance(by: .milliseconds(1))
        try stage.play()
        stage.simulator.advance(by: .seconds(2))
        #expect(stage.entries.bytes == 2 * Self.MiB)
        #expect(stage.cache.statistics.originRequests == 1 && stage.cache.statistics.fetchedBytes == 2 * Self.MiB)
        withExtendedLifetime(reader) {}
        stage.simulator.shutdown()
    }

    @Test func `a reader that waits during a suspension gets its bytes from the origin`() throws {
        let stage = try Stage(length: 2 * Self.MiB, bytesPerSecond: 2 * Self.MiB)
        let reader = try stage.play(100_000)
        stage.cache.suspend { _ in }
        stage.simulator.advance(by: .milliseconds(500))
        try stage.play()
        stage.simulator.advance(by: .seconds(2))
        #expect(stage.disk.lockCount == 0)
        withExtendedLifetime(reader) {}
        stage.simulator.shutdown()
    }

    @Test func `removing a resource before its commit gives its room back`() throws {
        let stage = try Stage(length: 16 * Self.MiB, bytesPerSecond: 1024 * Self.MiB, stallsAfter: 6 * Self.MiB, quotaBytes: 8 * Self.MiB)
        for _ in 0..<4 {
            let reader = try stage.play(6 * Self.MiB)
            stage.simulator.advance(by: .milliseconds(10))
            #expect(try stage.disk.allocatedBytes(except: stage.disk.indexFiles) >= 5 * Self.MiB && stage.entries.all.isEmpty)
            stage.cache.remove(try stage.cache.key(for: stage.film.url)) { _ in }
            reader.leave()
            stage.simulator.advance(by: .milliseconds(10))
            #expect(try stage.disk.allocatedBytes(except: stage.disk.indexFiles) == 0)
        }
        let reader = try stage.play(6 * Self.MiB)
        stage.simulator.advance(by: .seconds(1))
        #expect(stage.entries.bytes == 6 * Self.MiB)
        withExtendedLifetime(reader) {}
        stage.simulator.shutdown()
    }
}
