import SpoolCore
import Testing

/// Tests which bytes of a resource in use may be evicted when room is needed.
@Suite struct SessionEvictionTests {
    private func range(_ lower: Int64, _ upper: Int64) -> ByteRange { ByteRange(lower: lower, upper: upper) }
    private let block: Int64 = 65_536

    /// A session with 32 MiB, all of it stored, a window of 4 MiB ahead and 1 MiB behind each
    /// reader.
    private func complete(isVerified: Bool = true) -> SessionProbe {
        let probe = SessionProbe()
        probe.open(length: 32 * MiB, stored: [0...32 * MiB - 1], isVerified: isVerified)
        return probe
    }

    private func evict(_ bytes: Int64, _ probe: SessionProbe, sparing spared: ByteRangeSet = ByteRangeSet()) -> [ByteRange] {
        let gone = probe.machine.evict(bytes, sparing: spared, regions: [])
        #expect(probe.machine.violations == [])
        return gone.ranges
    }

    private func evicted(_ probe: SessionProbe, isGone: Bool = true) {
        guard let version = probe.machine.version else { return }
        probe.actions += probe.machine.evicted(version.evicting, of: version.generation, isGone: isGone, now: probe.now)
        #expect(probe.machine.violations == [])
    }

    @Test func `bytes behind a reader are evicted first, from their beginning`() {
        let probe = complete()
        let reader = probe.join(10 * MiB)
        _ = probe.step(reader)
        #expect(evict(2 * MiB, probe) == [range(0, 2 * MiB)])
        evicted(probe)
        #expect(evict(8 * MiB, probe) == [range(2 * MiB, 9 * MiB), range(31 * MiB, 32 * MiB)], "then bytes far ahead, from their end")
    }

    @Test func `eviction spares a reader's window and the bytes just behind it`() {
        let probe = complete()
        _ = probe.step(probe.join(10 * MiB))
        #expect(evict(100 * MiB, probe) == [range(0, 9 * MiB), range(14 * MiB, 32 * MiB)])
    }

    @Test func `bytes ahead of a reader stay where no other response could bring them back`() {
        let probe = SessionProbe()
        probe.open(length: 32 * MiB, stored: [0...32 * MiB - 1], fields: ["ETag": "W/\"v1\""])
        _ = probe.step(probe.join(10 * MiB))
        #expect(evict(100 * MiB, probe) == [range(0, 9 * MiB)])
    }

    @Test func `bytes handed to a reader stay until its next read`() {
        let probe = SessionProbe { $0.keptBehindBytes = 0 }
        probe.open(length: 32 * MiB, stored: [0...32 * MiB - 1])
        let reader = probe.join(20 * MiB)
        #expect(probe.step(reader, max: MiB) == .stored(range(20 * MiB, 21 * MiB)))
        probe.advance(reader, by: MiB)
        #expect(evict(100 * MiB, probe) == [range(0, 20 * MiB), range(25 * MiB, 32 * MiB)])
    }

    @Test func `only whole stored blocks are evicted, including the last one of the resource`() {
        let probe = SessionProbe()
        probe.open(length: 10 * block + 100, stored: [100...3 * block + 99, 9 * block...10 * block + 99])
        #expect(evict(MiB, probe) == [range(block, 3 * block), range(9 * block, 10 * block + 100)])
    }

    @Test func `a reader waits for bytes under eviction, then fetches them`() {
        let probe = complete()
        let reader = probe.join(20 * MiB)
        _ = probe.step(reader)
        #expect(!evict(5 * MiB, probe).isEmpty)
        probe.move(reader, to: 0)
        #expect(probe.step(reader) == .wait)
        #expect(probe.starts.isEmpty, "no fetch starts before the eviction ends, because its bytes would be evicted too")
        evicted(probe)
        #expect(probe.starts.first?.lower == 0)
    }

    // MARK: Bytes that are not in the index

    /// Makes the store fail: the stored bytes beyond `named` are in the file but not in the index.
    private func release(_ probe: SessionProbe, allBut named: ByteRange) -> [ByteRange] {
        if let generation = probe.machine.version?.generation {
            probe.actions += probe.machine.storeFailed(generation, .storeTrouble("full"), now: probe.now)
        }
        let gone = probe.machine.release(allBut: ByteRangeSet([named]))
        #expect(probe.machine.violations == [])
        return gone.ranges
    }

    @Test func `bytes missing from the index stay if readers hold or need them next`() {
        let probe = complete()
        _ = probe.step(probe.join(10 * MiB), max: MiB)
        #expect(release(probe, allBut: range(0, 2 * MiB + 1)) == [range(2 * MiB + block, 10 * MiB), range(14 * MiB, 32 * MiB)])
        evicted(probe)
        #expect(probe.machine.version?.stored.totalBytes == 6 * MiB + block)
    }

    @Test func `bytes missing from the index stay while the version is being stored`() {
        let probe = complete()
        #expect(probe.machine.release(allBut: ByteRangeSet()).isEmpty)
    }

    @Test func `a reader waits for bytes under release, then gets them from the origin`() {
        let probe = complete()
        let reader = probe.join(20 * MiB)
        _ = probe.step(reader)
        #expect(!release(probe, allBut: range(0, 1)).isEmpty)
        probe.move(reader, to: 0)
        probe.move(reader, to: 5 * MiB)
        #expect(probe.step(reader) == .wait)
        #expect(probe.starts.isEmpty)
        evicted(probe)
        #expect(probe.starts.first?.lower == 5 * MiB)
    }

    @Test func `bytes whose eviction failed are verified before their next use`() {
        let probe = complete()
        let reader = probe.join(20 * MiB)
        _ = probe.step(reader)
        #expect(!evict(5 * MiB, probe).isEmpty)
        probe.move(reader, to: 0)
        #expect(probe.step(reader) == .wait)
        evicted(probe, isGone: false)
        #expect(probe.starts.isEmpty)
        #expect(probe.verifications == [range(0, MiB)])
    }

    @Test func `bytes under verification and spared bytes are not evicted`() {
        let probe = complete(isVerified: false)
        let reader = probe.join(0)
        #expect(probe.step(reader) == .wait)
        let spared = ByteRangeSet([range(16 * MiB, 32 * MiB)])
        #expect(evict(100 * MiB, probe, sparing: spared) == [range(4 * MiB, 16 * MiB)])
    }
}
