import SpoolCore
import Testing

/// Tests numbers near and beyond 2^60, the largest offset, from clients, from origins and from the
/// index.
@Suite struct SessionBoundTests {
    private static let bound = ByteRange.maximumOffset
    /// Offsets that a client may send.
    private static let extremes: [Int64] = [bound - 1, bound, bound + 1, 1 << 62, .max - 4096, .max - 1, .max]
    private let block: Int64 = 65_536

    private func range(_ lower: Int64, _ upper: Int64) -> ByteRange { ByteRange(lower: lower, upper: upper) }

    // MARK: Readers

    @Test(arguments: extremes, [nil, 2 * MiB] as [Int64?])
    func `a reader far beyond every end sends one origin request`(start: Int64, requestBytes: Int64?) {
        let probe = SessionProbe { $0.requestBytes = requestBytes }
        let reader = probe.join(start)
        #expect(probe.prepare(reader) == .wait)
        probe.openEmpty()
        #expect(probe.step(reader) == .wait)
        #expect(probe.starts.count == 1)
        probe.head(probe.startedIDs[0], 416, ["Content-Range": "bytes */1000"])
        #expect(probe.step(reader) == .failed(.origin(.rangeNotSatisfiable(length: 1000))))
    }

    @Test(arguments: extremes) func `a reader may name any number as its end`(end: Int64) {
        let probe = SessionProbe { $0.requestBytes = 2 * MiB }
        let reader = probe.join(5, end)
        probe.openEmpty()
        #expect(probe.step(reader) == .wait)
        probe.partial(probe.startedIDs[0], 5, 10, total: 10)
        probe.body(probe.startedIDs[0], 5)
        #expect(probe.read(reader) == 5)
        #expect(probe.step(reader) == .end)
    }

    @Test func `a reader at its end can learn the length and type of the resource`() {
        let probe = SessionProbe { $0.requestBytes = 2 * MiB }
        let reader = probe.join(5, 5, wantsBytes: false)
        #expect(probe.prepare(reader) == .wait)
        probe.openEmpty()
        #expect(probe.starts == [OriginAsk(5, 5 + 2 * MiB, isWindow: true)])
        probe.partial(probe.startedIDs[0], 5, 10, total: 10)
        let preparation = probe.prepare(reader)
        guard case .ready = preparation else { return unexpected(preparation) }
    }

    @Test(arguments: extremes) func `a reader moves to any offset and back`(offset: Int64) {
        let probe = SessionProbe()
        probe.open(length: 10_000, stored: [0...9999])
        let reader = probe.join(0)
        probe.move(reader, to: offset, end: .max)
        #expect(probe.step(reader) == .end)
        probe.move(reader, to: 9000)
        #expect(probe.read(reader) == 1000)
    }

    @Test(arguments: extremes) func `eviction works beside a reader far beyond the end`(offset: Int64) {
        let probe = SessionProbe()
        probe.open(length: 32 * MiB, stored: [0...32 * MiB - 1])
        _ = probe.join(offset)
        #expect(!probe.machine.evict(MiB, sparing: ByteRangeSet(), regions: []).isEmpty)
    }

    @Test func `eviction works for blocks that end at the bound`() {
        let probe = SessionProbe()
        probe.open(length: Self.bound, stored: [Self.bound - 2 * block - 5...Self.bound - 1])
        #expect(
            probe.machine.evict(MiB, sparing: ByteRangeSet(), regions: []).ranges == [range(Self.bound - 2 * block, Self.bound)])
    }

    @Test func `identifiers of readers, fetches and revisions have 64 bits`() throws {
        let probe = SessionProbe()
        probe.open(length: 1000, stored: [0...999])
        let hit = probe.machine.hit(
            nil, policy: .preferStored, isShared: false, fetchPolicy: .whilePlaying, max: MiB, mayFetch: true, wallNow: probe.wallNow)
        // 2^32 hits of one resource take a day.
        #expect(hit?.reader.rawValue.bitWidth == 64)
        #expect(hit?.revision.bitWidth == 64)
        #expect(FetchID(rawValue: 1).rawValue.bitWidth == 64)
        #expect(try #require(probe.machine.version).confirmation.bitWidth == 64)
    }

    // MARK: Origins

    /// Lengths that media servers send for a stream that they transcode while it is played.
    private static let endless: [(status: Int, fields: HTTPFields)] = [
        (200, ["Content-Length": "1152921504606846977"]), (200, ["Content-Length": "9223372036854775807"]),
        (200, ["Content-Length": "18446744073709551615"]), (206, ["Content-Range": "bytes 0-1152921504606846976/1152921504606846977"]),
        (206, ["Content-Range": "bytes 0-9223372036854775806/9223372036854775807"]),
        (206, ["Content-Range": "bytes 0-18446744073709551614/18446744073709551615"]),
        (206, ["Content-Range": "bytes 0-9223372036854775806/*"]), (206, ["Content-Range": "bytes 0-99/9223372036854775807"]),
    ]

    @Test(arguments: endless.indices) func `a response with a length beyond the bound is passed on without length`(row: Int) throws {
        let status = Self.endless[row].status
        var fields = Self.endless[row].fields
        fields.append("ETag", "\"v1\"")
        fields.append("Accept-Ranges", "bytes")
        let probe = SessionProbe()
        let reader = probe.join(0)
        probe.openEmpty()
        #expect(probe.step(reader) == .wait)
        probe.head(probe.startedIDs[0], status, fields)
        #expect(probe.passing == [.lengthBeyondBound])
        let preparation = probe.prepare(reader)
        guard case .ready(_, let representation) = preparation else { return unexpected(preparation) }
        #expect(representation.length == nil)
        #expect(probe.body(probe.startedIDs[0], 100) == 100)
        #expect(probe.read(reader) == 100)
        #expect(probe.machine.fetches.first?.isRelay == true)
        #expect(probe.stored == [])
    }

    @Test func `a body with a length beyond the bound ends where the transfer ends`() {
        let probe = SessionProbe()
        let reader = probe.join(0)
        probe.openEmpty()
        #expect(probe.step(reader) == .wait)
        probe.head(probe.startedIDs[0], 206, ["Content-Range": "bytes 0-9223372036854775806/9223372036854775807"])
        probe.body(probe.startedIDs[0], 100)
        #expect(probe.read(reader) == 100)
        probe.finish(probe.startedIDs[0])
        #expect(probe.step(reader) == .end)
        #expect(probe.starts.count == 1)
    }

    @Test(arguments: [bound, bound + 1, Int64.max - 1]) func `a part beyond the bound is rejected`(lower: Int64) {
        let probe = SessionProbe()
        probe.open(length: 10_000, stored: [0...99])
        let reader = probe.join(100)
        #expect(probe.step(reader) == .wait)
        probe.head(
            probe.startedIDs[0], 206, ["ETag": "\"v1\"", "Content-Range": "bytes \(lower)-\(Int64.max - 1)/\(Int64.max)"])
        let found = probe.failures.first
        guard case .malformed? = found else { return unexpected(found) }
        #expect(probe.stored == [range(0, 100)])
    }

    @Test func `the longest resource is stored`() {
        let probe = SessionProbe()
        let reader = probe.join(Self.bound - 100)
        probe.openEmpty()
        #expect(probe.step(reader) == .wait)
        probe.partial(probe.startedIDs[0], Self.bound - 100, Self.bound, total: Self.bound)
        #expect(probe.passing == [])
        probe.body(probe.startedIDs[0], 100)
        #expect(probe.read(reader) == 100)
        probe.store(probe.startedIDs[0])
        #expect(probe.stored == [range(Self.bound - 100, Self.bound)])
        #expect(probe.step(reader) == .end)
    }

    @Test(arguments: ["9223372036854775807", "1152921504606846977", "99999999999999999999"])
    func `a 416 whose length is beyond the bound states no length`(length: String) {
        let probe = SessionProbe()
        let reader = probe.join(1000)
        probe.openEmpty()
        #expect(probe.step(reader) == .wait)
        probe.head(probe.startedIDs[0], 416, ["Content-Range": "bytes */\(length)"])
        #expect(probe.step(reader) == .failed(.origin(.rangeNotSatisfiable(length: nil))))
    }

    // MARK: The index

    @Test(arguments: [bound + 1, Int64.max]) func `a stored version with a length beyond the bound is dropped`(length: Int64) {
        let probe = SessionProbe()
        let reader = probe.join(0)
        probe.open(length: length, stored: [0...99, length - 100...length - 1])
        #expect(probe.actions.contains { if case .unfinished = $0 { true } else { false } })
        #expect(probe.step(reader) == .wait)
        #expect(probe.starts == [OriginAsk(0, nil)])
    }
}
