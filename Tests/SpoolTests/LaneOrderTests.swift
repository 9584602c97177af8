import Spool
import SpoolCore
import SpoolOrigin
import SpoolStore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// Calls that come between two jobs of the lanes, in orders that threads rarely have.
@Suite struct LaneOrderTests {
    private let film = VirtualResource(url: "http://origin.test/film.mp4", seed: 1, length: 300_000)

    private func spans(of url: String, in stage: LaneStage) throws -> ByteRangeSet {
        try stage.store.lookup(stage.cache.key(for: url))?.spans ?? ByteRangeSet()
    }

    // MARK: Removals

    @Test func `a reader that comes back at the removal of its resource fetches it and stores it again`() throws {
        let stage = try LaneStage(
            [film], script: { _, number in number == 0 ? .stall(afterBytes: 200_000, .correct) : .correct })
        let readers = Locked<[SessionReader]>([])
        let isRemoving = Locked(false)
        let comeBack: @Sendable () -> Void = { [cache = stage.cache, url = film.url] in
            guard isRemoving.withLock({ exchange(&$0, with: false) }) else { return }
            let reader = try? cache.sessionReader(for: url, start: 0, end: nil, wantsBytes: true, wake: {})
            if let reader { readers.withLock { $0.append(reader) } }
        }
        let first = try stage.cache.sessionReader(for: film.url, start: 0, end: nil, wantsBytes: true, wake: comeBack)
        stage.simulator.advance(by: .seconds(2))
        _ = try stage.read(first, steps: 1)
        #expect(try !spans(of: film.url, in: stage).isEmpty, "a part is stored, and the reader waits for more")
        isRemoving.withLock { $0 = true }
        let key = try stage.cache.key(for: film.url)
        #expect(try stage.result { stage.cache.remove(key, $0) })
        let second = try #require(readers.withLock { $0.first })
        #expect(try stage.read(second).count == Int(film.length))
        stage.simulator.runUntilIdle()
        #expect(try spans(of: film.url, in: stage).totalBytes == film.length)
        withExtendedLifetime(first) {}
        stage.simulator.shutdown()
    }

    @Test func `a variant with a second copy stays if a client joins it before it is dropped`() throws {
        let stage = try LaneStage([film])
        #expect(try stage.play(film).count == Int(film.length))
        stage.simulator.runUntilIdle()
        stage.cache.variants.drop(try stage.cache.key(for: film.url))
        #expect(try stage.play(film).count == Int(film.length))
        stage.simulator.runUntilIdle()
        #expect(stage.cache.statistics.fetchedBytes == film.length)
        stage.simulator.shutdown()
    }
}
