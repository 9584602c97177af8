import Spool
import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTesting
import Testing

/// When bytes that were written are entered into the index: what a kill takes, and what a power cut takes.
@Suite struct `What is written` {
    private static let MiB: Int64 = 1 << 20
    /// What a write brings at most, which may be on its way when the others are due.
    private static let writeBytes = MiB

    /// When bytes were entered, and how many.
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

    /// Counts what is synced.
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

    /// A film that comes at a steady rate into a store with an index.
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
            let environment = CacheEnvironment(
                time: simulator, random: simulator, transport: origin, control: simulator.mailbox("control"),
                indexLane: simulator.mailbox("index"), syncLane: sync, dataLanes: [simulator.mailbox("data")])
            var configuration = Configuration()
            configuration.events = [entries]
            configuration.limits.quotaBytes = quotaBytes
            cache = try MediaCache(configuration: configuration, environment: environment, store: store)
        }

        /// Plays the film to its end, or its first bytes; answers with the reader, which is still there.
        @discardableResult func play(_ bytes: Int64? = nil) throws -> SessionReader {
            let reader = try cache.sessionReader(for: film.url, start: 0, end: nil, wantsBytes: true, wake: {})
            var left = bytes ?? .max
            while left > 0 {
                var count = 0, isFromOrigin = false
                switch reader.next(max: Int(min(left, 1 << 20))) {
                case .file(_, let range): count = Int(range.count)
                case .memory(let part, _): (count, isFromOrigin) = (part.count, true)
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

        /// Since the beginning.
        var elapsed: Nanoseconds { simulator.now - start }
    }

    @Test func `faster than any network comes is entered four times a second, not every 32 MiB`() throws {
        // All of it in 257 ms.
        let stage = try Stage(length: 144 * Self.MiB, bytesPerSecond: 560 * Self.MiB)
        try stage.play()
        #expect(stage.sync.count == 0, "a durable point a second is enough for it")
        stage.simulator.advance(by: .seconds(1))
        #expect(stage.entries.bytes == 144 * Self.MiB, "all of it, when the fetch has ended")
        #expect(stage.entries.all.count <= 3, "one by its time, one by the end, and one for a write that was under way then")
        let first = try #require(stage.entries.all.first)
        #expect(first.time - stage.start >= .milliseconds(250) && first.time - stage.start < .milliseconds(260))
        stage.simulator.runUntilIdle()
        #expect(stage.sync.count == 1, "and it is durable five seconds after the first of it")
        stage.simulator.shutdown()
    }

    @Test func `at a network's speed is entered every 32 MiB, or every second`() throws {
        let stage = try Stage(length: 80 * Self.MiB, bytesPerSecond: 80 * Self.MiB)
        try stage.play()
        stage.simulator.advance(by: .seconds(1))
        #expect(stage.entries.bytes == 80 * Self.MiB)
        #expect(stage.entries.all.allSatisfy { $0.bytes <= 32 * Self.MiB + Self.writeBytes })
        #expect(stage.entries.all.count <= 4)
        stage.simulator.shutdown()
    }

    @Test func `is entered within a second when nothing more comes, although it came too fast to be entered at once`() throws {
        let stage = try Stage(length: 64 * Self.MiB, bytesPerSecond: 1024 * Self.MiB, stallsAfter: 48 * Self.MiB)
        let reader = try stage.play(48 * Self.MiB)
        #expect(stage.entries.all.isEmpty && stage.elapsed < .milliseconds(100))
        stage.simulator.advance(by: .seconds(1))
        #expect(stage.entries.bytes == 48 * Self.MiB)
        withExtendedLifetime(reader) {}
        stage.simulator.shutdown()
    }

    @Test func `lies beside the index after a kill no more than a 32nd of the quota, or 32 MiB`() throws {
        let stage = try Stage(length: 96 * Self.MiB, bytesPerSecond: 1024 * Self.MiB, quotaBytes: 1 << 30)
        try stage.play()
        stage.simulator.advance(by: .seconds(1))
        #expect(stage.entries.bytes == 96 * Self.MiB)
        #expect(stage.entries.all.allSatisfy { $0.bytes <= 32 * Self.MiB + Self.writeBytes })
        stage.simulator.shutdown()
    }

    @Test func `of a resource that is removed before it was entered gives its room back`() throws {
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
