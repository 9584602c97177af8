import SpoolCore
import Testing

/// Tests when a reader may be served in one step as a hit, and which bytes that hit has.
@Suite struct HitTests {
    private func range(_ lower: Int64, _ upper: Int64) -> ByteRange { ByteRange(lower: lower, upper: upper) }

    private func complete(isVerified: Bool = true, fields: HTTPFields = SessionProbe.etag) -> SessionProbe {
        let probe = SessionProbe { $0.keptBehindBytes = 0 }
        probe.open(length: 32 * MiB, stored: [0...32 * MiB - 1], isVerified: isVerified, fields: fields)
        return probe
    }

    private func hit(
        _ probe: SessionProbe, _ first: Int64 = 0, _ last: Int64 = .max, policy: CachePolicy = .preferStored,
        fetchPolicy: FetchPolicy = .whilePlaying, max: Int64 = MiB, mayFetch: Bool = true,
        fields: HTTPFields = HTTPFields()
    ) -> SessionHit? {
        defer { #expect(probe.machine.violations == []) }
        return probe.machine.hit(
            .bounded(first: first, last: last), policy: policy, isShared: false, fetchPolicy: fetchPolicy, max: max,
            mayFetch: mayFetch, fields: fields, wallNow: probe.wallNow)
    }

    /// A resource with 2 MiB stored from 1 MiB on, and its last 2 MiB.
    private func partly(isVerified: Bool = true) -> SessionProbe {
        let probe = SessionProbe { $0.keptBehindBytes = 0 }
        probe.open(length: 32 * MiB, stored: [MiB...3 * MiB - 1, 30 * MiB...32 * MiB - 1], isVerified: isVerified)
        return probe
    }

    @Test func `a complete resource is a hit for at most one turn of bytes`() throws {
        let found = try #require(hit(complete(), 5 * MiB, 7 * MiB - 1))
        #expect(found.range == range(5 * MiB, 7 * MiB))
        #expect(found.stored == range(5 * MiB, 6 * MiB))
        #expect(found.length == 32 * MiB)
    }

    @Test func `a read that needs a fetch, a look-up or verification is no hit`() {
        let fetching = partly(), unverified = complete(isVerified: false), new = SessionProbe()
        _ = fetching.step(fetching.join(20 * MiB))
        let ended = complete()
        _ = ended.machine.end(.removed)
        for probe in [fetching, unverified, partly(isVerified: false), new, ended] {
            let readers = probe.machine.readers.count
            #expect(hit(probe, MiB, MiB + 10) == nil)
            #expect(probe.machine.readers.count == readers)
        }
        #expect(hit(complete(), 32 * MiB) == nil, "a range beyond the end is answered outside the hit path")
    }

    @Test func `a partly stored resource is a hit where the requested bytes are stored`() throws {
        let probe = partly()
        let found = try #require(hit(probe, MiB, 3 * MiB - 1))
        #expect(found.range == range(MiB, 3 * MiB))
        #expect(found.stored == range(MiB, 2 * MiB))
        #expect(found.length == 32 * MiB)
        #expect(try #require(hit(probe, 30 * MiB)).range == range(30 * MiB, 32 * MiB), "to the end of the resource")
        let others = [(0, 10), (MiB - 1, MiB + 10), (3 * MiB - 10, 3 * MiB), (MiB, .max), (2 * MiB, 31 * MiB), (20 * MiB, 20 * MiB)]
        for (first, last) in others {
            #expect(hit(probe, first, last) == nil, "\(first) to \(last)")
        }
        #expect(probe.starts.isEmpty)
    }

    @Test func `a reader whose policy reads further is no hit of a partly stored resource`() {
        for policy in [FetchPolicy.readAhead(bytes: 1), .wholeResource] {
            #expect(hit(partly(), MiB, MiB + 10, fetchPolicy: policy) == nil)
            #expect(hit(complete(), MiB, MiB + 10, fetchPolicy: policy) != nil)
        }
    }

    @Test func `a part is no hit while a lost byte could not be fetched again`() {
        #expect(hit(partly(), MiB, MiB + 10, mayFetch: false) == nil)
        #expect(hit(complete(), MiB, MiB + 10, mayFetch: false) != nil, "a complete resource needs no fetch")
    }

    @Test func `leaving a hit starts no fetch, and a fetch for lost bytes lingers`() throws {
        let probe = partly()
        let found = try #require(hit(probe, MiB, 2 * MiB - 1))
        #expect(probe.machine.hitLeft(found.reader, after: MiB, now: probe.now).isEmpty)
        #expect(probe.machine.readers.isEmpty)
        // As outside the hit path, lost bytes are requested while their reader is there.
        let lost = try #require(hit(probe, MiB, 2 * MiB - 1))
        _ = probe.machine.lost(range(MiB + 100, 2 * MiB), of: lost.generation, now: probe.now)
        #expect(probe.machine.fetches.count == 1)
        _ = probe.machine.hitLeft(lost.reader, after: 100, now: probe.now)
        #expect(probe.machine.fetches.first?.lingersSince != nil)
        #expect(probe.machine.violations == [])
    }

    @Test func `the bytes of a hit are protected from eviction while it lasts`() throws {
        let probe = complete()
        let found = try #require(hit(probe, 20 * MiB, 21 * MiB - 1))
        let gone = probe.machine.evict(100 * MiB, sparing: ByteRangeSet(), regions: [])
        #expect(gone.intersection(range(20 * MiB, 21 * MiB)).isEmpty)
        let after = complete()
        let left = try #require(hit(after, 20 * MiB, 21 * MiB - 1))
        #expect(after.machine.hitLeft(left.reader, after: MiB, now: after.now).isEmpty)
        #expect(after.machine.readers.isEmpty)
        #expect(after.machine.evict(100 * MiB, sparing: ByteRangeSet(), regions: []).contains(range(20 * MiB, 21 * MiB)))
        #expect(found.generation == left.generation)
    }

    @Test func `a hit obeys the freshness rules of its policy as time passes`() {
        let fields: HTTPFields = ["ETag": "\"v1\"", "Cache-Control": "max-age=1010"]
        let probe = complete(fields: fields)
        #expect(hit(probe, policy: .standard) != nil)
        probe.now = MonotonicInstant(nanoseconds: .seconds(9))
        #expect(hit(probe, policy: .standard) != nil)
        probe.now = MonotonicInstant(nanoseconds: .seconds(11))
        #expect(hit(probe, policy: .standard) == nil, "1011 s old")
        #expect(hit(probe, policy: .preferStored) != nil)
        #expect(hit(probe, policy: .standard) == nil, "the result for one policy does not apply to another")
        #expect(hit(complete(fields: ["ETag": "\"v1\"", "Cache-Control": "no-cache"]), policy: .standard) == nil)
    }

    @Test func `a response that another request selected is no hit`() {
        let fields: HTTPFields = ["ETag": "\"v1\"", "Vary": "Accept-Language"]
        let probe = complete(fields: fields)
        #expect(hit(probe) != nil, "no request names a language")
        #expect(hit(probe, fields: ["Accept-Language": "de"]) == nil)
    }

    @Test func `a reader that started as a hit continues like any other`() throws {
        let probe = complete()
        let found = try #require(hit(probe, 0, 3 * MiB - 1))
        probe.advance(found.reader, by: MiB)
        #expect(probe.read(found.reader) == 2 * MiB)
        #expect(probe.step(found.reader) == .end)
    }
}
