import Spool
import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTesting
import Testing

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// The lane on which data is synced: a disk that takes its time stops nobody.
@Suite struct `A slow sync` {
    private let song = VirtualResource(url: "http://origin.test/song.mp3", seed: 1, length: 300_000)
    private let film = VirtualResource(url: "http://origin.test/film.mp4", seed: 2, length: 300_000)

    /// Keeps jobs until it is told to run them.
    private final class HeldMailbox: Mailbox {
        private let jobs = Locked<[@Sendable () -> Void]>([])

        func post(_ job: @escaping @Sendable () -> Void) { jobs.withLock { $0.append(job) } }

        var count: Int { jobs.withLock { $0.count } }

        func runAll() {
            let waiting = jobs.withLock { jobs in
                defer { jobs = [] }
                return jobs
            }
            for job in waiting { job() }
        }
    }

    private struct Stage {
        let simulator = Simulator(seed: 1)
        let disk = MemoryDisk()
        let sync = HeldMailbox()
        let store: SQLiteStore
        let cache: MediaCache

        init(_ resources: [VirtualResource]) throws {
            var options = SQLiteStore.Options()
            options.usesFileSystemForIndex = true
            store = try SQLiteStore(directory: "/cache", fileSystem: disk, random: simulator, options: options)
            let origin = ScriptedOrigin(mailbox: simulator.mailbox("origin"), time: simulator, random: simulator, windowBytes: nil)
            for resource in resources { origin.serve(resource) }
            let environment = CacheEnvironment(
                time: simulator, random: simulator, transport: origin, control: simulator.mailbox("control"),
                indexLane: simulator.mailbox("index"), syncLane: sync, dataLanes: [simulator.mailbox("data")])
            cache = try MediaCache(configuration: Configuration(), environment: environment, store: store)
        }

        /// Reads a resource to its end; answers with its bytes.
        func play(_ resource: VirtualResource) throws -> [UInt8] {
            let reader = try cache.sessionReader(for: resource.url, start: 0, end: nil, wantsBytes: true, wake: {})
            var bytes: [UInt8] = []
            while true {
                switch reader.next(max: 1 << 20) {
                case .file(let file, let range):
                    bytes += try file.bytes(at: range.lowerBound, count: Int(range.count))
                    reader.advance(by: Int(range.count), fromOrigin: false)
                case .memory(let part, let keepAlive):
                    withExtendedLifetime(keepAlive) { bytes += part }
                    reader.advance(by: part.count, fromOrigin: true)
                case .wait: if !simulator.step() { return bytes }
                case .end: return bytes
                case .failed(let error): throw error
                }
            }
        }
    }

    @Test func `delays no look-up, no commit and no reader`() throws {
        let stage = try Stage([song, film])
        #expect(try stage.play(song) == song.content.bytes(at: 0, count: 300_000))
        stage.simulator.runUntilIdle()
        #expect(stage.sync.count == 1, "a durable point waits for the disk")
        #expect(try stage.play(film) == film.content.bytes(at: 0, count: 300_000))
        stage.simulator.runUntilIdle()
        #expect(try stage.store.lookup(stage.cache.key(for: film.url))?.spans.totalBytes == 300_000)
        #expect(stage.sync.count == 1, "one durable point at a time")
        // The one that came due meanwhile follows.
        stage.sync.runAll()
        stage.simulator.runUntilIdle()
        #expect(stage.sync.count == 1)

        let isClosed = Locked(false)
        stage.cache.close { isClosed.withLock { $0 = true } }
        stage.simulator.runUntilIdle()
        #expect(!isClosed.withLock { $0 }, "closing waits for the point that is under way")
        stage.sync.runAll()
        stage.simulator.runUntilIdle()
        #expect(isClosed.withLock { $0 })
        stage.simulator.shutdown()
    }

    @Test func `that fails turns what it could not write into gaps, in memory as well`() throws {
        let stage = try Stage([song])
        #expect(try stage.play(song).count == 300_000)
        stage.simulator.runUntilIdle()
        let status = { () throws -> ResourceStatus? in
            let found = Locked<ResourceStatus?>(nil)
            stage.cache.status(of: try stage.cache.key(for: song.url)) { result in
                if case .success(let status) = result { found.withLock { $0 = status } }
            }
            stage.simulator.runUntilIdle()
            return found.withLock { $0 }
        }
        #expect(try status()?.stored.totalBytes == 300_000)
        stage.disk.setFaults(FaultPlan(faults: [.init(.synchronize, .call(1), code: EIO, pathSuffix: ".mp3")]))
        stage.sync.runAll()
        stage.simulator.runUntilIdle()
        #expect(try status()?.stored.totalBytes == 0)
        // It plays on, from the origin.
        #expect(try stage.play(song) == song.content.bytes(at: 0, count: 300_000))
        stage.simulator.shutdown()
    }
}
