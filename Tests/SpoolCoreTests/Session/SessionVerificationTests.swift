import SpoolCore
import Testing

/// Tests the verification of bytes that an earlier opening stored, and the limits on the number of
/// stored runs.
@Suite struct SessionVerificationTests {
    private func range(_ lower: Int64, _ upper: Int64) -> ByteRange { ByteRange(lower: lower, upper: upper) }

    @Test func `a reader waits until its next bytes are verified`() {
        let probe = SessionProbe()
        probe.open(length: 10 * MiB, stored: [0...10 * MiB - 1], isVerified: false)
        let reader = probe.join(0)
        #expect(probe.step(reader) == .wait)
        #expect(probe.verifications == [range(0, MiB)])
        #expect(probe.step(reader) == .wait)
        #expect(probe.verifications.count == 1, "each verification is requested once")
        probe.verified(0...MiB - 1)
        #expect(probe.woken == [reader])
        #expect(probe.step(reader, max: 2 * MiB) == .stored(range(0, MiB)))
        #expect(probe.starts.isEmpty, "nothing is fetched")
    }

    @Test func `a resource stays in use during verification, even without readers`() {
        let probe = SessionProbe()
        probe.open(length: 10 * MiB, stored: [0...10 * MiB - 1], isVerified: false)
        let reader = probe.join(0)
        probe.step(reader)
        probe.leave(reader)
        let keepsSession = !probe.machine.isIdle()
        #expect(keepsSession)
        probe.verified(0...MiB - 1)
        let isOver = probe.machine.isIdle()
        #expect(isOver)
    }

    @Test func `verification for a waiting reader covers only the blocks of its range`() {
        let probe = SessionProbe()
        probe.open(length: 10 * MiB, stored: [0...10 * MiB - 1], isVerified: false)
        let reader = probe.join(2 * MiB + 100, 2 * MiB + 200)
        #expect(probe.step(reader) == .wait)
        #expect(probe.verifications == [range(2 * MiB, 2 * MiB + 65_536)])
    }

    @Test func `two verifications never share a block, so none is evicted before its comparison is over`() throws {
        let probe = SessionProbe()
        probe.open(length: 10 * MiB, stored: [0...10 * MiB - 1], isVerified: false)
        let first = probe.join(0, 2 * MiB + 100), second = probe.join(2 * MiB + 100, 2 * MiB + 200)
        _ = (probe.step(first), probe.step(second))
        let third = probe.join(2 * MiB - 100, 2 * MiB + 200)
        #expect(probe.step(third) == .wait)
        #expect(probe.verifications == [range(0, MiB), range(2 * MiB, 2 * MiB + 65_536), range(2 * MiB - 65_536, 2 * MiB)])
        probe.verified(2 * MiB - 65_536...2 * MiB - 1)
        for reader in [first, second, third] { probe.leave(reader) }
        let gone = probe.machine.evict(100 * MiB, sparing: ByteRangeSet(), regions: [])
        #expect(gone.contains(range(2 * MiB - 65_536, 2 * MiB)))
        #expect(gone.intersection(range(2 * MiB, 2 * MiB + 65_536)).isEmpty)
    }

    @Test func `a verification ends with the resource`() {
        let probe = SessionProbe()
        probe.open(length: 100_000, stored: [70_000...99_999], isVerified: false)
        #expect(probe.step(probe.join(80_000)) == .wait)
        #expect(probe.verifications == [range(65_536, 100_000)])
    }

    @Test func `verification runs ahead of a reader`() {
        let probe = SessionProbe()
        probe.open(length: 10 * MiB, stored: [0...10 * MiB - 1], isVerified: false)
        let reader = probe.join(0)
        probe.step(reader)
        probe.verified(0...MiB - 1)
        probe.advance(reader, by: 1)
        #expect(probe.verifications == [range(0, MiB), range(MiB, 4 * MiB)])
        probe.verified(MiB...4 * MiB - 1)
        probe.advance(reader, by: 1)
        #expect(probe.verifications.last == range(4 * MiB, 8 * MiB))
        #expect(probe.verifications.count == 3)
    }

    @Test func `damaged bytes become a gap and are fetched in the same read`() {
        let probe = SessionProbe()
        probe.open(length: MiB, stored: [0...MiB - 1], isVerified: false)
        let reader = probe.join(0)
        probe.step(reader)
        probe.verified(0...MiB - 1, damaged: [0...65_535])
        #expect(probe.starts == [OriginAsk(0, 65_536, ifRange: "\"v1\"")])
        #expect(probe.stored == [range(65_536, MiB)])
    }

    @Test func `a reader of stored bytes fails where verification finds damage`() {
        let probe = SessionProbe()
        probe.open(length: MiB, stored: [0...MiB - 1], isVerified: false)
        let reader = probe.join(0, onlyStored: true)
        #expect(probe.step(reader) == .wait)
        #expect(probe.failure(reader) == nil)
        probe.verified(0...MiB - 1, damaged: [0...65_535])
        #expect(probe.failure(reader) == .notStored)
    }

    @Test func `a block with too many runs is fetched whole`() {
        let probe = SessionProbe()
        let islands = (0..<16).map { Int64($0) * 4_000...Int64($0) * 4_000 + 10 }
        probe.open(length: MiB, stored: islands + [65_536...70_000])
        let reader = probe.join(1_000, 1_100)
        #expect(probe.step(reader) == .wait)
        #expect(probe.starts == [OriginAsk(0, 65_536, ifRange: "\"v1\"")])
        #expect(probe.discards.map(\.rangeCount) == [16])
        #expect(probe.stored == [range(65_536, 70_001)])
    }

    @Test func `a block with one run fewer is filled only where needed`() {
        let probe = SessionProbe()
        probe.open(length: MiB, stored: (0..<15).map { Int64($0) * 4_000...Int64($0) * 4_000 + 10 })
        let reader = probe.join(1_000, 1_100)
        probe.step(reader)
        #expect(probe.starts == [OriginAsk(1_000, 1_100, ifRange: "\"v1\"")])
        #expect(probe.discards.isEmpty)
    }

    @Test func `the shortest of too many runs are discarded, except bytes just written`() {
        let probe = SessionProbe { $0.storedRuns = 32 }
        probe.open(length: MiB, stored: (0..<32).map { Int64($0) * 10_000...Int64($0) * 10_000 + ($0 < 4 ? 1 : 100) })
        let reader = probe.join(900_000, 900_001)
        probe.step(reader)
        probe.partial(probe.startedIDs[0], 900_000, 900_001, total: MiB)
        probe.body(probe.startedIDs[0], 1)
        probe.finish(probe.startedIDs[0])
        probe.store(probe.startedIDs[0])
        #expect(probe.discards == [ByteRangeSet([range(0, 2), range(10_000, 10_002), range(20_000, 20_002)])])
        #expect(probe.stored.count == 30)
        #expect(probe.step(reader) == .stored(range(900_000, 900_001)))
    }
}
