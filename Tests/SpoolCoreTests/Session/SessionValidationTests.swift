import SpoolCore
import Testing

/// Tests when the origin is asked whether stored bytes are current, and the effects of its answers.
@Suite struct SessionValidationTests {
    private static let fields: HTTPFields = [
        "ETag": "\"v1\"", "Cache-Control": "max-age=60", "Last-Modified": "Thu, 01 Jan 1970 00:00:00 GMT",
    ]

    /// A session with a complete resource of 1000 bytes, stale for a long time, and a reader by the
    /// standard policy that waits for its revalidation.
    private func asking(
        _ rules: UseRules = UseRules(policy: .standard), fields: HTTPFields = SessionValidationTests.fields,
        stored: ClosedRange<Int64> = 0...999
    ) -> (SessionProbe, ReaderID, FetchID) {
        let probe = SessionProbe()
        probe.open(length: 1000, stored: [stored], fields: fields)
        let reader = probe.join(0, rules: rules)
        #expect(probe.prepare(reader) == .wait)
        return (probe, reader, probe.startedIDs[0])
    }

    @Test func `a stale response is revalidated with its validators`() {
        let (probe, _, _) = asking()
        let conditions = Revalidation(entityTag: "\"v1\"", lastModified: "Thu, 01 Jan 1970 00:00:00 GMT")
        var ask = OriginAsk(lower: 0, upper: nil, ifRange: nil, revalidation: conditions)
        // Stored bytes stand in for the answer after a short time.
        ask.isBrief = true
        #expect(probe.starts == [ask])
    }

    @Test func `a 304 makes a response fresh for this reader and the next`() {
        let (probe, reader, fetch) = asking()
        probe.head(fetch, 304, ["ETag": "\"v1\"", "Cache-Control": "max-age=60", "Date": HTTPDate.format(probe.wallNow)])
        #expect(probe.woken == [reader])
        #expect(probe.read(reader) == 1000)
        let next = probe.join(0, rules: UseRules(policy: .standard))
        let preparation = probe.prepare(next)
        guard case .ready = preparation else { return unexpected(preparation) }
        #expect(probe.starts.count == 1)
        #expect(probe.actions.contains(.representationUpdated))
    }

    @Test func `a 204 means that a manifest has not changed`() {
        let fields: HTTPFields = ["Content-Type": "application/dash+xml", "ETag": "\"v1\"", "Cache-Control": "max-age=60"]
        let (probe, reader, fetch) = asking(fields: fields)
        probe.head(fetch, 204, ["Date": HTTPDate.format(probe.wallNow)])
        #expect(probe.read(reader) == 1000)
        #expect(probe.changes == [])
    }

    @Test func `a 204 confirms a manifest whose bytes are not on the disk yet`() throws {
        let probe = SessionProbe()
        let reader = probe.join(0)
        probe.openEmpty()
        probe.step(reader)
        let fetch = probe.startedIDs[0]
        probe.full(fetch, length: 300, fields: ["Content-Type": "application/dash+xml", "Cache-Control": "max-age=1"])
        #expect(probe.body(fetch, 300) == 300)
        probe.finish(fetch)
        probe.leave(reader)
        probe.pass(.seconds(60))
        let next = probe.join(0, rules: UseRules(policy: .standard))
        #expect(probe.prepare(next) == .wait)
        let refresh = try #require(probe.startedIDs.last)
        #expect(refresh != fetch)
        probe.head(refresh, 204, ["Date": HTTPDate.format(probe.wallNow)])
        #expect(probe.read(next) == 300)
    }

    @Test func `a new version replaces the stale one`() {
        let (probe, reader, fetch) = asking()
        probe.full(fetch, length: 500, fields: ["ETag": "\"v2\""])
        probe.body(fetch, 500)
        #expect(probe.changes.count == 1)
        #expect(probe.read(reader) == 500)
    }

    @Test func `a part of a new version replaces the stale one`() {
        let (probe, reader, fetch) = asking()
        probe.partial(fetch, 0, 700, total: 700, fields: ["ETag": "\"v2\""])
        probe.body(fetch, 700)
        #expect(probe.read(reader) == 700)
    }

    @Test(arguments: [true, false])
    func `an unconditional answer of the same version is cancelled`(_ isWhole: Bool) {
        let (probe, reader, fetch) = asking()
        if isWhole { probe.full(fetch, length: 1000) } else { probe.partial(fetch, 0, 1000, total: 1000) }
        #expect(probe.cancelled == [fetch])
        #expect(probe.changes == [])
        #expect(probe.read(reader) == 1000)
    }

    @Test func `a whole answer completes a partly stored version`() {
        let (probe, reader, fetch) = asking(stored: 0...99)
        probe.full(fetch, length: 1000)
        probe.body(fetch, 1000)
        #expect(probe.cancelled == [])
        #expect(probe.read(reader) == 1000)
        #expect(probe.starts.count == 1)
    }

    // MARK: Gaps

    private static let asksBytes = OriginAsk(
        lower: 0, upper: 500, ifRange: "\"v1\"", revalidation: Revalidation(entityTag: nil, lastModified: nil))

    @Test func `one answer confirms a version and brings the missing bytes`() {
        let (probe, reader, fetch) = asking(stored: 500...999)
        #expect(probe.starts == [Self.asksBytes])
        probe.partial(fetch, 0, 500, total: 1000, fields: Self.fields)
        #expect(probe.body(fetch, 500) == 500)
        #expect(probe.read(reader) == 1000)
        #expect(probe.starts.count == 1 && probe.cancelled == [] && probe.changes == [])
        #expect(probe.actions.contains(.representationUpdated))
    }

    @Test func `another version comes in place of the missing bytes of a stale one`() {
        let (probe, reader, fetch) = asking(stored: 500...999)
        probe.full(fetch, length: 700, fields: ["ETag": "\"v2\""])
        probe.body(fetch, 700)
        #expect(probe.changes.count == 1)
        #expect(probe.read(reader) == 700)
        #expect(probe.starts.count == 1)
    }

    @Test func `a weak tag ties no bytes to those that are stored`() {
        let (probe, _, _) = asking(fields: ["ETag": "W/\"v1\"", "Cache-Control": "max-age=60"], stored: 500...999)
        #expect(probe.starts.map(\.ifRange) == [nil])
    }

    @Test func `missing bytes that another fetch brings meanwhile are not received twice`() {
        let (probe, reader, fetch) = asking(stored: 500...999)
        let other = probe.join(0, rules: UseRules(policy: .preferStored))
        guard case .ready = probe.prepare(other) else { return #expect(Bool(false)) }
        #expect(probe.step(other) == .wait)
        let second = probe.startedIDs[1]
        probe.partial(second, 0, 500, total: 1000, fields: Self.fields)
        probe.partial(fetch, 0, 500, total: 1000, fields: Self.fields)
        #expect(probe.cancelled == [fetch])
        probe.body(second, 500)
        #expect(probe.read(reader) == 1000 && probe.read(other) == 1000)
    }

    @Test func `a version without validators is replaced by the next response`() {
        let (probe, reader, fetch) = asking(fields: ["Cache-Control": "max-age=1"])
        probe.full(fetch, length: 1000, fields: [:])
        #expect(probe.changes.count == 1)
        probe.body(fetch, 1000)
        let step = probe.step(reader)
        guard case .memory = step else { return unexpected(step) }
    }

    @Test(arguments: [OriginError.unreachable("down"), .timeout("silent"), .status(503), .tls("expired")])
    func `stored bytes stay in use when the origin is in trouble`(_ error: OriginError) {
        let (probe, reader, fetch) = asking()
        probe.finish(fetch, error)
        #expect(probe.actions.contains(.usedUnvalidated(error)))
        #expect(probe.read(reader) == 1000)
        // The next reader does not wait for the same trouble.
        let next = probe.join(0, rules: UseRules(policy: .standard))
        let preparation = probe.prepare(next)
        guard case .ready = preparation else { return unexpected(preparation) }
    }

    @Test func `a response with must-revalidate is not used without validation`() {
        let (probe, reader, fetch) = asking(fields: ["ETag": "\"v1\"", "Cache-Control": "max-age=1, must-revalidate"])
        probe.finish(fetch, .unreachable("down"))
        #expect(probe.failure(reader) == .origin(.unreachable("down")))
    }

    @Test func `a first 404 makes the stored version stale and ends no other reader`() {
        let (probe, reader, fetch) = asking()
        let told = probe.join(0, rules: UseRules())
        probe.read(told, upTo: 10)
        probe.head(fetch, 404, [:])
        #expect(probe.failure(reader) == .origin(.status(404)))
        #expect(probe.failure(told) == nil)
        #expect(probe.machine.version?.isComplete == true)
        probe.pass(.seconds(1))
        // Each later reader asks the origin first, under every policy but `.storeEverything`.
        let later = probe.join(0, rules: UseRules())
        #expect(probe.prepare(later) == .wait)
        #expect(probe.starts.last?.revalidation?.entityTag == "\"v1\"")
        guard let second = probe.startedIDs.last, second != fetch else { return unexpected(probe.startedIDs) }
        probe.head(second, 304, ["ETag": "\"v1\""])
        #expect(probe.machine.version?.representation.refusedAt == nil)
        let next = probe.join(0, rules: UseRules())
        guard case .ready = probe.prepare(next) else { return unexpected(probe.prepare(next)) }
    }

    @Test(arguments: [(299, false), (301, true)])
    func `a second 404 removes the stored version after five minutes`(seconds: Int64, isGone: Bool) {
        let (probe, _, fetch) = asking()
        probe.head(fetch, 404, [:])
        probe.pass(.seconds(seconds))
        let later = probe.join(0, rules: UseRules())
        _ = probe.prepare(later)
        guard let second = probe.startedIDs.last, second != fetch else { return unexpected(probe.startedIDs) }
        probe.head(second, 404, [:])
        #expect(probe.failure(later) == .origin(.status(404)))
        #expect((probe.machine.version == nil) == isGone)
    }

    @Test func `a stored version is dropped after a 410`() {
        let (probe, reader, fetch) = asking()
        let told = probe.join(0, rules: UseRules())
        probe.read(told, upTo: 10)
        probe.head(fetch, 410, [:])
        #expect(probe.failure(reader) == .origin(.status(410)))
        #expect(probe.failure(told) == nil, "it goes on with the bytes that are stored")
        #expect(probe.actions.contains { if case .gone = $0 { true } else { false } })
        #expect(probe.machine.version == nil)
    }

    @Test func `a 403 fails its reader and keeps the stored version`() {
        let (probe, reader, fetch) = asking()
        probe.head(fetch, 403, [:])
        #expect(probe.failure(reader) == .origin(.status(403)))
        #expect(probe.machine.version?.isComplete == true)
    }

    @Test func `a 304 for another version is not accepted`() {
        let (probe, reader, fetch) = asking()
        probe.head(fetch, 304, ["ETag": "\"v7\""])
        #expect(probe.machine.version == nil)
        #expect(probe.starts.count == 2)
        #expect(probe.starts[1].revalidation == nil)
        probe.full(probe.startedIDs[1], length: 10, fields: ["ETag": "\"v7\""])
        probe.body(probe.startedIDs[1], 10)
        #expect(probe.read(reader) == 10)
    }

    @Test func `a stale response within its grace is served at once and revalidated beside its readers`() {
        let (probe, reader) = withinGrace(stored: 0...999)
        #expect(probe.read(reader, upTo: 10) == 10)
        #expect(probe.starts.map(\.revalidation?.entityTag) == ["\"v1\""])
        probe.full(probe.startedIDs[0], length: 10, fields: ["ETag": "\"v2\""])
        #expect(probe.machine.version?.representation.length == 10)
        #expect(probe.read(reader) == 990)
    }

    @Test func `a stale response of which bytes are missing is revalidated meanwhile`() {
        let (probe, reader) = withinGrace(stored: 0...99)
        #expect(probe.starts.first?.revalidation?.entityTag == "\"v1\"")
        #expect(probe.read(reader) == 100)
        probe.head(probe.startedIDs[0], 304, [:])
        #expect(probe.failure(reader) == nil)
    }

    /// A reader of a stale version that may still be used while the origin is asked.
    private func withinGrace(stored: ClosedRange<Int64>) -> (SessionProbe, ReaderID) {
        let probe = SessionProbe()
        probe.open(length: 1000, stored: [stored], fields: ["ETag": "\"v1\"", "Cache-Control": "max-age=60, stale-while-revalidate=5000"])
        let reader = probe.join(0, rules: UseRules(policy: .standard))
        let preparation = probe.prepare(reader)
        if case .ready = preparation {} else { unexpected(preparation) }
        return (probe, reader)
    }

    @Test func `several readers wait for one revalidation`() {
        let (probe, first, fetch) = asking()
        let second = probe.join(100, rules: UseRules(policy: .standard))
        #expect(probe.prepare(second) == .wait)
        #expect(probe.starts.count == 1)
        probe.head(fetch, 304, [:])
        #expect(probe.woken == [first, second])
    }

    @Test func `a reader with its version continues while others revalidate`() {
        let (probe, _, _) = asking()
        let playing = probe.join(0, rules: UseRules(policy: .preferStored))
        #expect(probe.read(playing) == 1000)
    }

    @Test func `a reader of stored bytes gets stale ones where that is allowed`() {
        for (control, isServed) in [("max-age=1", true), ("no-cache", false)] {
            let probe = SessionProbe()
            probe.open(length: 1000, stored: [0...999], fields: ["ETag": "\"v1\"", "Cache-Control": control])
            let reader = probe.join(0, rules: UseRules(policy: .standard, mode: .onlyStored))
            #expect(probe.read(reader) == (isServed ? 1000 : 0))
            #expect(probe.failure(reader) == (isServed ? nil : .notStored))
            #expect(probe.starts == [])
        }
    }

    @Test func `a response selected by other request fields is revalidated`() {
        let probe = SessionProbe()
        probe.machine.willAsk(by: RequestSource(fields: ["Accept-Language": "de"]))
        let first = probe.join(0)
        probe.openEmpty()
        probe.step(first)
        probe.full(probe.startedIDs[0], length: 10, fields: ["ETag": "\"de\"", "Vary": "accept-language, origin"])
        probe.body(probe.startedIDs[0], 10)
        probe.finish(probe.startedIDs[0])
        #expect(probe.read(first) == 10)
        probe.machine.willAsk(by: RequestSource(fields: ["Accept-Language": "fr"]))
        let second = probe.join(0)
        #expect(probe.prepare(second) == .wait)
        #expect(probe.starts.count == 2)
        probe.machine.willAsk(by: RequestSource(fields: ["Accept-Language": "de"]))
        let third = probe.join(0)
        let preparation = probe.prepare(third)
        guard case .ready = preparation else { return unexpected(preparation) }
    }

    @Test func `a fetch for a reader without storing does not prevent storing for others`() {
        let probe = SessionProbe()
        let passing = probe.join(0, rules: UseRules(mode: .doNotStore))
        probe.openEmpty()
        probe.step(passing)
        probe.full(probe.startedIDs[0], length: 1000)
        #expect(probe.passing == [.byRequest])
        probe.body(probe.startedIDs[0], 1000)
        probe.read(passing)
        #expect(probe.fetch(probe.startedIDs[0])?.isRelay != false)
        let storing = probe.join(0)
        let preparation = probe.prepare(storing)
        guard case .ready = preparation else { return unexpected(preparation) }
        #expect(probe.machine.version?.passReason == nil)
    }

    @Test func `gaps of a reader without storing are passed on`() {
        let probe = SessionProbe()
        probe.open(length: 1000, stored: [0...99])
        let reader = probe.join(0, rules: UseRules(mode: .doNotStore))
        #expect(probe.read(reader) == 100)
        let fetch = probe.startedIDs[0]
        #expect(probe.fetch(fetch)?.isRelay == true)
        probe.partial(fetch, 100, 1000, total: 1000)
        probe.body(fetch, 900)
        #expect(probe.read(reader) == 900)
        #expect(probe.stored == [ByteRange(0..<100)])
    }
}
