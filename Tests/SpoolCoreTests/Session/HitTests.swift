import SpoolCore
import Testing

/// When a reader may be served in one step, and what that is worth to it.
@Suite struct HitTests {
    private func range(_ lower: Int64, _ upper: Int64) -> ByteRange { ByteRange(lower: lower, upper: upper) }

    private func complete(isVerified: Bool = true, fields: HTTPFields = SessionProbe.etag) -> SessionProbe {
        let probe = SessionProbe { $0.keptBehindBytes = 0 }
        probe.open(length: 32 * MiB, stored: [0...32 * MiB - 1], isVerified: isVerified, fields: fields)
        return probe
    }

    private func hit(
        _ probe: SessionProbe, _ first: Int64 = 0, _ last: Int64 = .max, policy: CachePolicy = .preferStored,
        fetchPolicy: FetchPolicy = .whilePlaying, max: Int64 = MiB
    ) -> SessionStateMachine.Hit? {
        defer { #expect(probe.machine.violations == []) }
        return probe.machine.hit(
            .bounded(first: first, last: last), policy: policy, isShared: false, fetchPolicy: fetchPolicy, max: max,
            wallNow: probe.wallNow)
    }

    /// Stored are 2 MiB from 1 MiB on, and the last 2 MiB.
    private func partly(isVerified: Bool = true) -> SessionProbe {
        let probe = SessionProbe { $0.keptBehindBytes = 0 }
        probe.open(length: 32 * MiB, stored: [MiB...3 * MiB - 1, 30 * MiB...32 * MiB - 1], isVerified: isVerified)
        return probe
    }

    @Test func `a complete resource is a hit, with as many of its bytes as one turn takes`() throws {
        let found = try #require(hit(complete(), 5 * MiB, 7 * MiB - 1))
        #expect(found.range == range(5 * MiB, 7 * MiB))
        #expect(found.stored == range(5 * MiB, 6 * MiB))
        #expect(found.length == 32 * MiB)
    }

    @Test func `what has to be fetched, looked for or compared with its checks is none, and leaves no reader behind`() {
        let fetching = partly(), unverified = complete(isVerified: false), new = SessionProbe()
        _ = fetching.step(fetching.join(20 * MiB))
        let ended = complete()
        _ = ended.machine.end(.removed)
        for probe in [fetching, unverified, partly(isVerified: false), new, ended] {
            let readers = probe.machine.readers.count
            #expect(hit(probe, MiB, MiB + 10) == nil)
            #expect(probe.machine.readers.count == readers)
        }
        #expect(hit(complete(), 32 * MiB) == nil, "beyond the end, which the long way says")
    }

    @Test func `what is stored of a resource is a hit, where all that is asked for is`() throws {
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

    @Test func `a reader whose policy wants more than it asks for is no hit of a resource that is stored in part`() {
        for policy in [FetchPolicy.readAhead(bytes: 1), .wholeResource] {
            #expect(hit(partly(), MiB, MiB + 10, fetchPolicy: policy) == nil)
            #expect(hit(complete(), MiB, MiB + 10, fetchPolicy: policy) != nil)
        }
    }

    @Test func `who leaves a hit of what is stored in part sets nothing going, unless the bytes went meanwhile`() throws {
        let probe = partly()
        let found = try #require(hit(probe, MiB, 2 * MiB - 1))
        #expect(probe.machine.hitLeft(found.reader, after: MiB, now: probe.now).isEmpty)
        #expect(probe.machine.readers.isEmpty)
        // As by the long way, what was lost is asked for while its reader is there.
        let lost = try #require(hit(probe, MiB, 2 * MiB - 1))
        _ = probe.machine.lost(range(MiB + 100, 2 * MiB), of: lost.generation, now: probe.now)
        #expect(probe.machine.fetches.count == 1)
        _ = probe.machine.hitLeft(lost.reader, after: 100, now: probe.now)
        #expect(probe.machine.fetches.first?.lingersSince != nil)
        #expect(probe.machine.violations == [])
    }

    @Test func `the bytes of a hit stay while it lasts, and go when it has gone`() throws {
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

    @Test func `a hit may be used by the rules of its policy, looked at anew when its time is over`() {
        let fields: HTTPFields = ["ETag": "\"v1\"", "Cache-Control": "max-age=1010"]
        let probe = complete(fields: fields)
        #expect(hit(probe, policy: .standard) != nil)
        probe.now = MonotonicInstant(nanoseconds: .seconds(9))
        #expect(hit(probe, policy: .standard) != nil)
        probe.now = MonotonicInstant(nanoseconds: .seconds(11))
        #expect(hit(probe, policy: .standard) == nil, "1011 s old")
        #expect(hit(probe, policy: .preferStored) != nil)
        #expect(hit(probe, policy: .standard) == nil, "what one policy allows says nothing of another")
        #expect(hit(complete(fields: ["ETag": "\"v1\"", "Cache-Control": "no-cache"]), policy: .standard) == nil)
    }

    @Test func `what another request selected is no hit`() {
        let fields: HTTPFields = ["ETag": "\"v1\"", "Vary": "Accept-Language"]
        let probe = complete(fields: fields)
        #expect(hit(probe) != nil, "no request says which language")
        probe.machine.willAsk(with: ["Accept-Language": "de"])
        #expect(hit(probe) == nil)
    }

    @Test func `a reader that came as a hit goes on as any other`() throws {
        let probe = complete()
        let found = try #require(hit(probe, 0, 3 * MiB - 1))
        probe.advance(found.reader, by: MiB)
        #expect(probe.read(found.reader) == 2 * MiB)
        #expect(probe.step(found.reader) == .end)
    }
}
