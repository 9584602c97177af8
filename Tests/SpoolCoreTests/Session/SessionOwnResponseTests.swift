import SpoolCore
import Testing

/// Tests versions without a strong validator: all bytes of one answer come from one response.
@Suite struct SessionOwnResponseTests {
    static let without: [HTTPFields] = [[:], ["ETag": "W/\"v1\""], ["ETag": "W/\"v1\"", "Content-Type": "video/mp4"]]

    /// A session whose response from 0 was cut off after 30 000 of 100 000 bytes. These bytes are
    /// stored.
    private func cutOff(_ fields: HTTPFields) -> SessionProbe {
        let probe = SessionProbe()
        let reader = probe.join(0)
        probe.openEmpty()
        probe.step(reader)
        probe.full(probe.startedIDs[0], length: 100_000, fields: fields)
        probe.body(probe.startedIDs[0], 30_000)
        probe.store(probe.startedIDs[0])
        probe.read(reader)
        probe.finish(probe.startedIDs[0], .truncated(afterBytes: 30_000))
        probe.leave(reader)
        probe.pass(.seconds(60))
        probe.forgetActions()
        return probe
    }

    @Test(arguments: without) func `stored bytes of one response are not continued with another`(fields: HTTPFields) {
        let probe = cutOff(fields)
        let reader = probe.join(0)
        #expect(probe.prepare(reader) == .wait)
        // The reader requests the whole resource and waits until the head of the response has come.
        #expect(probe.starts == [OriginAsk(0, nil)])
        probe.full(probe.startedIDs[0], length: 100_000, fields: fields)
        let preparation = probe.prepare(reader)
        guard case .ready = preparation else { return unexpected(preparation) }
        probe.body(probe.startedIDs[0], 100_000)
        #expect(probe.read(reader) == 100_000)
    }

    @Test(arguments: without) func `a new response from 0 with more bytes replaces a stored part`(fields: HTTPFields) {
        let probe = cutOff(fields)
        let reader = probe.join(0)
        _ = probe.prepare(reader)
        probe.full(probe.startedIDs[0], length: 100_000, fields: fields)
        #expect(probe.changes.count == 1)
        probe.body(probe.startedIDs[0], 100_000)
        probe.store(probe.startedIDs[0])
        #expect(probe.stored == [ByteRange(0..<100_000)])
    }

    /// A fetch that had left the machine counted as one of the version. Its rest would have been
    /// written into the file of another response.
    @Test(arguments: without) func `bytes of a response of its own are never written, not even after its end`(fields: HTTPFields) {
        let probe = cutOff(fields)
        let reader = probe.join(50_000)
        probe.step(reader)
        let own = probe.startedIDs[0]
        probe.partial(own, 50_000, 100_000, total: 100_000, fields: fields)
        probe.body(own, 10_000)
        #expect(!probe.machine.stores(own))
        #expect(probe.machine.fetch(own)?.generation != probe.machine.version?.generation)
        probe.withdraw(reader)
        #expect(probe.machine.fetches == [])
        #expect(!probe.machine.stores(own))
        #expect(probe.machine.fetch(own)?.generation == nil)
    }

    @Test(arguments: [FetchPolicy.whilePlaying, .wholeResource])
    func `a reader that withdraws is gone with one event, and leaves no goal`(policy: FetchPolicy) {
        let probe = SessionProbe()
        let reader = probe.join(0, policy: policy)
        probe.openEmpty()
        probe.step(reader)
        probe.full(probe.startedIDs[0], length: 100_000)
        #expect(probe.machine.stores(probe.startedIDs[0]))
        probe.withdraw(reader)
        #expect(probe.machine.readers == [])
        #expect(probe.machine.goal == nil)
        probe.withdraw(reader)
    }

    /// The response is a part without its length, in the memory of a relay.
    @Test(arguments: without) func `a reader that stays where it is keeps a response that has ended`(fields: HTTPFields) {
        let probe = SessionProbe()
        let reader = probe.join(0, rules: UseRules(mode: .doNotStore))
        probe.openEmpty()
        _ = probe.prepare(reader)
        let fetch = probe.startedIDs[0]
        probe.partial(fetch, 0, 3000, total: nil, fields: fields)
        probe.body(fetch, 3000)
        probe.finish(fetch)
        probe.forgetActions()
        probe.move(reader, to: 0)
        #expect(probe.read(reader) == 3000)
        #expect(probe.starts == [])
    }

    @Test(arguments: without) func `the bytes of one response serve a reader that needs no more`(fields: HTTPFields) {
        let probe = cutOff(fields)
        let reader = probe.join(0, 30_000)
        #expect(probe.read(reader) == 30_000)
        #expect(probe.starts == [])
    }

    /// A reader waits for a response of its own. Meanwhile another response brings a version that
    /// can be combined, and a third reader asks for the same bytes. Found by `scripts/scenarios`.
    @Test(arguments: without) func `a reader whose own response is given up reads the version`(fields: HTTPFields) {
        let probe = SessionProbe()
        probe.open(length: 100_000, fields: fields)
        var passing = UseRules()
        passing.mode = .doNotStore
        let waiting = probe.join(0, 60_000)
        #expect(probe.prepare(waiting, withFirstByte: true) == .wait)
        let other = probe.join(40_000, 50_000, rules: passing)
        #expect(probe.prepare(other) == .wait)
        probe.partial(probe.startedIDs[1], 40_000, 50_000, total: 90_000)
        #expect(probe.machine.isCombinable)
        let third = probe.join(0, 60_000, rules: passing)
        probe.step(third)
        let preparation = probe.prepare(waiting, withFirstByte: true)
        guard case .ready(_, let representation) = preparation else { return unexpected(preparation) }
        #expect(representation.length == 90_000)
    }

    @Test(arguments: without) func `a seek requests its own first byte and disturbs no other reader`(fields: HTTPFields) {
        let probe = SessionProbe()
        let first = probe.join(0)
        probe.openEmpty()
        probe.step(first)
        probe.partial(probe.startedIDs[0], 0, 10 * MiB, total: 10 * MiB, fields: fields)
        probe.body(probe.startedIDs[0], 65_536)
        #expect(probe.read(first) == 65_536)
        let second = probe.join(8 * MiB)
        _ = probe.prepare(second)
        #expect(probe.starts.last == OriginAsk(8 * MiB, nil))
        probe.partial(probe.startedIDs[1], 8 * MiB, 10 * MiB, total: 10 * MiB, fields: fields)
        probe.body(probe.startedIDs[1], 1000)
        #expect(probe.read(second) == 1000)
        probe.body(probe.startedIDs[0], 65_536)
        #expect(probe.read(first) == 65_536)
        #expect(probe.cancelled == [])
    }

    @Test(arguments: without) func `a cold seek is one request from its first byte`(fields: HTTPFields) {
        let probe = SessionProbe()
        let reader = probe.join(5 * MiB)
        probe.openEmpty()
        #expect(probe.prepare(reader) == .wait)
        probe.partial(probe.startedIDs[0], 5 * MiB, 10 * MiB, total: 10 * MiB, fields: fields)
        let preparation = probe.prepare(reader)
        guard case .ready = preparation else { return unexpected(preparation) }
        probe.body(probe.startedIDs[0], 1000)
        #expect(probe.read(reader) == 1000)
        #expect(probe.starts == [OriginAsk(5 * MiB, nil)])
        #expect(probe.stored == [])
    }

    @Test(arguments: without) func `the head and the tail come from two responses, and the head stays stored`(fields: HTTPFields) {
        let probe = SessionProbe()
        let player = probe.join(0)
        probe.openEmpty()
        probe.step(player)
        probe.partial(probe.startedIDs[0], 0, 10 * MiB, total: 10 * MiB, fields: fields)
        probe.body(probe.startedIDs[0], 65_536)
        probe.store(probe.startedIDs[0])
        probe.read(player)
        probe.leave(player)
        let tail = probe.join(10 * MiB - 1000)
        _ = probe.prepare(tail)
        #expect(probe.starts.last == OriginAsk(10 * MiB - 1000, nil))
        probe.partial(probe.startedIDs[1], 10 * MiB - 1000, 10 * MiB, total: 10 * MiB, fields: fields)
        probe.body(probe.startedIDs[1], 1000)
        #expect(probe.read(tail) == 1000)
        #expect(probe.stored == [ByteRange(0..<65_536)])
    }

    @Test func `a window without a strong validator is replaced by one request for the whole`() {
        let probe = SessionProbe({ $0.requestBytes = 2 * MiB })
        let reader = probe.join(0)
        probe.openEmpty()
        _ = probe.prepare(reader)
        #expect(probe.starts == [OriginAsk(0, 2 * MiB, isWindow: true)])
        probe.partial(probe.startedIDs[0], 0, 2 * MiB, total: 10 * MiB, fields: ["ETag": "W/\"v1\""])
        #expect(probe.starts.last == OriginAsk(0, nil))
        probe.partial(probe.startedIDs[1], 0, 10 * MiB, total: 10 * MiB, fields: ["ETag": "W/\"v1\""])
        probe.body(probe.startedIDs[1], 3 * MiB)
        #expect(probe.read(reader) == 3 * MiB)
    }

    @Test func `stored parts of an earlier session are used only while they are fresh`() {
        for (control, isUsed) in [("max-age=5000", true), ("max-age=10", false)] {
            let probe = SessionProbe()
            probe.open(length: 100_000, stored: [0...29_999], fields: ["ETag": "W/\"v1\"", "Cache-Control": control])
            let reader = probe.join(0, 10_000)
            if isUsed {
                #expect(probe.read(reader) == 10_000)
                #expect(probe.starts == [])
            } else {
                #expect(probe.prepare(reader) == .wait)
                #expect(probe.starts == [OriginAsk(0, 10_000)])
            }
        }
    }

    @Test func `a consumer with a length and type continues with a response that matches both`() {
        let fields: HTTPFields = ["ETag": "W/\"v1\"", "Content-Type": "video/mp4"]
        for total in [100_000, 90_000] as [Int64] {
            let probe = cutOff(fields)
            let reader = probe.join(0, wantsBytes: false)
            _ = probe.prepare(reader)
            probe.machine.readerTold(reader)
            probe.move(reader, to: 50_000)
            #expect(probe.step(reader) == .wait)
            probe.partial(probe.startedIDs[0], 50_000, total, total: total, fields: fields)
            probe.body(probe.startedIDs[0], 1000)
            if total == 100_000 {
                #expect(probe.read(reader) == 1000)
            } else {
                #expect(probe.step(reader) == .failed(.origin(.representationChanged)))
            }
        }
    }

    @Test func `a consumer with a length continues with a strong version of equal length only`() {
        for total in [100_000, 90_000] as [Int64] {
            let probe = cutOff([:])
            let reader = probe.join(0, wantsBytes: false)
            _ = probe.prepare(reader)
            probe.machine.readerTold(reader)
            probe.move(reader, to: 50_000)
            #expect(probe.step(reader) == .wait)
            probe.partial(probe.startedIDs[0], 50_000, total, total: total)
            probe.body(probe.startedIDs[0], 1000)
            if total == 100_000 {
                #expect(probe.read(reader) == 1000)
            } else {
                #expect(probe.step(reader) == .failed(.origin(.representationChanged)))
            }
        }
    }

    @Test func `a reader whose own response fails does not continue with a different strong version`() {
        let probe = cutOff([:])
        let reader = probe.join(0, 30_000)
        #expect(probe.read(reader) == 30_000)
        probe.move(reader, to: 50_000)
        #expect(probe.step(reader) == .wait)
        let other = probe.join(0)
        _ = probe.prepare(other)
        probe.full(probe.startedIDs[1], length: 90_000)
        probe.body(probe.startedIDs[1], 90_000)
        #expect(probe.read(other) == 90_000)
        probe.finish(probe.startedIDs[0], .unreachable("the network is gone"))
        #expect(probe.step(reader) == .failed(.origin(.representationChanged)))
    }

    @Test func `a reader at the end of a stored part gets its answer from the origin`() {
        let probe = SessionProbe()
        probe.open(length: 100_000, stored: [0...29_999], fields: ["ETag": "W/\"v1\""])
        let end = ByteRange.maximumOffset
        let reader = probe.join(end, end)
        #expect(probe.prepare(reader) == .wait)
        #expect(probe.starts == [OriginAsk(end, nil)])
        #expect(probe.cancelled == [])
        probe.head(probe.startedIDs[0], 416, ["Content-Range": "bytes */100000"])
        #expect(probe.prepare(reader) == .failed(.origin(.rangeNotSatisfiable(length: 100_000))))
    }

    @Test func `a reader of stored bytes does not continue with another response of equal length`() {
        let probe = SessionProbe()
        probe.open(length: 100_000, stored: [0...49_999], fields: ["Cache-Control": "max-age=5000"])
        let reader = probe.join(20_000, 80_000, onlyStored: true)
        #expect(probe.read(reader, upTo: 10_000) == 10_000)
        let other = probe.join(0)
        _ = probe.prepare(other)
        probe.full(probe.startedIDs[0], length: 100_000, fields: ["ETag": "W/\"v2\""])
        probe.body(probe.startedIDs[0], 100_000)
        #expect(probe.read(other) == 100_000)
        // The reader gets the rest of the stored part, and no byte of the other response.
        #expect(probe.read(reader) == 20_000)
        #expect(probe.failure(reader) == .notStored)
    }

    @Test func `the end of a window is not the end of a version of unknown length`() {
        let probe = SessionProbe({ $0.requestBytes = 2 * MiB })
        probe.open(length: 100_000, stored: [0...29_999])
        var rules = UseRules()
        rules.mode = .reload
        let reader = probe.join(0, rules: rules)
        _ = probe.prepare(reader)
        let fetch = probe.startedIDs[0]
        probe.head(fetch, 206, ["ETag": "\"v2\"", "Content-Range": "bytes 0-9223372036854775806/9223372036854775807"])
        var count: Int64 = 0
        while count < 2 * MiB, probe.body(fetch, 65_536) > 0 { count += probe.read(reader) }
        #expect(count == 2 * MiB)
        probe.finish(fetch)
        #expect(probe.step(reader) == .wait)
        #expect(probe.starts.last?.lower == 2 * MiB)
    }

    // MARK: Pages

    private static let page: HTTPFields = ["Content-Type": "text/html"]
    private static let film: HTTPFields = ["ETag": "\"v1\"", "Content-Type": "video/mp4"]

    @Test func `a page in the middle of a film retires nothing, and the fetch is retried`() throws {
        let probe = SessionProbe()
        probe.open(length: 100_000, stored: [0...29_999], fields: Self.film)
        let reader = probe.join(0)
        #expect(probe.read(reader) == 30_000)
        probe.full(probe.startedIDs[0], length: 500, fields: Self.page)
        #expect(probe.changes == [])
        #expect(probe.stored == [ByteRange(0..<30_000)])
        probe.pass(.seconds(1))
        let second = try #require(probe.startedIDs.last)
        probe.partial(second, 30_000, 100_000, total: 100_000, fields: Self.film)
        probe.body(second, 70_000)
        #expect(probe.read(reader) == 70_000)
    }

    @Test func `a client without any bytes gets the page itself, and stored bytes stay`() {
        let probe = SessionProbe()
        probe.open(length: 100_000, stored: [0...29_999], fields: Self.film)
        let reader = probe.join(50_000)
        _ = probe.prepare(reader)
        probe.step(reader)
        let fetch = probe.startedIDs[0]
        probe.full(fetch, length: 500, fields: Self.page)
        let preparation = probe.prepare(reader)
        guard case .ready(_, let page) = preparation else { return unexpected(preparation) }
        #expect(page.contentType == "text/html")
        #expect(probe.machine.readsPage(reader))
        probe.body(fetch, 500)
        #expect(probe.read(reader) == 500)
        #expect(probe.stored == [ByteRange(0..<30_000)])
        #expect(probe.changes == [])
    }

    @Test func `several pages in a row emit a passing event`() {
        let probe = SessionProbe()
        probe.open(length: 100_000, stored: [0...29_999], fields: Self.film)
        for round in 0..<3 {
            let reader = probe.join(50_000)
            probe.step(reader)
            probe.full(probe.startedIDs[round], length: 500, fields: Self.page)
            probe.leave(reader)
        }
        #expect(probe.passing == [.unexpectedType("text/html")])
    }

    @Test func `a consistent answer with another tag is a new version`() {
        let probe = SessionProbe()
        probe.open(length: 100_000, stored: [0...29_999], fields: Self.film)
        let reader = probe.join(50_000)
        probe.step(reader)
        probe.full(probe.startedIDs[0], length: 90_000, fields: ["ETag": "\"v2\"", "Content-Type": "application/octet-stream"])
        #expect(probe.changes.count == 1)
    }

    // MARK: Answers that end early

    @Test(arguments: [true, false])
    func `two answers without a new byte fail a client that can retry`(endsSoon: Bool) {
        let probe = SessionProbe()
        probe.open(length: 100_000, stored: [0...29_999])
        let reader = probe.join(0, endsSoon: endsSoon)
        #expect(probe.read(reader) == 30_000)
        for round in 0..<2 {
            probe.partial(probe.startedIDs[round], 30_000, 100_000, total: 100_000)
            probe.finish(probe.startedIDs[round], .truncated(afterBytes: 0))
            probe.pass(.seconds(5))
        }
        #expect((probe.failure(reader) != nil) == endsSoon)
    }

    @Test func `busy answers do not count as answers without a new byte`() {
        let probe = SessionProbe()
        probe.open(length: 100_000, stored: [0...29_999])
        let reader = probe.join(0, endsSoon: true)
        probe.read(reader)
        for round in 0..<3 {
            probe.head(probe.startedIDs[round], 429, [:])
            probe.pass(.seconds(10))
        }
        #expect(probe.failure(reader) == nil)
    }

    // MARK: Slow readers

    @Test func `a reader held back by a slow one sends its own request after a while`() {
        let noStore: HTTPFields = ["ETag": "\"v1\"", "Cache-Control": "no-store"]
        let probe = SessionProbe()
        let fast = probe.join(0)
        probe.openEmpty()
        probe.step(fast)
        let fetch = probe.startedIDs[0]
        probe.partial(fetch, 0, 10 * MiB, total: 10 * MiB, fields: noStore)
        let slow = probe.join(0)
        probe.body(fetch, 65_536)
        probe.step(slow, max: 1000)
        probe.read(fast)
        probe.body(fetch, 10 * MiB)
        probe.read(fast)
        #expect(probe.step(fast) == .wait)
        probe.pass(.milliseconds(500))
        #expect(probe.starts.count == 1)
        probe.pass(.milliseconds(500))
        #expect(probe.starts.last == OriginAsk(256 << 10, nil, ifRange: "\"v1\""))
        let second = probe.startedIDs[1]
        probe.partial(second, 256 << 10, 10 * MiB, total: 10 * MiB, fields: noStore)
        probe.body(second, 1000)
        #expect(probe.read(fast) == 1000)
        #expect(probe.read(slow) == 256 << 10)
    }
}
