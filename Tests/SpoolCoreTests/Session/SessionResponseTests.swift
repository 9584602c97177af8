import SpoolCore
import Testing

/// Tests how a session interprets the origin's responses, after research on 52 behaviours of
/// origins.
@Suite struct SessionResponseTests {
    /// A cold session with a waiting reader at `start`.
    private func asking(_ start: Int64, _ end: Int64? = nil) -> (SessionProbe, ReaderID, FetchID) {
        let probe = SessionProbe()
        let reader = probe.join(start, end)
        probe.openEmpty()
        probe.step(reader)
        return (probe, reader, probe.startedIDs[0])
    }

    /// A session with the first 1000 of 10 000 bytes, whose reader has read these and waits for the
    /// next.
    private func inTheMiddle(fields: HTTPFields = SessionProbe.etag) -> (SessionProbe, ReaderID, FetchID) {
        let probe = SessionProbe()
        probe.open(length: 10_000, stored: [0...999], fields: fields)
        let reader = probe.join(0)
        probe.read(reader)
        return (probe, reader, probe.startedIDs[0])
    }

    // MARK: 206

    @Test func `a part that begins later than requested is rejected`() {
        let (probe, reader, fetch) = asking(1000)
        probe.partial(fetch, 2000, 10_000, total: 10_000)
        #expect(probe.cancelled == [fetch])
        #expect(probe.failures.count == 1)
        #expect(probe.changes == [])
        // One server of several may be at fault, so only the second such response is an error.
        #expect(probe.step(reader) == .wait)
        probe.pass(.milliseconds(200))
        #expect(probe.starts.last == OriginAsk(1000, nil))
        probe.partial(probe.startedIDs[1], 2000, 10_000, total: 10_000)
        let step = probe.step(reader)
        guard case .failed(.origin(.malformed)) = step else { return unexpected(step) }
        #expect(probe.starts.count == 2)
    }

    @Test func `a part that begins too early loses its extra beginning`() {
        let (probe, reader, fetch) = asking(1000, 2000)
        probe.partial(fetch, 500, 10_000, total: 10_000)
        #expect(probe.body(fetch, 1500) == 1500)
        #expect(probe.step(reader) == .memory(fetch, ByteRange(1000..<2000)))
    }

    @Test func `a part that begins much too early is rejected`() {
        let (probe, _, fetch) = asking(10 * MiB)
        probe.partial(fetch, 0, 20 * MiB, total: 20 * MiB)
        #expect(probe.failures.count == 1)
    }

    @Test func `a shorter part than requested is followed by a request for the rest`() {
        let (probe, reader, fetch) = asking(0)
        probe.partial(fetch, 0, 1000, total: 10_000)
        probe.body(fetch, 1000)
        probe.finish(fetch)
        #expect(probe.read(reader) == 1000)
        #expect(probe.failures == [])
        #expect(probe.starts.last == OriginAsk(1000, nil, ifRange: "\"v1\""))
    }

    @Test func `a longer part than requested is cut to the leased bytes`() {
        let probe = SessionProbe()
        probe.open(length: 10_000, stored: [2000...2999])
        let reader = probe.join(1000, 2000)
        probe.step(reader)
        let fetch = probe.startedIDs[0]
        probe.partial(fetch, 1000, 10_000, total: 10_000)
        #expect(probe.body(fetch, 9000) == 1000)
        probe.finish(fetch, .truncated(afterBytes: 1000))
        #expect(probe.failures == [])
    }

    @Test func `a part of another version fails started readers and begins a new generation`() {
        let (probe, reader, fetch) = inTheMiddle()
        _ = probe.join(1000)
        probe.partial(fetch, 1000, 10_000, total: 10_000, fields: ["ETag": "\"v2\""])
        #expect(probe.changes.count == 1)
        #expect(probe.step(reader) == .failed(.origin(.representationChanged)))
        probe.body(fetch, 9000)
        probe.store(fetch)
        #expect(probe.stored == [ByteRange(1000..<10_000)])
    }

    @Test func `a part with another length is another version, even with the same tag`() {
        let (probe, reader, fetch) = inTheMiddle()
        probe.partial(fetch, 1000, 9000, total: 9000)
        #expect(probe.step(reader) == .failed(.origin(.representationChanged)))
    }

    @Test func `a part beyond the known end is of another version`() {
        let (probe, reader, fetch) = inTheMiddle()
        probe.partial(fetch, 1000, 20_000, total: nil)
        #expect(probe.step(reader) == .failed(.origin(.representationChanged)))
    }

    @Test func `a part without validators answers If-Range, so it is of the same version`() {
        let (probe, reader, fetch) = inTheMiddle()
        probe.partial(fetch, 1000, 10_000, total: 10_000, fields: [:])
        #expect(probe.changes == [])
        probe.body(fetch, 9000)
        #expect(probe.read(reader) == 9000)
    }

    @Test(
        arguments: [
            [:], ["Content-Range": "bytes 5-2/10"], ["Content-Range": "items 0-9/10"], ["Content-Range": "bytes */10"],
            ["Content-Range": "bytes 0-9/5"],
            HTTPFields([.init(name: "Content-Range", value: "bytes 0-9/10"), .init(name: "Content-Range", value: "bytes 0-8/10")]),
        ] as [HTTPFields])
    func `a part without a usable Content-Range is not stored`(fields: HTTPFields) {
        let (probe, reader, fetch) = asking(0)
        probe.head(fetch, 206, fields)
        #expect(probe.cancelled == [fetch])
        #expect(probe.step(reader) == .wait)
        // The origin does not support ranges correctly, so the second request names none.
        probe.pass(.milliseconds(200))
        #expect(probe.starts.last?.isPlain == true)
        probe.head(probe.startedIDs[1], 206, fields)
        let step = probe.step(reader)
        guard case .failed(.origin(.malformed)) = step else { return unexpected(step) }
    }

    @Test func `a part without a total leaves the length unknown`() {
        let (probe, reader, fetch) = asking(0)
        probe.partial(fetch, 0, 1000, total: nil)
        probe.body(fetch, 1000)
        probe.finish(fetch)
        #expect(probe.machine.version?.representation.length == nil)
        #expect(probe.read(reader) == 1000)
        #expect(probe.starts.last?.lower == 1000)
    }

    // MARK: 200

    @Test func `a whole body without If-Range starts at 0 and serves later offsets`() {
        let (probe, reader, fetch) = asking(1000)
        probe.full(fetch, length: 10_000)
        #expect(probe.body(fetch, 2000) == 2000)
        #expect(probe.step(reader) == .memory(fetch, ByteRange(1000..<2000)))
        #expect(probe.starts.count == 1)
        probe.store(fetch)
        #expect(probe.stored == [ByteRange(0..<2000)])
    }

    @Test func `readers far ahead wait for the running body if ranges are refused`() {
        let (probe, _, fetch) = asking(0)
        probe.full(fetch, length: 100 * MiB)
        let far = probe.join(50 * MiB)
        #expect(probe.step(far) == .wait)
        #expect(probe.starts.count == 1)
        #expect(probe.body(fetch, 51 * MiB) == 51 * MiB)
        #expect(probe.woken.contains(far))
    }

    @Test func `a whole body in response to If-Range is another version`() {
        let (probe, reader, fetch) = inTheMiddle()
        _ = probe.join(1000)
        probe.full(fetch, length: 10_000, fields: ["ETag": "\"v2\""])
        #expect(probe.step(reader) == .failed(.origin(.representationChanged)))
        probe.body(fetch, 10_000)
        probe.store(fetch)
        #expect(probe.stored == [ByteRange(0..<10_000)])
    }

    @Test func `a whole body of the same version skips stored bytes and keeps the rest`() {
        let (probe, reader, fetch) = inTheMiddle()
        probe.full(fetch, length: 10_000)
        #expect(probe.changes == [])
        #expect(probe.body(fetch, 10_000) == 10_000)
        #expect(probe.fetch(fetch)?.released == 1000)
        #expect(probe.read(reader) == 9000)
        probe.store(fetch)
        #expect(probe.machine.version?.isComplete == true)
    }

    @Test func `a whole body skips bytes that an ended fetch still has in memory`() {
        let probe = SessionProbe()
        probe.open(length: 10_000)
        let early = probe.join(0, 1000)
        probe.step(early)
        let first = probe.startedIDs[0]
        probe.partial(first, 0, 1000, total: 10_000)
        probe.body(first, 500)
        probe.finish(first, .truncated(afterBytes: 500))
        probe.leave(early)
        probe.pass(.seconds(1))
        let late = probe.join(2000, 3000)
        probe.step(late)
        let whole = probe.startedIDs[1]
        probe.full(whole, length: 10_000)
        probe.body(whole, 3000)
        #expect(probe.fetch(whole)?.released == 500)
        #expect(probe.step(late) == .memory(whole, ByteRange(2000..<3000)))
        probe.store(first)
        probe.store(whole)
        #expect(probe.stored == [ByteRange(0..<3000)])
    }

    @Test func `a whole body fills losses between bytes that an ended fetch has in memory`() {
        let probe = SessionProbe()
        probe.open(length: 10_000, stored: [400...599])
        let early = probe.join(0)
        probe.step(early)
        let first = probe.startedIDs[0]
        probe.full(first, length: 10_000)
        probe.body(first, 10_000)
        probe.finish(first)
        probe.lose(500...599)
        let late = probe.join(500)
        probe.step(late)
        let whole = probe.startedIDs[1]
        probe.full(whole, length: 10_000)
        probe.body(whole, 10_000)
        #expect(probe.step(late) == .memory(whole, ByteRange(500..<600)))
        probe.advance(late, by: 100)
        #expect(probe.step(late) == .memory(first, ByteRange(600..<10_000)))
    }

    @Test func `a whole body that ends before the known length is truncated`() {
        let (probe, reader, fetch) = inTheMiddle()
        probe.full(fetch, length: nil)
        probe.body(fetch, 5000)
        probe.finish(fetch)
        #expect(probe.failures == [.truncated(afterBytes: 4000)])
        #expect(probe.read(reader) == 4000)
        #expect(probe.machine.version?.representation.length == 10_000)
    }

    // MARK: Lengths

    @Test func `a clean end establishes an unknown length`() {
        let (probe, reader, fetch) = asking(0)
        probe.full(fetch, length: nil)
        probe.body(fetch, 5000)
        #expect(probe.machine.version?.representation.length == nil)
        #expect(probe.read(reader) == 5000)
        probe.finish(fetch)
        #expect(probe.machine.version?.representation.length == 5000)
        #expect(probe.woken.contains(reader))
        #expect(probe.step(reader) == .end)
        #expect(probe.actions.contains(.representationUpdated))
    }

    @Test func `an unknown length stays unknown when the body breaks off`() {
        let (probe, reader, fetch) = asking(0)
        probe.full(fetch, length: nil)
        probe.body(fetch, 5000)
        probe.finish(fetch, .truncated(afterBytes: 5000))
        #expect(probe.machine.version?.representation.length == nil)
        #expect(probe.read(reader) == 5000)
        #expect(probe.step(reader) == .wait)
    }

    @Test func `an empty resource is complete`() {
        let (probe, reader, fetch) = asking(0)
        probe.full(fetch, length: 0)
        #expect(probe.machine.version?.isComplete == true)
        #expect(probe.step(reader) == .end)
        probe.finish(fetch)
        #expect(probe.machine.fetches == [])
        #expect(probe.starts.count == 1)
    }

    // MARK: 416

    @Test func `a 416 with length 0 means an empty resource`() {
        let (probe, reader, fetch) = asking(0)
        probe.head(fetch, 416, ["Content-Range": "bytes */0"])
        #expect(probe.machine.version?.representation.length == 0)
        #expect(probe.step(reader) == .end)
    }

    @Test(arguments: [[:], ["Content-Range": "bytes */100"]] as [HTTPFields])
    func `a 416 at offset 0 is followed by one request without a range`(fields: HTTPFields) {
        let (probe, reader, fetch) = asking(0)
        probe.head(fetch, 416, fields)
        #expect(probe.step(reader) == .wait)
        #expect(probe.starts.map(\.isPlain) == [false, true])
        probe.full(probe.startedIDs[1], length: 100)
        probe.body(probe.startedIDs[1], 100)
        #expect(probe.read(reader) == 100)
        #expect(probe.machine.version?.refusesRanges == true)
    }

    @Test func `a 416 to a request without a range is the origin's refusal`() {
        let (probe, reader, fetch) = asking(0)
        probe.head(fetch, 416, [:])
        probe.head(probe.startedIDs[1], 416, [:])
        let step = probe.step(reader)
        guard case .failed(.origin(.status(416, _))) = step else { return unexpected(step) }
        #expect(probe.starts.count == 2)
    }

    @Test(arguments: [nil, 2000, 3000] as [Int64?], ["no-store", nil])
    func `an origin that contradicts itself without end is asked a bounded number of times`(length: Int64?, control: String?) {
        var fields = SessionProbe.etag
        fields["Cache-Control"] = control
        let (probe, _, fetch) = asking(0)
        probe.full(fetch, length: 3000, fields: fields)
        let reader = probe.join(2500)
        for _ in 0..<50 where probe.failure(reader) == nil {
            guard probe.step(reader) == .wait, let id = probe.startedIDs.last, let ask = probe.starts.last else { break }
            if ask.lower == 0 || ask.isPlain {
                probe.full(id, length: 3000, fields: fields)
            } else {
                probe.head(id, 416, length.map { ["Content-Range": "bytes */\($0)"] } ?? [:])
            }
            probe.pass(.seconds(1))
        }
        #expect(probe.starts.count < 20)
    }

    @Test func `a reader beyond the end of an unknown resource gets its length`() {
        let (probe, reader, fetch) = asking(5000)
        probe.head(fetch, 416, ["Content-Range": "bytes */1000"])
        #expect(probe.step(reader) == .failed(.origin(.rangeNotSatisfiable(length: 1000))))
    }

    @Test func `an early 416 is not requested again and does not affect other offsets`() {
        let probe = SessionProbe()
        let other = probe.join(9000), reader = probe.join(5000)
        #expect(probe.prepare(other) == .wait)
        probe.openEmpty()
        probe.head(probe.startedIDs[0], 416, ["Content-Range": "bytes */1000"])
        #expect(probe.starts.count == 1)
        probe.move(reader, to: 0)
        #expect(probe.step(reader) == .wait)
        #expect(probe.starts.last == OriginAsk(0, nil))
    }

    @Test func `a 416 does not fail a reader before the end`() {
        let (probe, far, fetch) = asking(5000)
        let near = probe.join(0)
        #expect(probe.step(near) == .wait)
        probe.head(fetch, 416, ["Content-Range": "bytes */1000"])
        #expect(probe.failure(far) == .origin(.rangeNotSatisfiable(length: 1000)))
        #expect(probe.failure(near) == nil)
        #expect(probe.starts.last == OriginAsk(0, nil))
    }

    @Test func `a 416 at the current end establishes an unknown length`() {
        let (probe, reader, fetch) = asking(0)
        probe.partial(fetch, 0, 1000, total: nil)
        probe.body(fetch, 1000)
        probe.finish(fetch)
        probe.read(reader)
        probe.head(probe.startedIDs[1], 416, ["Content-Range": "bytes */1000"])
        #expect(probe.step(reader) == .end)
        #expect(probe.machine.version?.representation.length == 1000)
    }

    /// A response of unknown length broke off before its first byte. Then the resource became
    /// empty, and a 416 stated the new length without a validator.
    @Test func `a 416 with length 0 is not the length of a version without any byte`() {
        let (probe, reader, fetch) = asking(1000, 2000)
        probe.full(fetch, length: nil)
        probe.finish(fetch, .truncated(afterBytes: 0))
        probe.pass(.seconds(10))
        #expect(probe.step(reader) == .wait)
        probe.head(probe.startedIDs[1], 416, ["Content-Range": "bytes */0"])
        #expect(probe.machine.version == nil)
    }

    @Test func `a 416 where bytes are known means that the resource changed`() {
        let (probe, reader, fetch) = inTheMiddle()
        probe.head(fetch, 416, ["Content-Range": "bytes */500"])
        #expect(probe.step(reader) == .failed(.origin(.representationChanged)))
        #expect(probe.machine.version == nil)
    }

    @Test func `a head is entered into the index with the first byte, and not before`() throws {
        let (probe, _, fetch) = inTheMiddle()
        probe.head(fetch, 416, ["Content-Range": "bytes */10000"])
        #expect(probe.machine.version == nil)
        let reader = probe.join(0)
        probe.step(reader)
        let next = try #require(probe.startedIDs.last)
        probe.full(next, length: 10_000)
        #expect(probe.machine.version?.passReason == nil && !probe.machine.mayEnterHead)
        probe.body(next, 1000)
        probe.store(next)
        #expect(probe.machine.mayEnterHead)
    }

    @Test func `bytes in memory of the old version go to its own readers only`() {
        let probe = SessionProbe()
        probe.open(length: 10 * MiB)
        let reader = probe.join(1000), other = probe.join(9 * MiB)
        probe.step(reader)
        probe.step(other)
        let (old, new) = (probe.startedIDs[0], probe.startedIDs[1])
        probe.partial(old, 1000, 10 * MiB, total: 10 * MiB)
        probe.body(old, 2000)
        probe.read(reader, upTo: 100)
        probe.partial(new, 9 * MiB, 10 * MiB, total: 10 * MiB, fields: ["ETag": "\"v2\""])
        #expect(probe.machine.fetches.map(\.id) == [old, new])
        #expect(probe.step(reader) == .memory(old, ByteRange(1100..<3000)))
        let third = probe.join(1000)
        #expect(probe.step(third) == .wait)
        #expect(probe.starts.last?.lower == 1000)
    }

    // MARK: Statuses and failures

    @Test(arguments: [403, 404, 410, 500, 503, 304, 204, 100])
    func `an error status fails readers without bytes, and nothing is stored`(status: Int) {
        let (probe, reader, fetch) = asking(0)
        probe.head(fetch, status, [:])
        #expect(probe.step(reader) == .failed(.origin(.status(status))))
        #expect(probe.machine.version == nil)
        #expect(probe.cancelled == [fetch])
    }

    @Test func `a reader in the middle of its bytes waits for a retry`() {
        let (probe, reader, fetch) = inTheMiddle()
        probe.finish(fetch, .unreachable("gone"))
        #expect(probe.step(reader) == .wait)
        #expect(probe.starts.count == 1)
        #expect(probe.timers.last == probe.now + .milliseconds(200))
        probe.pass(.milliseconds(200))
        #expect(probe.starts.count == 2)
        #expect(probe.starts[1] == probe.starts[0])
    }

    @Test func `retries back off twofold, and the reader fails after the last`() {
        let (probe, reader, _) = inTheMiddle()
        var waited: [Nanoseconds] = []
        while probe.failure(reader) == nil, waited.count < 20, let fetch = probe.startedIDs.last {
            probe.finish(fetch, .timeout("silent"))
            guard let retryAt = probe.machine.retryAt, probe.failure(reader) == nil else { break }
            waited.append(retryAt - probe.now)
            probe.pass(retryAt - probe.now)
        }
        #expect(waited == [200, 400, 800, 1600, 3200].map(Nanoseconds.milliseconds))
        #expect(probe.failure(reader) == .origin(.timeout("silent")))
    }

    @Test func `a received byte resets the count of failures`() {
        let (probe, reader, _) = inTheMiddle()
        for _ in 0..<12 {
            guard let fetch = probe.startedIDs.last else { return unexpected(probe.startedIDs) }
            let position = probe.fetch(fetch)?.start ?? 0
            probe.partial(fetch, position, 10_000, total: 10_000)
            probe.body(fetch, 100)
            probe.finish(fetch, .truncated(afterBytes: 100))
            probe.read(reader)
            #expect(probe.machine.retryAt.map { $0 - probe.now } == .milliseconds(200))
            probe.pass(.milliseconds(200))
        }
        #expect(probe.failure(reader) == nil)
    }

    @Test func `a truncated body keeps its bytes, and the fetch continues from there`() {
        let (probe, reader, fetch) = inTheMiddle()
        probe.partial(fetch, 1000, 10_000, total: 10_000)
        probe.body(fetch, 3000)
        probe.finish(fetch)
        #expect(probe.failures == [.truncated(afterBytes: 3000)])
        probe.store(fetch)
        probe.read(reader)
        probe.pass(.milliseconds(200))
        #expect(probe.starts.last == OriginAsk(4000, nil, ifRange: "\"v1\""))
    }

    @Test func `a reader that joins after a failure gets its own attempt`() {
        let (probe, _, fetch) = asking(0)
        probe.head(fetch, 404, [:])
        let next = probe.join(0)
        #expect(probe.step(next) == .wait)
        #expect(probe.starts.count == 2)
    }

    @Test func `a failure of one gap does not fail the reader of another`() {
        let probe = SessionProbe()
        probe.open(length: 10 * MiB)
        let first = probe.join(0), second = probe.join(5 * MiB)
        probe.step(first)
        probe.step(second)
        probe.head(probe.startedIDs[0], 403, [:])
        #expect(probe.failure(first) == .origin(.status(403)))
        #expect(probe.failure(second) == nil)
    }

    @Test func `failed read-ahead is retried later, not at once`() {
        let probe = SessionProbe()
        probe.open(length: 10 * MiB, stored: [0...MiB - 1])
        let reader = probe.join(0)
        #expect(probe.step(reader, max: 1000) == .stored(ByteRange(0..<1000)))
        probe.advance(reader, by: 1000)
        #expect(probe.starts.count == 1)
        probe.head(probe.startedIDs[0], 503, [:])
        probe.advance(reader, by: 1000)
        #expect(probe.starts.count == 1)
        probe.pass(.milliseconds(200))
        #expect(probe.starts.count == 2)
    }

    /// A whole body came without a length and broke off. The next one has a length that ends before
    /// the reader, which once waited for ever.
    @Test func `a length that ends before a reader ends its wait`() {
        let probe = SessionProbe()
        let reader = probe.join(5000, 9000)
        probe.openEmpty()
        probe.step(reader)
        probe.full(probe.startedIDs[0], length: nil)
        probe.body(probe.startedIDs[0], 18)
        probe.finish(probe.startedIDs[0], .truncated(afterBytes: 18))
        probe.pass(.seconds(10))
        #expect(probe.starts.map(\.lower) == [5000, 5000])
        probe.full(probe.startedIDs[1], length: 18)
        #expect(probe.woken.last == reader)
        #expect(probe.step(reader) == .end)
    }

    /// 1. A body without a length is read.
    /// 2. Another reader asks far beyond it, and a 416 names a length before that.
    /// 3. The length is wrong or belongs to another version. The first reader was once given a
    /// clean end there.
    @Test func `a length in a 416 ends only the readers beyond it`() {
        let probe = SessionProbe()
        let reading = probe.join(0)
        probe.openEmpty()
        probe.step(reading)
        probe.full(probe.startedIDs[0], length: nil, fields: ["ETag": "\"v1\"", "Accept-Ranges": "bytes"])
        probe.body(probe.startedIDs[0], 1000)
        #expect(probe.read(reading) == 1000)
        let seeking = probe.join(500_000)
        probe.step(seeking)
        probe.head(probe.startedIDs[1], 416, ["Content-Range": "bytes */1500"])
        #expect(probe.failure(seeking) == .origin(.rangeNotSatisfiable(length: 1500)))
        #expect(probe.machine.version?.representation.length == nil)
        probe.body(probe.startedIDs[0], 1000)
        #expect(probe.read(reading) == 1000, "the body continues beyond the length in the 416")
    }

    // MARK: Versions

    @Test func `a reader without a delivered version moves to the new version`() {
        let (probe, told, fetch) = inTheMiddle()
        let untold = probe.join(1000, 2000)
        #expect(probe.step(untold) == .wait)
        probe.full(fetch, length: 10_000, fields: ["ETag": "\"v2\""])
        #expect(probe.step(told) == .failed(.origin(.representationChanged)))
        #expect(probe.failure(untold) == nil)
        probe.body(fetch, 3000)
        #expect(probe.step(untold) == .memory(fetch, ByteRange(1000..<2000)))
    }

    @Test func `a reader with the head of one version never gets bytes of another`() {
        let (probe, _, fetch) = inTheMiddle()
        let reader = probe.join(0, wantsBytes: false)
        let preparation = probe.prepare(reader)
        guard case .ready(let generation, _) = preparation else { return unexpected(preparation) }
        // Another version arrives between the preparation and its use.
        probe.full(fetch, length: 10_000, fields: ["ETag": "\"v2\""])
        probe.machine.readerTold(reader)
        #expect(probe.machine.version?.generation != generation)
        #expect(probe.machine.toldVersion(of: reader) == generation)
        probe.body(fetch, 10_000)
        while probe.read(reader) > 0 {}
        #expect(probe.step(reader) == .failed(.origin(.representationChanged)))
    }

    @Test func `a prepared reader without a delivered version returns to prepare`() {
        let (probe, _, fetch) = inTheMiddle()
        let reader = probe.join(0)
        let preparation = probe.prepare(reader)
        guard case .ready(let old, _) = preparation else { return unexpected(preparation) }
        probe.full(fetch, length: 10_000, fields: ["ETag": "\"v2\""])
        #expect(probe.step(reader) == .wait)
        probe.forgetActions()
        probe.body(fetch, 1000)
        #expect(probe.woken == [reader])
        let preparation2 = probe.prepare(reader)
        guard case .ready(let new, _) = preparation2 else { return unexpected(preparation2) }
        #expect(new != old)
        #expect(probe.step(reader) == .memory(fetch, ByteRange(0..<1000)))
    }
}
