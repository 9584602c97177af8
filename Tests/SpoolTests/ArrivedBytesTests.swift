#if os(Linux)
import Spool
import SpoolCore
import SpoolOrigin
import SpoolStore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// Bytes that an origin sent and no reader took, over libcurl and a socket.
@Suite(.timeLimit(.minutes(20)))
struct ArrivedBytesTests {
    private static let length: Int64 = 1 << 20
    /// The bytes that the origin sends at once. They fit into the first window of a connection.
    private static let sentBytes: Int64 = 110_000

    /// Reads the beginning of a resource, leaves, and returns the bytes that are stored when the
    /// fetch has ended.
    private func leave(
        _ change: @escaping (inout Configuration) -> Void = { _ in }
    ) async throws -> (stored: ByteRangeSet, requests: [String?], lostBytes: Int64) {
        let resource = VirtualResource(url: "/film.mp4", seed: 7, length: Self.length)
        let origin = try RawOrigin([resource]) { _, ordinal in
            ordinal == 0 ? .stall(afterBytes: Self.sentBytes, .correct) : .correct
        }
        defer { origin.stop() }
        var options = CurlTransportOptions()
        options.stopTime = .seconds(300)
        let time = ManualTime(), url = origin.url(resource.url)
        let world = try EngineWorld([resource], time: time, transport: CurlTransport(options: options)) { configuration in
            configuration.fetching.readAheadBytes = 65_536
            change(&configuration)
        }
        let key = try world.cache.key(for: url)
        do {
            let reader = try world.cache.reader(for: url)
            #expect(try await reader.read(at: 0, count: 4096).count == 4096)
            while origin.log.handedOver(url).bytes < Self.sentBytes { await Task.yield() }
        }
        time.advance(by: .seconds(1))
        try await eventually("the fetch ended") { try await world.cache.status(of: key)?.fetches == 0 }
        let stored = try await world.cache.status(of: key)?.stored ?? ByteRangeSet()
        let lost = world.cache.statistics.lostBytes
        let rest = try await world.cache.reader(for: url).bytes()
        #expect(rest == resource.content.bytes(at: 0, count: Int(Self.length)))
        await world.cache.close()
        return (stored, origin.log.entries.map(\.range), lost)
    }

    @Test func `bytes that arrived before their reader left are not requested again`() async throws {
        let (stored, requests, lost) = try await leave()
        // The head counts.
        #expect(lost < 1000)
        #expect(stored == ByteRangeSet([ByteRange(lower: 0, upper: Self.sentBytes)]))
        #expect(requests == ["bytes=0-", "bytes=\(Self.sentBytes)-"])
    }

    @Test func `bytes that arrived before the cache closes are stored`() async throws {
        let resource = VirtualResource(url: "/film.mp4", seed: 7, length: Self.length)
        let origin = try RawOrigin([resource]) { _, _ in .stall(afterBytes: Self.sentBytes, .correct) }
        defer { origin.stop() }
        var options = CurlTransportOptions()
        options.stopTime = .seconds(300)
        let url = origin.url(resource.url), directory = try ScratchDirectory()
        func openStore() throws -> SQLiteStore {
            try SQLiteStore(directory: directory.path, fileSystem: POSIXFileSystem(), random: SystemRandom())
        }
        // The clock stands still, so no time ends the fetch.
        let world = try EngineWorld([resource], store: openStore(), time: ManualTime(), transport: CurlTransport(options: options)) {
            $0.fetching.readAheadBytes = 65_536
        }
        let key = try world.cache.key(for: url), reader = try world.cache.reader(for: url)
        #expect(try await reader.read(at: 0, count: 4096).count == 4096)
        while origin.log.handedOver(url).bytes < Self.sentBytes { await Task.yield() }
        await world.cache.close()
        let store = try openStore()
        #expect(try store.lookup(key)?.spans == ByteRangeSet([ByteRange(lower: 0, upper: Self.sentBytes)]))
        #expect(world.cache.statistics.lostBytes < 1000)
        try store.close()
    }

    @Test func `bytes that arrived take no room from others`() async throws {
        let (stored, _, lost) = try await leave { $0.limits.quotaBytes = OriginRequest.arrivedBytesLimit - 1 }
        #expect(stored.totalBytes < Self.sentBytes)
        #expect(lost >= Self.sentBytes - stored.totalBytes && lost < Self.sentBytes)
    }
}
#endif
