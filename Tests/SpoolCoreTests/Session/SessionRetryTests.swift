import SpoolCore
import Testing

/// Tests when a failed request to an origin is retried, and which responses are not kept.
@Suite struct SessionRetryTests {
    /// A session whose reader is in the middle of a resource and waits for the bytes of a fetch.
    private func inTheMiddle(_ change: (inout SessionLimits) -> Void = { _ in }) -> (SessionProbe, ReaderID, FetchID) {
        let probe = SessionProbe(change)
        probe.open(length: 10_000, stored: [0...999])
        let reader = probe.join(0)
        probe.read(reader)
        return (probe, reader, probe.startedIDs[0])
    }

    private func refused(_ fields: HTTPFields) -> OriginError {
        .status(ResponseHead(status: 503, fields: fields))
    }

    @Test(
        arguments: [
            (["Retry-After": "7"], 7), (["Retry-After": "0"], 0),
            (["Retry-After": "Thu, 01 Jan 1970 00:01:00 GMT", "Date": "Thu, 01 Jan 1970 00:00:48 GMT"], 12),
            (["Retry-After": "Thu, 01 Jan 1970 00:01:00 GMT", "Date": "Thu, 01 Jan 1970 00:02:00 GMT"], 0),
            (["Retry-After": "Thu, 01 Jan 1970 00:01:00 GMT"], nil), (["Retry-After": "soon"], nil), (["Retry-After": "-1"], nil),
            ([:], nil),
        ] as [(HTTPFields, Int64?)])
    func `Retry-After gives seconds, or a date on the origin's own clock`(_ fields: HTTPFields, _ seconds: Int64?) {
        #expect(refused(fields).askedDelay == seconds.map { .seconds($0) })
    }

    @Test func `a reader in the middle waits as long as the origin asks`() {
        let (probe, reader, fetch) = inTheMiddle()
        probe.finish(fetch, refused(["Retry-After": "7"]))
        #expect(probe.failure(reader) == nil)
        probe.pass(.milliseconds(6900))
        #expect(probe.starts.count == 1)
        probe.pass(.milliseconds(100))
        #expect(probe.starts.count == 2)
    }

    @Test func `a reader fails if the origin asks for too long a wait`() {
        let (probe, reader, fetch) = inTheMiddle()
        probe.finish(fetch, refused(["Retry-After": "3600"]))
        #expect(probe.failure(reader) == .origin(refused(["Retry-After": "3600"])))
    }

    @Test func `sessions that failed together retry at different times`() {
        let delays = (1...50 as ClosedRange<UInt64>).map { seed -> Nanoseconds in
            let (probe, _, fetch) = inTheMiddle { $0.jitterSeed = seed }
            probe.finish(fetch, .unreachable("down"))
            return (probe.machine.retryAt ?? probe.now) - probe.now
        }
        #expect(delays.allSatisfy { $0 > .milliseconds(99) && $0 <= .milliseconds(200) })
        #expect(Set(delays).count > 40)
    }

    @Test func `a stream without length and validator is not kept after its listeners leave`() {
        let probe = SessionProbe()
        let listener = probe.join(0)
        probe.openEmpty()
        probe.step(listener)
        let fetch = probe.startedIDs[0]
        probe.full(fetch, length: nil, fields: [:])
        probe.body(fetch, 65_536)
        #expect(probe.read(listener) == 65_536)
        probe.store(fetch)
        probe.leave(listener)
        probe.pass(.seconds(1))
        #expect(probe.actions.contains { if case .unfinished = $0 { true } else { false } })
        #expect(probe.machine.version == nil)
        // The next listener gets the bytes that are sent from now on.
        let next = probe.join(0)
        probe.step(next)
        #expect(probe.starts.count == 2)
    }

    @Test func `an unfinished response of an earlier process is requested anew`() {
        let probe = SessionProbe()
        probe.open(length: nil, stored: [0...999], fields: [:])
        let reader = probe.join(0)
        probe.step(reader)
        #expect(probe.starts == [OriginAsk(0, nil)])
    }

    @Test func `a too large resource is passed on, even if its length comes late`() {
        for length: Int64? in [200_000, nil] {
            let probe = SessionProbe(rules: { $0.maxResourceBytes = 100_000 })
            let reader = probe.join(0)
            probe.openEmpty()
            probe.step(reader)
            let fetch = probe.startedIDs[0]
            probe.full(fetch, length: length)
            probe.body(fetch, 131_072)
            #expect(probe.passing == [.tooLarge(limit: 100_000)])
            #expect(probe.read(reader) == 131_072)
        }
    }

    @Test func `of an endless stream a bounded part is stored, and none of it after its last listener`() {
        let probe = SessionProbe { $0.openEndedBytes = 100_000 }
        let listener = probe.join(0)
        probe.openEmpty()
        probe.step(listener)
        let fetch = probe.startedIDs[0]
        probe.full(fetch, length: nil, fields: [:])
        probe.body(fetch, 131_072)
        #expect(probe.passing == [.tooLarge(limit: 100_000)])
        #expect(probe.read(listener) == 131_072)
        probe.leave(listener)
        probe.pass(.seconds(1))
        #expect(probe.actions.contains { if case .unfinished = $0 { true } else { false } })
    }

    @Test(arguments: [(nil, SessionProbe.etag), (200_000, [:])] as [(Int64?, HTTPFields)])
    func `the bound for endless streams holds for no body with a length or a strong validator`(length: Int64?, fields: HTTPFields) {
        let probe = SessionProbe { $0.openEndedBytes = 100_000 }
        let reader = probe.join(0)
        probe.openEmpty()
        probe.step(reader)
        probe.full(probe.startedIDs[0], length: length, fields: fields)
        probe.body(probe.startedIDs[0], 131_072)
        #expect(probe.passing == [])
    }

    @Test func `an identity by length and date tolerates different tags of one file`() {
        let dated: HTTPFields = ["ETag": "\"a\"", "Last-Modified": "Thu, 01 Jan 1970 00:00:00 GMT"]
        let probe = SessionProbe(rules: { $0.identity = .lengthAndLastModified })
        probe.open(length: 10_000, stored: [0...999], fields: dated)
        let reader = probe.join(0)
        probe.read(reader)
        #expect(probe.starts == [OriginAsk(1000, nil)])
        var other = dated
        other["ETag"] = "\"b\""
        probe.partial(probe.startedIDs[0], 1000, 10_000, total: 10_000, fields: other)
        #expect(probe.changes == [])
        probe.body(probe.startedIDs[0], 9000)
        #expect(probe.read(reader) == 9000)
    }

    @Test func `an identity by length alone works without validators`() {
        let probe = SessionProbe(rules: { $0.identity = .length })
        probe.open(length: 10_000, stored: [0...999], fields: [:])
        let reader = probe.join(0)
        probe.read(reader)
        probe.partial(probe.startedIDs[0], 1000, 10_000, total: 10_000, fields: [:])
        probe.body(probe.startedIDs[0], 5000)
        probe.store(probe.startedIDs[0])
        #expect(probe.stored == [ByteRange(0..<6000)])
        probe.finish(probe.startedIDs[0], .truncated(afterBytes: 5000))
        probe.pass(.seconds(1))
        probe.read(reader)
        probe.partial(probe.startedIDs[1], 6000, 9000, total: 9000, fields: [:])
        #expect(probe.changes.count == 1)
    }
}
