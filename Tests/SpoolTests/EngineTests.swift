import Spool
import SpoolCore
import SpoolOrigin
import SpoolStore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// The engine on real threads: the product's promises for a resource with several readers.
@Suite(.timeLimit(.minutes(20))) struct EngineTests {
    private static let MiB: Int64 = 1 << 20

    @Test func `500 random ranges of 8 readers are right and no byte is fetched twice`() async throws {
        let length = 64 * Self.MiB
        let bench = try Bench(length: length, behaviour: { .slow(chunkBytes: 65_536...65_536) })
        let random = SeededRandom(seed: Seeds.list(count: 1)[0])
        let ranges = (0..<500).map { _ -> Range<Int64> in
            let lower = Int64(random.next(below: UInt64(length)))
            return lower..<min(length, lower + 1 + Int64(random.next(below: 1 << 20)))
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<8 {
                group.addTask {
                    let reader = try bench.reader()
                    for range in stride(from: worker, to: ranges.count, by: 8).map({ ranges[$0] }) {
                        #expect(try await bench.read(reader, range) == Int64(range.count))
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(bench.cache.statistics.fetchedBytes <= length)
        #expect(bench.origin.log.handedOver(Bench.url).duplicateBytes == 0)
        await bench.cache.close()
    }

    @Test func `two readers of one cold resource share one request and see bytes as they arrive`() async throws {
        let bench = try Bench(length: 4 * Self.MiB, behaviour: { .stall(afterBytes: Self.MiB, .correct) })
        let (first, second) = (try bench.reader(), try bench.reader())
        async let a = first.read(at: 0, count: 1 << 20)
        async let b = second.read(at: 0, count: 1 << 20)
        // The body never ends, so the bytes read here were passed on while it arrived.
        let (left, right) = try await (a, b)
        #expect(bench.difference(left, at: 0) == nil && left.count == 1 << 20)
        #expect(left == right)
        #expect(bench.requests.count == 1)
        await bench.cache.close()
    }

    @Test func `a cold start makes one request for headers and bytes`() async throws {
        // The clock stands still. However slow the machine is, no linger timeout passes between the
        // head and the bytes.
        let bench = try Bench(length: Self.MiB, time: ManualTime())
        let reader = try bench.reader()
        let information = try await reader.contentInformation()
        #expect(information.length == Self.MiB)
        #expect(information.contentType == "video/mp4")
        #expect(try await bench.read(reader, 0..<Self.MiB) == Self.MiB)
        #expect(bench.requests.map(\.range) == ["bytes=0-"])
        await bench.cache.close()
    }

    @Test func `bytes of a cancelled reader stay, and the next fetch begins at the first missing byte`() async throws {
        let bench = try Bench(length: 8 * Self.MiB)
        let first = try bench.reader()
        #expect(try await bench.read(first, 0..<Self.MiB) == Self.MiB)
        first.cancel()
        let stored = try await settled(bench)
        let end = try #require(stored.ranges.first?.upperBound)
        #expect(stored.ranges.count == 1 && end >= Self.MiB)
        let second = try bench.reader()
        #expect(try await bench.read(second, 0..<8 * Self.MiB) == 8 * Self.MiB)
        #expect(bench.requests.dropFirst().first?.range?.hasPrefix("bytes=\(end)-") == true)
        #expect(bench.cache.statistics.fetchedBytes == 8 * Self.MiB)
        await bench.cache.close()
    }

    /// The stored ranges once no fetch is left. Each look at the status comes after all earlier
    /// jobs of the lane.
    private func settled(_ bench: Bench) async throws -> ByteRangeSet {
        try await eventually("no fetch was left") { try await bench.cache.status(of: bench.key)?.fetches ?? 0 == 0 }
        return try await bench.stored()
    }

    // MARK: Policies: cancel at 40 %, count what is stored

    @Test(arguments: [FetchPolicy.whilePlaying, .readAhead(bytes: 2 << 20), .wholeResource])
    func `a fetch policy decides which bytes are stored after a reader leaves at 40 percent`(policy: FetchPolicy) async throws {
        var configuration = Configuration()
        configuration.fetching.policy = policy
        configuration.fetching.readAheadBytes = Self.MiB
        let bench = try Bench(length: 10 * Self.MiB, configuration: configuration)
        do {
            let reader = try bench.reader()
            #expect(try await bench.read(reader, 0..<4 * Self.MiB) == 4 * Self.MiB)
        }
        let stored = try await settled(bench).totalBytes
        switch policy {
        case .whilePlaying: #expect(stored >= 4 * Self.MiB && stored <= 5 * Self.MiB + 65_536)
        case .readAhead: #expect(stored >= 6 * Self.MiB && stored <= 6 * Self.MiB + 65_536)
        case .wholeResource: #expect(stored == 10 * Self.MiB)
        }
        await bench.cache.close()
    }

    @Test(arguments: [1 << 20, 1 << 59, 1 << 60, (1 << 60) + 1, .max - 1, .max] as [Int64])
    func `a read at or beyond the end brings no byte, at any distance`(offset: Int64) async throws {
        let bench = try Bench(length: Self.MiB)
        let reader = try bench.reader()
        #expect(try await reader.contentInformation().length == Self.MiB)
        #expect(try await reader.read(at: offset, count: 16 << 20) == [])
        if offset < .max {
            var chunks = reader.chunks(in: offset..<Int64.max).makeAsyncIterator()
            #expect(try await chunks.next() == nil)
        }
        // The same reader still reads the bytes before the end.
        #expect(try await bench.read(reader, 0..<Int64.max) == Self.MiB)
        await bench.cache.close()
    }

    @Test func `a first read beyond the end fails, and the next reader gets the bytes`() async throws {
        let bench = try Bench(length: Self.MiB)
        let first = try bench.reader()
        let error = await #expect(throws: CacheError.self) { _ = try await first.read(at: 2 * Self.MiB, count: 10) }
        #expect(error?.code == .rangeNotSatisfiable)
        #expect(try await bench.read(bench.reader(), 0..<Int64.max) == Self.MiB)
        await bench.cache.close()
    }

    // MARK: Trouble

    @Test func `a changed resource ends its old readers, and new readers get the new version`() async throws {
        // The first response ends, so that nothing brings more bytes of its version.
        let isFirst = Locked(true)
        let bench = try Bench(
            length: 8 * Self.MiB,
            behaviour: { isFirst.withLock { exchange(&$0, with: false) } ? .cut(afterBytes: 65_536, .close, .correct) : .correct })
        let old = try bench.reader()
        #expect(try await bench.read(old, 0..<65_536) == 65_536)
        let version = bench.resource.version(seed: 8)
        bench.origin.serve(version)
        let error = await #expect(throws: CacheError.self) { _ = try await bench.read(old, 7 * Self.MiB..<8 * Self.MiB) }
        #expect(error?.code == .representationChanged)
        let new = try bench.reader()
        let bytes = try await new.read(at: 0, count: 1000)
        #expect(bench.difference(bytes, at: 0, of: version) == nil)
        await bench.cache.close()
    }

    @Test func `without its origin, stored bytes play and missing ones fail with the cause`() async throws {
        let bench = try Bench(length: 8 * Self.MiB)
        let first = try bench.reader()
        #expect(try await bench.read(first, 0..<Self.MiB) == Self.MiB)
        first.cancel()
        let end = try #require(try await settled(bench).ranges.first?.upperBound)
        bench.origin.setOffline(true, breaksTransfers: true)
        let second = try bench.reader()
        #expect(try await bench.read(second, 0..<end) == end)
        let third = try bench.reader()
        let error = await #expect(throws: CacheError.self) { _ = try await third.read(at: end, count: 1) }
        #expect(error?.code == .originUnreachable)
        await bench.cache.close()
    }

    @Test(arguments: [0, 65_536, 1 << 20])
    func `a reader on a full store reads to the right end`(capacityBytes: Int64) async throws {
        let bench = try Bench(length: 4 * Self.MiB, store: MemoryStore(capacityBytes: capacityBytes))
        let reader = try bench.reader()
        #expect(try await bench.read(reader, 0..<4 * Self.MiB) == 4 * Self.MiB)
        // A reader that is still behind, among bytes stored before, may need a request of its own.
        #expect(bench.requests.count <= 2)
        await bench.cache.close()
    }

    @Test(arguments: [[:], ["Cache-Control": "no-store"]] as [HTTPFields])
    func `32 stopped readers do not keep a 33rd from starting`(fields: HTTPFields) async throws {
        let bench = try Bench(length: 64 * Self.MiB, behaviour: { .fields(fields, .correct) })
        var readers: [ByteReader] = []
        // Each reader stands in a part of its own, far from the others, and stops after one chunk.
        for index in 0..<32 {
            let reader = try bench.reader()
            var chunks = reader.chunks(in: Int64(index) * 2 * Self.MiB..<64 * Self.MiB).makeAsyncIterator()
            _ = try await chunks.next()
            readers.append(reader)
        }
        let last = try bench.reader()
        let bytes = try await last.read(at: 63 * Self.MiB, count: 1000)
        #expect(bench.difference(bytes, at: 63 * Self.MiB) == nil)
        withExtendedLifetime(readers) {}
        await bench.cache.close()
    }

    // MARK: Removal and closing

    @Test func `removing a resource ends its readers and leaves no bytes`() async throws {
        let bench = try Bench(length: 8 * Self.MiB)
        let reader = try bench.reader()
        #expect(try await bench.read(reader, 0..<Self.MiB) == Self.MiB)
        try await bench.cache.remove(bench.key)
        let error = await #expect(throws: CacheError.self) { _ = try await bench.read(reader, Self.MiB..<2 * Self.MiB) }
        #expect(error?.code == .removed)
        #expect(try await bench.cache.status(of: bench.key) == nil)
        let again = try bench.reader()
        #expect(try await bench.read(again, 0..<65_536) == 65_536)
        await bench.cache.close()
    }

    @Test func `closing ends readers and keeps their fetched bytes for the next process`() async throws {
        let disk = MemoryDisk()
        let bench = try Bench(length: 8 * Self.MiB, store: try Bench.sqlite(on: disk))
        let reader = try bench.reader()
        #expect(try await bench.read(reader, 0..<100_000) == 100_000)
        await bench.cache.close()
        let error = await #expect(throws: CacheError.self) { _ = try await reader.read(at: 7 * Self.MiB, count: 1) }
        #expect(error?.code == .closed)

        let next = try Bench(length: 8 * Self.MiB, store: try Bench.sqlite(on: disk))
        next.origin.setOffline(true)
        #expect(try await next.read(next.reader(), 0..<100_000) == 100_000)
        #expect(next.requests.isEmpty)
        await next.cache.close()
    }

    // MARK: Calls

    @Test func `every call of a closed cache fails as closed`() async throws {
        let bench = try Bench(length: Self.MiB)
        await bench.cache.close()
        let key = try bench.key
        for call in [
            { _ = try await bench.cache.status(of: key) }, { _ = try await bench.cache.resources() },
            { _ = try await bench.cache.totalSizeBytes() }, { _ = try await bench.cache.remove(key) },
            { try await bench.cache.clear() }, { try await bench.cache.eraseEverything() }, { _ = try bench.reader() },
        ] as [() async throws -> Void] {
            let error = await #expect(throws: CacheError.self) { try await call() }
            #expect(error?.code == .closed)
        }
        await bench.cache.close()
    }

    @Test func `a read at the end is empty, and a read across it is short`() async throws {
        let bench = try Bench(length: 1000)
        let reader = try bench.reader()
        #expect(try await reader.read(at: 900, count: 500).count == 100)
        #expect(try await reader.read(at: 1000, count: 10) == [])
        #expect(try await reader.read(at: 5000, count: 10) == [])
        #expect(try await reader.read(at: 0, count: 0) == [])
        await bench.cache.close()
    }

    @Test func `opening a reader makes no origin request before its first read`() async throws {
        let bench = try Bench(length: 1000)
        let reader = try bench.reader()
        // The session has looked into its index by now, because the lane works in order.
        _ = try await bench.cache.status(of: bench.key)
        #expect(bench.requests.isEmpty)
        withExtendedLifetime(reader) {}
        await bench.cache.close()
    }

    @Test func `cancelling a task ends its read`() async throws {
        let bench = try Bench(length: 1000, behaviour: { .silence })
        let task = Task { () -> CacheError.Code? in
            do {
                _ = try await bench.reader().read(at: 0, count: 10)
                return nil
            } catch {
                return (error as? CacheError)?.code
            }
        }
        try await eventually("the origin was asked") { !bench.requests.isEmpty }
        task.cancel()
        #expect(await task.value == .cancelled)
        await bench.cache.close()
    }
}
