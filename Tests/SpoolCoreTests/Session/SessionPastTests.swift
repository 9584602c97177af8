import SpoolCore
import Testing

/// Readers that go on with the version that they have committed to, whatever the origin answers to
/// others.
@Suite struct SessionPastTests {
    private static let newer: HTTPFields = ["ETag": "\"v2\""]

    /// A reader in the middle of stored bytes, and another that has the origin asked.
    private func beside(
        stored: Int64 = 10_000, isVerified: Bool = true
    ) throws -> (SessionProbe, reader: ReaderID, other: ReaderID, fetch: FetchID) {
        let probe = SessionProbe()
        probe.open(length: 10_000, stored: [0...stored - 1], isVerified: isVerified)
        if !isVerified { probe.verified(0...99) }
        let reader = probe.join(0)
        #expect(probe.read(reader, upTo: 100) == 100)
        let other = probe.join(0, rules: UseRules(mode: .reload))
        #expect(probe.prepare(other) == .wait)
        return (probe, reader, other, try #require(probe.startedIDs.last))
    }

    @Test func `a reader of stored bytes goes on when another reader gets a newer version`() throws {
        let (probe, reader, other, fetch) = try beside()
        probe.full(fetch, length: 500, fields: Self.newer)
        probe.body(fetch, 500)
        #expect(probe.read(other) == 500)
        #expect(probe.read(reader) == 9900)
        #expect(probe.step(reader) == .end)
    }

    @Test(arguments: [410, 304])
    func `a reader of stored bytes goes on when the origin contradicts the version`(status: Int) throws {
        let (probe, reader, _, fetch) = try beside()
        probe.head(fetch, status, Self.newer)
        #expect(probe.machine.version == nil)
        #expect(probe.read(reader) == 9900)
    }

    @Test func `a reader of a past version fails at a gap that no running fetch brings`() throws {
        let (probe, reader, _, fetch) = try beside(stored: 1000)
        probe.full(fetch, length: 10_000, fields: Self.newer)
        #expect(probe.read(reader) == 900)
        #expect(probe.step(reader) == .failed(.origin(.representationChanged)))
    }

    @Test func `the running fetch of a past version goes on at the pace of its slow reader`() throws {
        let probe = SessionProbe()
        let reader = probe.join(0)
        probe.openEmpty()
        probe.step(reader)
        let old = try #require(probe.startedIDs.last)
        probe.full(old, length: 20 * MiB)
        probe.body(old, 3 * MiB)
        probe.store(old)
        #expect(probe.read(reader, upTo: MiB) == MiB)
        let other = probe.join(0, rules: UseRules(mode: .reload))
        _ = probe.prepare(other)
        let new = try #require(probe.startedIDs.last)
        probe.full(new, length: 500, fields: Self.newer)
        #expect(!probe.cancelled.contains(old))
        // The reader has not come to the end of the stored bytes, and memory is bounded meanwhile.
        let ahead = probe.body(old, 2 * MiB)
        #expect(ahead > 0 && ahead <= MiB, "\(ahead)")
        #expect(probe.read(reader) == 2 * MiB + ahead)
        #expect(probe.step(reader) == .wait)
        #expect(probe.resumed.contains(old))
        var taken = 3 * MiB + ahead
        while taken < 20 * MiB {
            let more = probe.body(old, 64 << 10)
            #expect(more > 0)
            taken += more
            probe.read(reader)
        }
        #expect(probe.step(reader) == .end)
    }

    @Test(arguments: [15 * MiB, 20 * MiB - 100], [206, 403, 404, 416, 503])
    func `a running fetch brings the bytes for which another reader's seek asked in vain`(seek: Int64, status: Int) throws {
        let probe = SessionProbe()
        let reader = probe.join(0)
        probe.openEmpty()
        probe.step(reader)
        let old = try #require(probe.startedIDs.last)
        probe.partial(old, 0, 20 * MiB, total: 20 * MiB)
        probe.body(old, 64 << 10)
        #expect(probe.read(reader) == 64 << 10)
        let other = probe.join(seek, takesAnyStatus: true)
        probe.step(other)
        let new = try #require(probe.startedIDs.last)
        #expect(probe.starts.last?.lower == seek)
        if status == 206 {
            probe.partial(new, seek, 20 * MiB, total: 20 * MiB, fields: Self.newer)
        } else {
            probe.head(new, status, ["Content-Length": "0"])
        }
        for _ in 1..<320 {
            #expect(probe.body(old, 64 << 10) == 64 << 10)
            probe.store(old)
            #expect(probe.read(reader) == 64 << 10)
        }
        #expect(probe.step(reader) == .end)
        #expect(probe.starts.count(where: { $0.lower > 0 && $0.lower < seek }) == 0)
    }

    @Test func `a running fetch brings the bytes that another reader gets without storing them`() throws {
        let probe = SessionProbe()
        let reader = probe.join(0)
        probe.openEmpty()
        probe.step(reader)
        let old = try #require(probe.startedIDs.last)
        probe.partial(old, 0, 20 * MiB, total: 20 * MiB)
        probe.body(old, 64 << 10)
        #expect(probe.read(reader) == 64 << 10)
        let other = probe.join(15 * MiB, rules: UseRules(mode: .doNotStore))
        probe.step(other)
        let beside = try #require(probe.startedIDs.last)
        probe.partial(beside, 15 * MiB, 20 * MiB, total: 20 * MiB)
        probe.body(beside, 64 << 10)
        #expect(probe.read(other) == 64 << 10)
        probe.leave(other)
        for _ in 1..<320 {
            #expect(probe.body(old, 64 << 10) == 64 << 10)
            probe.store(old)
            #expect(probe.read(reader) == 64 << 10)
        }
        #expect(probe.step(reader) == .end)
        #expect(probe.starts.count == 2)
    }

    @Test func `a past version and its fetch end with the last reader`() throws {
        let probe = SessionProbe()
        let first = probe.join(0), second = probe.join(0)
        probe.openEmpty()
        probe.step(first)
        let old = try #require(probe.startedIDs.last)
        probe.full(old, length: 20 * MiB)
        probe.body(old, MiB)
        for reader in [first, second] { probe.read(reader, upTo: 100) }
        let other = probe.join(0, rules: UseRules(mode: .reload))
        _ = probe.prepare(other)
        probe.full(try #require(probe.startedIDs.last), length: 500, fields: Self.newer)
        let generation = try #require(probe.machine.toldVersion(of: first))
        probe.leave(first)
        #expect(probe.machine.body(apart: generation) != nil && !probe.cancelled.contains(old))
        probe.leave(second)
        #expect(probe.machine.body(apart: generation) == nil && probe.cancelled.contains(old))
        #expect(probe.actions.contains(.pastOver(generation)))
    }

    @Test func `bytes of a past version that are not verified yet are compared before their use`() throws {
        let (probe, reader, _, fetch) = try beside(isVerified: false)
        let generation = try #require(probe.machine.toldVersion(of: reader))
        probe.full(fetch, length: 500, fields: Self.newer)
        #expect(probe.step(reader) == .wait)
        #expect(probe.verifications.last?.contains(100) == true)
        let range = ByteRangeSet([ByteRange(100..<10_000)]), damaged = ByteRangeSet([ByteRange(5000..<6000)])
        probe.actions += probe.machine.verified(range, of: generation, damaged: damaged, now: probe.now)
        #expect(probe.read(reader) == 4900)
        #expect(probe.step(reader) == .failed(.origin(.representationChanged)))
    }

    @Test func `a third version is not stored while two earlier ones with stored bytes are read`() throws {
        let probe = SessionProbe()
        probe.open(length: 10_000, stored: [0...9999])
        var readers: [ReaderID] = []
        for tag in 2...4 {
            let reader = probe.join(0)
            #expect(probe.read(reader, upTo: 100) == 100)
            readers.append(reader)
            let other = probe.join(0, rules: UseRules(mode: .reload))
            _ = probe.prepare(other)
            let fetch = try #require(probe.startedIDs.last)
            probe.full(fetch, length: 10_000, fields: ["ETag": "\"v\(tag)\""])
            probe.body(fetch, 10_000)
            if tag < 3 { probe.store(fetch) }
            probe.leave(other)
            if tag == 3 { break }
        }
        #expect(probe.machine.version?.passReason == .olderVersionsInUse)
        for reader in readers { #expect(probe.read(reader) == 9900) }
        probe.leave(readers[0])
        #expect(probe.machine.version?.passReason == nil)
    }

    // MARK: The request of a reader

    private func join(_ probe: SessionProbe, _ start: Int64, _ end: Int64? = nil, by url: String) -> ReaderID {
        var request = ReaderRequest(start: start, end: end)
        request.asks = RequestSource()
        request.asks?.url = url
        let (id, actions) = probe.machine.readerJoined(request)
        probe.actions += actions
        return id
    }

    @Test(arguments: [401, 403, 302, 304])
    func `the refusal of another reader's request ends only that reader, and the others ask by themselves`(status: Int) throws {
        let probe = SessionProbe()
        probe.open(length: 10_000, stored: [0...999])
        let expired = join(probe, 0, by: "expired"), valid = join(probe, 0, by: "valid")
        for reader in [expired, valid] { #expect(probe.read(reader) == 1000) }
        #expect(probe.starts.count == 1)
        let first = try #require(probe.startedIDs.last)
        probe.head(first, status, [:])
        #expect(probe.failure(expired) != nil && probe.failure(valid) == nil)
        let second = try #require(probe.startedIDs.last)
        #expect(second != first && probe.fetch(second)?.askedBy == valid)
        probe.head(second, status, [:])
        #expect(probe.failure(valid) != nil)
        #expect(probe.starts.count == 2)
    }

    @Test func `the refusal of an equal request ends every reader that waits for it`() throws {
        let probe = SessionProbe()
        probe.open(length: 10_000, stored: [0...999])
        let readers = [join(probe, 0, by: "same"), join(probe, 0, by: "same")]
        for reader in readers { probe.read(reader) }
        probe.head(try #require(probe.startedIDs.last), 403, [:])
        for reader in readers { #expect(probe.failure(reader) != nil) }
        #expect(probe.starts.count == 1)
    }
}
