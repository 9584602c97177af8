import Spool
import SpoolCore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// Many requests and many connections at once.
@Suite(.serialized, .timeLimit(.minutes(20))) struct LoadTests {
    @Test(arguments: StoreKind.allCases, Seeds.list(count: 1))
    func `500 random ranges over 8 connections are right, and no byte is stored twice`(store: StoreKind, seed: UInt64) throws {
        let film = VirtualResource.film(length: 64 << 20)
        let world = try ProxyWorld([film], store: store)
        defer { world.stop() }
        let violations = concurrently(8) { index in
            let random = SeededRandom(seed: seed &+ UInt64(index))
            let client = try world.connect()
            for _ in 0..<(index < 4 ? 63 : 62) {
                let lower = Int64(random.next(below: UInt64(film.length)))
                let upper = min(film.length, lower + 1 + Int64(random.next(below: 256 << 10)))
                client.ask(film.target, ["Range": "bytes=\(lower)-\(upper - 1)"])
                let head = try client.head()
                guard head.status == 206, head.length == Int(upper - lower) else { return ["\(lower)..<\(upper): \(head)"] }
                if let wrong = try client.compare(upper - lower, with: film.content, at: lower) { return ["byte \(wrong) is wrong"] }
            }
            return []
        }
        #expect(violations == [], "SPOOL_SEED=\(seed)")
        try world.wait(for: film.url) { $0.readers == 0 && $0.fetches == 0 }
        // Each byte that was taken from the origin is stored, so none was taken twice.
        let stored = try world.status(of: film.url)?.stored.totalBytes
        #expect(world.cache.statistics.fetchedBytes == stored, "SPOOL_SEED=\(seed)")
        let handedOver = world.origin.log.handedOver(film.url)
        #expect(handedOver.duplicateBytes == 0, "SPOOL_SEED=\(seed)")
        #expect(handedOver.bytes <= film.length)
    }

    @Test(arguments: Seeds.list(count: 1))
    func `200 connections stream stored parts of 5 GiB, with slow readers among them`(seed: UInt64) throws {
        let film = VirtualResource.film(length: 5 << 30)
        let world = try ProxyWorld([film], store: .files)
        defer { world.stop() }
        let partBytes: Int64 = 512 << 10
        let parts = (0..<8).map { Int64($0) * (640 << 20) + 12_345 }
        for lower in parts { _ = try world.get(film.target, ["Range": "bytes=\(lower)-\(lower + partBytes - 1)"]) }
        world.origin.setOffline(true)
        // Ten threads have twenty connections each. All connections are open and have sent their
        // requests before the first is read.
        let asked = Awaited(0)
        let violations = concurrently(10) { index in
            let random = SeededRandom(seed: seed &+ UInt64(index))
            var streams = try (0..<20).map { number in
                let isSlow = number % 5 == 0
                let lower = parts[(index + number) % parts.count] + Int64(random.next(below: 65_536))
                let count = Int64(300_000 + random.next(below: 100_000))
                let client = try world.connect(receiveBuffer: isSlow ? 4096 : nil)
                client.ask(film.target, ["Range": "bytes=\(lower)-\(lower + count - 1)"])
                return Stream(client: client, offset: lower, left: count, step: isSlow ? 10_000 : 100_000)
            }
            asked.change { $0 += 1 }
            guard asked.wait(until: { $0 == 10 }) else { return ["the other threads never sent their requests"] }
            for stream in streams where try stream.client.head().status != 206 { return ["no 206"] }
            while !streams.isEmpty {
                for position in streams.indices {
                    if let wrong = try streams[position].advance(film.content) { return ["byte \(wrong) is wrong"] }
                }
                streams.removeAll { $0.left == 0 }
            }
            return []
        }
        #expect(violations == [], "SPOOL_SEED=\(seed)")
        #expect(world.asked.count == parts.count)
    }

    /// A body that is read in steps.
    private struct Stream {
        let client: ProxyClient
        var offset: Int64
        var left: Int64
        let step: Int64

        /// Reads one step.
        ///
        /// - Returns: The offset of a wrong byte, or nil.
        mutating func advance(_ content: OriginContent) throws -> Int64? {
            let count = min(step, left)
            let wrong = try client.compare(count, with: content, at: offset)
            offset += count
            left -= count
            return wrong
        }
    }
}
