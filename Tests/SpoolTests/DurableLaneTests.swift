import Spool
import SpoolCore
import SpoolLibc
import SpoolStore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// The lane that syncs data. A slow disk there delays nothing else.
@Suite struct `A slow sync` {
    private let song = VirtualResource(url: "http://origin.test/song.mp3", seed: 1, length: 300_000)
    private let film = VirtualResource(url: "http://origin.test/film.mp4", seed: 2, length: 300_000)

    @Test func `a slow sync delays no look-up, no commit and no reader`() throws {
        let stage = try LaneStage([song, film])
        #expect(try stage.play(song) == song.content.bytes(at: 0, count: 300_000))
        stage.simulator.runUntilIdle()
        #expect(stage.sync.count == 1, "a durable point waits for the disk")
        #expect(try stage.play(film) == film.content.bytes(at: 0, count: 300_000))
        stage.simulator.runUntilIdle()
        #expect(try stage.store.lookup(stage.cache.key(for: film.url))?.spans.totalBytes == 300_000)
        #expect(stage.sync.count == 1, "one durable point at a time")
        // The durable point that came due meanwhile follows.
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

    @Test func `a failed sync is tried again without another commit`() throws {
        let stage = try LaneStage([song])
        #expect(try stage.play(song).count == 300_000)
        stage.simulator.runUntilIdle()
        stage.disk.setFaults(FaultPlan(faults: [.init(.synchronizeDirectory, .call(1), code: EIO)]))
        stage.sync.runAll()
        stage.simulator.runUntilIdle()
        #expect(stage.sync.count == 1, "the next durable point covers what this one did not")
        stage.sync.runAll()
        stage.simulator.runUntilIdle()
        #expect(stage.sync.count == 0)
        stage.simulator.shutdown()
    }

    @Test func `a sync that never succeeds is given up after a bounded number of attempts`() throws {
        let stage = try LaneStage([song])
        #expect(try stage.play(song).count == 300_000)
        stage.simulator.runUntilIdle()
        stage.disk.setFaults(FaultPlan(faults: [.init(.synchronizeDirectory, .from(1), code: EIO)]))
        var points = 0
        while stage.sync.count > 0, points < 100 {
            points += 1
            stage.sync.runAll()
            stage.simulator.runUntilIdle()
        }
        #expect((2..<20).contains(points))
        stage.simulator.shutdown()
    }

    @Test func `a failed sync turns the bytes that it lost into gaps, in memory too`() throws {
        let stage = try LaneStage([song])
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
        // The resource plays on, from the origin.
        #expect(try stage.play(song) == song.content.bytes(at: 0, count: 300_000))
        stage.simulator.shutdown()
    }
}
