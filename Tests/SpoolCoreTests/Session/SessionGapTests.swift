import SpoolCore
import Testing

/// Readers that find a part of their range stored: the origin confirms or replaces the version
/// before a consumer commits to it.
@Suite struct SessionGapTests {
    private static let newer: HTTPFields = ["ETag": "\"v2\""]

    private func partlyStored(_ stored: Int64 = 1000, of length: Int64 = 10_000) -> SessionProbe {
        let probe = SessionProbe { $0.gapPatience = .milliseconds(150) }
        probe.open(length: length, stored: [0...stored - 1])
        return probe
    }

    @Test func `a file that changed is read whole in its new version`() throws {
        let probe = partlyStored()
        let reader = probe.join(0)
        #expect(probe.prepare(reader) == .wait)
        #expect(probe.starts == [OriginAsk(1000, nil, ifRange: "\"v1\"")])
        let fetch = try #require(probe.startedIDs.last)
        probe.full(fetch, length: 5000, fields: Self.newer)
        probe.body(fetch, 5000)
        guard case .ready(_, let representation) = probe.prepare(reader) else { return #expect(Bool(false), "no new version") }
        #expect(representation.length == 5000)
        probe.machine.readerTold(reader)
        #expect(probe.read(reader) == 5000)
        #expect(probe.starts.count == 1)
    }

    @Test func `a part of the same version confirms it, and goes on to bring the gap`() throws {
        let probe = partlyStored()
        let reader = probe.join(0)
        #expect(probe.prepare(reader) == .wait)
        let fetch = try #require(probe.startedIDs.last)
        probe.partial(fetch, 1000, 10_000, total: 10_000)
        #expect(probe.woken == [reader])
        #expect(probe.read(reader) == 1000)
        probe.body(fetch, 9000)
        #expect(probe.read(reader) == 9000)
        #expect(probe.starts.count == 1)
    }

    @Test func `an origin that is slow or refuses leaves the reader its stored bytes`() throws {
        for status in [nil, 404, 503] as [Int?] {
            let probe = partlyStored()
            let reader = probe.join(0, takesAnyStatus: true)
            #expect(probe.prepare(reader) == .wait)
            if let status {
                probe.head(try #require(probe.startedIDs.last), status, [:])
            } else {
                probe.pass(.milliseconds(150))
            }
            #expect(probe.failure(reader) == nil)
            #expect(probe.woken == [reader])
            #expect(probe.read(reader) == 1000)
            #expect(!probe.actions.contains { if case .usedUnvalidated = $0 { true } else { false } })
        }
    }

    @Test func `a store that fails while a reader waits for the answer about its gap frees the reader`() {
        let probe = partlyStored()
        let reader = probe.join(0)
        #expect(probe.prepare(reader) == .wait)
        probe.storeFails()
        guard case .ready = probe.prepare(reader) else { return #expect(Bool(false), "the reader waits") }
        #expect(probe.failure(reader) == nil)
    }

    @Test func `a gap that turns out to be the end of the resource lets its reader go on at once`() throws {
        let probe = SessionProbe { $0.gapPatience = .milliseconds(150) }
        probe.open(length: nil, stored: [0...999])
        let reader = probe.join(0)
        #expect(probe.prepare(reader) == .wait)
        probe.head(try #require(probe.startedIDs.last), 416, ["Content-Range": "bytes */1000"])
        #expect(probe.woken == [reader])
        #expect(probe.read(reader) == 1000)
        #expect(probe.step(reader) == .end)
    }

    @Test func `a reader without a gap in its range asks nothing`() {
        let probe = partlyStored()
        let reader = probe.join(0, 1000)
        #expect(probe.read(reader) == 1000)
        #expect(probe.starts == [])
    }

    @Test func `a reader beside a fetch that brings its gap does not wait`() throws {
        let probe = partlyStored()
        let first = probe.join(0)
        _ = probe.prepare(first)
        let fetch = try #require(probe.startedIDs.last)
        probe.partial(fetch, 1000, 10_000, total: 10_000)
        let second = probe.join(0)
        #expect(probe.read(second) == 1000)
        #expect(probe.starts.count == 1)
    }

    @Test func `a gap far ahead costs one conditional request in a session`() throws {
        let probe = partlyStored(10 * MiB, of: 20 * MiB)
        let reader = probe.join(0)
        #expect(probe.prepare(reader) == .wait)
        #expect(probe.starts.map { $0.revalidation?.entityTag } == ["\"v1\""])
        probe.head(try #require(probe.startedIDs.last), 304, SessionProbe.etag)
        #expect(probe.read(reader, upTo: MiB) == MiB)
        let second = probe.join(0)
        #expect(probe.read(second, upTo: MiB) == MiB)
        #expect(probe.starts.count == 1)
    }

    // MARK: Between the head and its use

    @Test func `a consumer that commits to a head while its version is replaced gets that version`() throws {
        let probe = SessionProbe()
        probe.open(length: 10_000, stored: [0...9999])
        let reader = probe.join(0)
        guard case .ready(let generation, _) = probe.prepare(reader) else { return #expect(Bool(false), "no version") }
        let other = probe.join(0, rules: UseRules(mode: .reload))
        _ = probe.prepare(other)
        let fetch = try #require(probe.startedIDs.last)
        probe.full(fetch, length: 500, fields: Self.newer)
        probe.machine.readerTold(reader)
        #expect(probe.machine.toldVersion(of: reader) == generation)
        #expect(probe.read(reader) == 10_000)
        probe.body(fetch, 500)
        #expect(probe.read(other) == 500)
    }

    @Test func `a consumer that prepares again gets the version that came meanwhile`() throws {
        let probe = SessionProbe()
        probe.open(length: 10_000, stored: [0...9999])
        let reader = probe.join(0)
        guard case .ready(let old, _) = probe.prepare(reader) else { return #expect(Bool(false), "no version") }
        let other = probe.join(0, rules: UseRules(mode: .reload))
        _ = probe.prepare(other)
        probe.full(try #require(probe.startedIDs.last), length: 500, fields: Self.newer)
        guard case .ready(let new, _) = probe.prepare(reader) else { return #expect(Bool(false), "no version") }
        #expect(new != old)
        probe.leave(other)
        #expect(probe.actions.contains(.pastOver(old)))
    }

    // MARK: Responses that belong to their asker

    @Test func `in a cache of several users each reader gets a response of its own where storing is forbidden`() throws {
        let probe = SessionProbe(rules: { $0.isShared = true })
        let readers = (0..<3).map { _ in probe.join(0) }
        probe.openEmpty()
        for reader in readers { _ = probe.prepare(reader) }
        #expect(probe.starts.count == 1)
        var fields = SessionProbe.etag
        fields["Cache-Control"] = "no-store"
        var asked: Set<FetchID> = []
        for length in [1000, 2000, 3000] as [Int64] {
            let fetch = try #require(probe.startedIDs.first { !asked.contains($0) })
            asked.insert(fetch)
            let reader = try #require(probe.fetch(fetch)?.askedBy)
            probe.full(fetch, length: length, fields: fields)
            for other in readers where other != reader { _ = probe.prepare(other) }
            probe.body(fetch, length)
            probe.finish(fetch)
            #expect(probe.read(reader) == length)
        }
        #expect(asked.count == 3)
    }

    @Test func `the head of a response that forbids storing goes with its last reader`() throws {
        let probe = SessionProbe()
        let reader = probe.join(0)
        probe.openEmpty()
        probe.step(reader)
        let fetch = try #require(probe.startedIDs.last)
        probe.full(fetch, length: 1000, fields: ["ETag": "\"v1\"", "Cache-Control": "no-store"])
        probe.body(fetch, 1000)
        #expect(probe.read(reader) == 1000)
        probe.finish(fetch)
        probe.leave(reader)
        #expect(probe.machine.version == nil)
        let next = probe.join(0)
        #expect(probe.prepare(next) == .wait)
        #expect(probe.starts.last == OriginAsk(0, nil, ifRange: nil))
    }
}
