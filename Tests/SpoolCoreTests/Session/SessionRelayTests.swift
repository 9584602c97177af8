import SpoolCore
import Testing

/// Tests bytes that are passed on and not stored.
@Suite struct SessionRelayTests {
    private static let noStore: HTTPFields = ["ETag": "\"v1\"", "Cache-Control": "no-store"]

    private func relaying(_ start: Int64 = 0, fields: HTTPFields = noStore, length: Int64 = 10 * MiB) -> (SessionProbe, ReaderID, FetchID) {
        let probe = SessionProbe()
        let reader = probe.join(start)
        probe.openEmpty()
        probe.step(reader)
        let fetch = probe.startedIDs[0]
        probe.partial(fetch, start, length, total: length, fields: fields)
        return (probe, reader, fetch)
    }

    @Test(arguments: [("no-store", nil), (nil, "*")] as [(String?, String?)])
    func `a response that must not be stored is passed on`(control: String?, vary: String?) {
        var fields = SessionProbe.etag
        fields["Cache-Control"] = control
        fields["Vary"] = vary
        let (probe, reader, fetch) = relaying(fields: fields)
        #expect(probe.passing.count == 1)
        probe.body(fetch, 1000)
        #expect(probe.read(reader) == 1000)
        #expect(probe.stored == [])
        #expect(probe.starts.count == 1)
    }

    @Test func `a relay is one request for all steps of its reader`() {
        let (probe, reader, fetch) = relaying()
        for _ in 0..<20 {
            probe.body(fetch, 10_000)
            probe.read(reader)
        }
        #expect(probe.starts.count == 1)
        #expect(probe.machine.fetches.count == 1)
    }

    @Test func `a relay runs at the pace of the slowest reader at its front`() {
        let (probe, fast, fetch) = relaying()
        let slow = probe.join(0)
        probe.body(fetch, 65_536)
        #expect(probe.step(slow, max: 1000) == .memory(fetch, ByteRange(0..<1000)))
        probe.read(fast)
        #expect(probe.body(fetch, 10 * MiB) == 256 * 1024 - 65_536)
        probe.read(fast)
        #expect(probe.step(fast) == .wait)
        probe.read(slow, upTo: 200_000)
        #expect(probe.resumed == [fetch])
        #expect(probe.body(fetch, 10 * MiB) > 0)
        #expect(probe.starts.count == 1)
    }

    @Test func `a second response that ends before passed-on bytes fails the reader`() throws {
        let probe = SessionProbe()
        let reader = probe.join(0)
        probe.openEmpty()
        probe.step(reader)
        let first = probe.startedIDs[0]
        probe.full(first, length: nil, fields: Self.noStore)
        probe.body(first, 100_000)
        #expect(probe.read(reader) == 100_000)
        #expect(probe.step(reader) == .wait)
        probe.finish(first, .truncated(afterBytes: 100_000))
        probe.pass(.seconds(60))
        let second = try #require(probe.startedIDs.last)
        #expect(second != first)
        probe.full(second, length: 2653, fields: Self.noStore)
        #expect(probe.step(reader) == .failed(.origin(.representationChanged)))
    }

    @Test func `memory that every reader has taken is released`() {
        let (probe, reader, fetch) = relaying()
        probe.body(fetch, 65_536)
        probe.read(reader, upTo: 50_000)
        #expect(probe.actions.contains(.release(fetch, below: 50_000)))
        #expect(probe.fetch(fetch)?.released == 50_000)
    }

    @Test func `a reader elsewhere starts its own request from its own byte`() {
        let (probe, _, fetch) = relaying()
        probe.body(fetch, 65_536)
        let other = probe.join(5 * MiB)
        #expect(probe.step(other) == .wait)
        #expect(probe.starts.last == OriginAsk(5 * MiB, nil, ifRange: "\"v1\""))
        let second = probe.startedIDs[1]
        probe.partial(second, 5 * MiB, 10 * MiB, total: 10 * MiB, fields: Self.noStore)
        probe.body(second, 1000)
        #expect(probe.read(other) == 1000)
        #expect(probe.cancelled == [])
    }

    @Test func `a relay without readers ends at once, even if others read elsewhere`() {
        let (probe, reader, fetch) = relaying()
        let other = probe.join(5 * MiB)
        probe.step(other)
        probe.leave(reader)
        #expect(probe.cancelled == [fetch])
    }

    @Test func `a whole body that is not stored is skipped up to its reader`() {
        let probe = SessionProbe()
        let reader = probe.join(MiB)
        probe.openEmpty()
        probe.step(reader)
        let fetch = probe.startedIDs[0]
        probe.full(fetch, length: 10 * MiB, fields: Self.noStore)
        #expect(probe.body(fetch, MiB) == MiB)
        #expect(probe.fetch(fetch)?.released == MiB)
        probe.body(fetch, 1000)
        #expect(probe.step(reader) == .memory(fetch, ByteRange(MiB..<MiB + 1000)))
    }

    @Test func `two readers of an unstorable response without ranges both continue`() {
        let probe = SessionProbe()
        let late = probe.join(MiB)
        probe.openEmpty()
        probe.step(late)
        let first = probe.startedIDs[0]
        probe.full(first, length: 10 * MiB, fields: Self.noStore)
        probe.body(first, MiB + 65_536)
        let early = probe.join(0)
        probe.step(early)
        let second = probe.startedIDs[1]
        probe.full(second, length: 10 * MiB, fields: Self.noStore)
        probe.body(second, 65_536)
        #expect(probe.read(late) == 65_536)
        #expect(probe.read(early) == 65_536)
        #expect(probe.cancelled == [])
        #expect(probe.starts.count == 2)
    }

    @Test func `a relay with an idle reader gives up its slot without losing bytes`() {
        let (probe, reader, fetch) = relaying()
        let taken = probe.body(fetch, 10 * MiB)
        #expect(probe.machine.isIdle(fetch))
        _ = probe.machine.preempt(fetch, now: probe.now)
        #expect(probe.read(reader) == taken)
        #expect(probe.starts.last == OriginAsk(taken, nil, ifRange: "\"v1\""))
    }

    // MARK: No validator

    @Test func `a relay waits for a reader of metadata, then for its bytes`() {
        let probe = SessionProbe()
        let curious = probe.join(0, wantsBytes: false)
        probe.openEmpty()
        #expect(probe.prepare(curious) == .wait)
        let fetch = probe.startedIDs[0]
        probe.partial(fetch, 0, 10 * MiB, total: 10 * MiB, fields: Self.noStore)
        #expect(probe.cancelled == [])
        let reader = probe.join(0)
        probe.leave(curious)
        probe.step(reader)
        probe.body(fetch, 1000)
        #expect(probe.read(reader) == 1000)
        #expect(probe.starts.count == 1)
    }

    @Test func `a fetch that started as a relay stays one`() {
        let probe = SessionProbe()
        let shy = probe.join(0, 1000, rules: UseRules(mode: .doNotStore))
        probe.openEmpty()
        probe.step(shy)
        probe.partial(probe.startedIDs[0], 0, 1000, total: 10 * MiB)
        probe.body(probe.startedIDs[0], 1000)
        probe.read(shy)
        probe.finish(probe.startedIDs[0])
        // The relay's second request has no answer yet when another reader arrives, for whom the
        // same version may be stored.
        probe.move(shy, to: MiB)
        probe.step(shy)
        let keen = probe.join(2 * MiB)
        probe.step(keen)
        let beside = probe.startedIDs[1], storing = probe.startedIDs[2]
        probe.partial(storing, 2 * MiB, 10 * MiB, total: 10 * MiB)
        probe.partial(beside, MiB, 10 * MiB, total: 10 * MiB)
        #expect(probe.machine.violations == [])
        #expect(probe.machine.fetches.first { $0.id == beside }?.isRelay == true)
        #expect(probe.machine.fetches.first { $0.id == storing }?.isRelay == false)
    }

    @Test func `without a validator the response from 0 is stored`() {
        let (probe, reader, fetch) = relaying(fields: [:])
        probe.body(fetch, 1000)
        probe.store(fetch)
        #expect(probe.stored == [ByteRange(0..<1000)])
        #expect(probe.read(reader) == 1000)
    }

    @Test(arguments: [[:], ["ETag": "W/\"v1\""]] as [HTTPFields])
    func `without a strong validator a response from elsewhere is passed on`(fields: HTTPFields) {
        let (probe, reader, fetch) = relaying(1000, fields: fields)
        probe.body(fetch, 1000)
        #expect(probe.read(reader) == 1000)
        #expect(probe.stored == [])
        #expect(probe.fetch(fetch)?.isRelay == true)
    }

    @Test(arguments: [[:], ["ETag": "W/\"v1\""]] as [HTTPFields])
    func `without a strong validator a broken body is never completed from another response`(fields: HTTPFields) {
        let (probe, reader, fetch) = relaying(fields: fields, length: 10_000)
        probe.body(fetch, 1000)
        probe.finish(fetch, .truncated(afterBytes: 1000))
        probe.store(fetch)
        #expect(probe.read(reader) == 1000)
        probe.pass(.seconds(10))
        #expect(probe.step(reader) == .failed(.origin(.truncated(afterBytes: 1000))))
        #expect(probe.starts.count == 1)
        #expect(probe.stored == [ByteRange(0..<1000)])
    }

    // MARK: Trouble with the store

    @Test func `a fetch continues as a relay after the store failed`() {
        let probe = SessionProbe()
        let reader = probe.join(0)
        probe.openEmpty()
        probe.step(reader)
        let fetch = probe.startedIDs[0]
        probe.partial(fetch, 0, 10 * MiB, total: 10 * MiB)
        probe.body(fetch, 65_536)
        probe.storeFails()
        #expect(probe.passing == [.storeTrouble("full")])
        #expect(probe.read(reader) == 65_536)
        #expect(probe.body(fetch, 65_536) == 65_536)
        #expect(probe.read(reader) == 65_536)
        #expect(probe.starts.count == 1)
    }

    /// A response that no other request can continue, of which the readers have taken nothing when
    /// it turns out to be too large. 128 KiB are stored.
    private func outgrowing(_ fields: HTTPFields, readers: Int = 1) -> (SessionProbe, [ReaderID], FetchID) {
        let probe = SessionProbe(rules: { $0.maxResourceBytes = 150_000 })
        let readers = (0..<readers).map { _ in probe.join(0) }
        probe.openEmpty()
        for reader in readers { probe.step(reader) }
        let fetch = probe.startedIDs[0]
        probe.full(fetch, length: nil, fields: fields)
        for reader in readers { probe.step(reader) }
        for _ in 0..<2 {
            probe.body(fetch, 65_536)
            probe.store(fetch)
        }
        probe.body(fetch, 65_536)
        #expect(probe.passing == [.tooLarge(limit: 150_000)])
        return (probe, readers, fetch)
    }

    @Test(arguments: [[:], ["ETag": "W/\"v1\""]] as [HTTPFields])
    func `a slow reader gets the whole body although storing ends before it comes there`(fields: HTTPFields) {
        let (probe, readers, fetch) = outgrowing(fields)
        let slow = readers[0]
        var taken: Int64 = 0, sent: Int64 = 196_608
        while taken < 1_000_000 {
            sent += probe.body(fetch, min(65_536, 1_000_000 - sent))
            probe.pass(.seconds(10))
            if sent == 1_000_000 { probe.finish(fetch) }
            taken += probe.read(slow, upTo: taken + 20_000)
            guard probe.failure(slow) == nil else { return #expect(probe.failure(slow) == nil) }
        }
        #expect(probe.step(slow) == .end)
        #expect(probe.starts.count == 1)
    }

    @Test func `a reader that stands still in stored bytes holds the readers at the front for a second`() {
        let (probe, readers, fetch) = outgrowing([:], readers: 2)
        let (slow, fast) = (readers[0], readers[1])
        #expect(probe.body(fetch, 10 * MiB) > 0)
        probe.read(fast)
        #expect(probe.step(fast) == .wait)
        #expect(probe.body(fetch, 65_536) == 0)
        // The reader at the front waits from the first of these moments on.
        for _ in 0..<2 { probe.pass(.seconds(2)) }
        #expect(probe.body(fetch, 65_536) == 65_536)
        #expect(probe.read(fast) == 65_536)
        #expect(probe.read(slow) == 131_072)
        #expect(probe.step(slow) == .failed(.origin(.representationChanged)))
    }

    @Test func `a failed store ends fetches for later`() {
        let probe = SessionProbe()
        let reader = probe.join(0, policy: .wholeResource)
        probe.openEmpty()
        probe.step(reader)
        let fetch = probe.startedIDs[0]
        probe.partial(fetch, 0, 10 * MiB, total: 10 * MiB)
        probe.leave(reader)
        #expect(probe.machine.goal != nil)
        probe.storeFails()
        #expect(probe.machine.goal == nil)
        #expect(probe.cancelled == [fetch])
    }

    @Test func `bytes stored before the store failed are still read from it`() {
        let probe = SessionProbe()
        probe.open(length: 10_000, stored: [0...4999])
        let reader = probe.join(0)
        probe.step(reader)
        probe.storeFails()
        #expect(probe.read(reader) == 5000)
        #expect(probe.starts.last == OriginAsk(5000, nil, ifRange: "\"v1\""))
    }

    // MARK: Ends

    @Test(arguments: [ReadFailure.removed, .closed])
    func `removing the resource or closing the cache ends readers and fetches`(failure: ReadFailure) {
        let probe = SessionProbe()
        let reader = probe.join(0)
        probe.openEmpty()
        probe.step(reader)
        let fetch = probe.startedIDs[0]
        probe.partial(fetch, 0, 10 * MiB, total: 10 * MiB)
        probe.body(fetch, 65_536)
        probe.step(reader)
        probe.end(failure)
        #expect(probe.cancelled == [fetch])
        #expect(probe.step(reader) == .failed(failure))
        let late = probe.join(0)
        #expect(probe.step(late) == .failed(failure))
        #expect(probe.starts.count == 1)
        // A closed cache still stores the received bytes; for a removed resource they are dropped.
        #expect(probe.machine.fetches.isEmpty == (failure == .removed))
        probe.store(fetch)
        #expect(probe.machine.fetches == [])
    }
}
