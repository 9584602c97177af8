import SpoolCore
import Testing

/// What of a resource in use may go when room is needed.
@Suite struct SessionEvictionTests {
    private func range(_ lower: Int64, _ upper: Int64) -> ByteRange { ByteRange(lower: lower, upper: upper) }
    private let block: Int64 = 65_536

    /// 32 MiB, all stored, with a window of 4 MiB ahead and 1 MiB behind each reader.
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

    @Test func `what a player left behind goes first, from where it began`() {
        let probe = complete()
        let reader = probe.join(10 * MiB)
        _ = probe.step(reader)
        #expect(evict(2 * MiB, probe) == [range(0, 2 * MiB)])
        evicted(probe)
        #expect(evict(8 * MiB, probe) == [range(2 * MiB, 9 * MiB), range(31 * MiB, 32 * MiB)], "then what lies far ahead, from its end")
    }

    @Test func `the window of a reader and a little behind it stay whatever is wanted`() {
        let probe = complete()
        _ = probe.step(probe.join(10 * MiB))
        #expect(evict(100 * MiB, probe) == [range(0, 9 * MiB), range(14 * MiB, 32 * MiB)])
    }

    @Test func `what was handed to a reader stays until it asks for more, wherever it went`() {
        let probe = SessionProbe { $0.keptBehindBytes = 0 }
        probe.open(length: 32 * MiB, stored: [0...32 * MiB - 1])
        let reader = probe.join(20 * MiB)
        #expect(probe.step(reader, max: MiB) == .stored(range(20 * MiB, 21 * MiB)))
        probe.advance(reader, by: MiB)
        #expect(evict(100 * MiB, probe) == [range(0, 20 * MiB), range(25 * MiB, 32 * MiB)])
    }

    @Test func `only blocks that are stored as a whole go, and the last one, which ends with the resource`() {
        let probe = SessionProbe()
        probe.open(length: 10 * block + 100, stored: [100...3 * block + 99, 9 * block...10 * block + 99])
        #expect(evict(MiB, probe) == [range(block, 3 * block), range(9 * block, 10 * block + 100)])
    }

    @Test func `a reader waits for bytes that are going, and they are fetched when they are gone`() {
        let probe = complete()
        let reader = probe.join(20 * MiB)
        _ = probe.step(reader)
        #expect(!evict(5 * MiB, probe).isEmpty)
        probe.move(reader, to: 0)
        #expect(probe.step(reader) == .wait)
        #expect(probe.starts.isEmpty, "not before: what comes would go with them")
        evicted(probe)
        #expect(probe.starts.first?.lower == 0)
    }

    // MARK: What the index could not enter

    /// The store has failed: what is stored beyond `named` lies in the file only.
    private func release(_ probe: SessionProbe, allBut named: ByteRange) -> [ByteRange] {
        if let generation = probe.machine.version?.generation {
            probe.actions += probe.machine.storeFailed(generation, .storeTrouble("full"), now: probe.now)
        }
        let gone = probe.machine.release(allBut: ByteRangeSet([named]))
        #expect(probe.machine.violations == [])
        return gone.ranges
    }

    @Test func `of what the index could not enter stays what readers hold and come to next`() {
        let probe = complete()
        _ = probe.step(probe.join(10 * MiB), max: MiB)
        #expect(release(probe, allBut: range(0, 2 * MiB + 1)) == [range(2 * MiB + block, 10 * MiB), range(14 * MiB, 32 * MiB)])
        evicted(probe)
        #expect(probe.machine.version?.stored.totalBytes == 6 * MiB + block)
    }

    @Test func `what the index could not enter stays as long as the version is stored`() {
        let probe = complete()
        #expect(probe.machine.release(allBut: ByteRangeSet()).isEmpty)
    }

    @Test func `a reader waits for bytes that are released, and then gets them from the origin`() {
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

    @Test func `what could not be taken out is compared with its checks before its next use`() {
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

    @Test func `what is being compared with its checks, and what is spared, stays`() {
        let probe = complete(isVerified: false)
        let reader = probe.join(0)
        #expect(probe.step(reader) == .wait)
        let spared = ByteRangeSet([range(16 * MiB, 32 * MiB)])
        #expect(evict(100 * MiB, probe, sparing: spared) == [range(4 * MiB, 16 * MiB)])
    }
}
