import Spool
import SpoolCore
import SpoolLibc
import SpoolStore
import SpoolSystem
import SpoolTesting
import Testing

/// A disk that accepts bytes and fails every read of them.
@Suite(.timeLimit(.minutes(20))) struct `Stored bytes that the disk never reads` {
    @Test func `unreadable bytes are stored again a bounded number of times, then the session passes them on`() async throws {
        let film = VirtualResource(url: "http://origin.test/film.mp4", seed: 3, length: 1 << 20)
        let disk = MemoryDisk()
        let world = try EngineWorld([film], store: Bench.sqlite(on: disk))
        // An open reader keeps the session the same all the time.
        let holder = try world.cache.reader(for: film.url)
        _ = try await holder.read(at: 0, count: 1)
        #expect(try await world.cache.reader(for: film.url).bytes() == world.expected(film, 0..<film.length))
        _ = try await world.status(of: film) { $0.isComplete && $0.fetches == 0 }
        disk.setFaults(FaultPlan(faults: [FaultPlan.Fault(.read, .from(1), code: EIO, pathSuffix: ".mp4")]))
        for _ in 0..<100 {
            #expect(try await world.cache.reader(for: film.url).bytes() == world.expected(film, 0..<film.length))
        }
        let failures = world.events.all.count { if case .storeTrouble(let words) = $0 { words.hasPrefix("read ") } else { false } }
        // The bound, and one failure for each block that was stored before.
        #expect(failures > 0 && failures <= 32 + 16, "\(failures) reads failed")
        #expect(world.passes.count == 1, "\(world.passes)")
        disk.setFaults(.none)
        withExtendedLifetime(holder) {}
        await world.cache.close()
    }
}
