import SpoolCore
import Testing

/// Tests when a fetch pauses, resumes, lingers and ends.
@Suite struct SessionPacingTests {
    /// A cold session of 100 MiB whose fetch has its head and no byte yet.
    private func running(
        policy: FetchPolicy = .whilePlaying, end: Int64? = nil, _ change: (inout SessionLimits) -> Void = { _ in }
    ) -> (SessionProbe, ReaderID, FetchID) {
        let probe = SessionProbe(change)
        let reader = probe.join(0, end, policy: policy)
        probe.openEmpty()
        probe.step(reader)
        let fetch = probe.startedIDs[0]
        probe.partial(fetch, 0, 100 * MiB, total: 100 * MiB)
        return (probe, reader, fetch)
    }

    // MARK: Urgency

    @Test func `a request whose reader takes nothing for a round trip is unread, until the reader goes on`() {
        let (probe, reader, fetch) = running()
        probe.body(fetch, 65_536)
        probe.now = probe.now + ReceiveWindow.harmlessDelay
        probe.body(fetch, 65_536)
        #expect(probe.fetch(fetch)?.isUnread == false)
        probe.now = probe.now + 1
        probe.body(fetch, 65_536)
        #expect(probe.fetch(fetch)?.isUnread == true)
        probe.body(fetch, 65_536)
        #expect(probe.prioritized == [fetch])
        probe.read(reader, upTo: 1)
        #expect(probe.fetch(fetch)?.isUnread == false)
        #expect(probe.prioritized == [fetch, fetch])
    }

    @Test func `a request for which a reader waits is read, however late its bytes come`() {
        let (probe, reader, fetch) = running()
        probe.body(fetch, 65_536)
        probe.read(reader)
        for _ in 0..<3 {
            probe.now = probe.now + .seconds(1)
            probe.body(fetch, 65_536)
            probe.read(reader)
        }
        #expect(probe.prioritized == [])
    }

    @Test func `a request ahead of its reader is unread, until the reader comes to its first byte`() {
        let probe = SessionProbe()
        let reader = probe.join(0)
        probe.open(length: 100 * MiB, stored: [0...MiB - 1])
        probe.step(reader)
        let fetch = probe.startedIDs[0]
        #expect(probe.fetch(fetch)?.start == MiB && probe.fetch(fetch)?.isUnread == true)
        probe.read(reader)
        #expect(probe.fetch(fetch)?.isUnread == false)
        #expect(probe.prioritized == [fetch])
    }

    // MARK: The read-ahead window

    @Test func `a fetch pauses at the end of its reader's window`() {
        let (probe, _, fetch) = running { $0.readAheadBytes = 4 * MiB }
        #expect(probe.body(fetch, 10 * MiB) == 4 * MiB)
        #expect(probe.fetch(fetch)?.isPaused == true)
    }

    @Test func `a paused fetch resumes when half of the window is free again`() {
        let (probe, reader, fetch) = running { $0.readAheadBytes = 4 * MiB }
        probe.body(fetch, 10 * MiB)
        probe.store(fetch)
        probe.read(reader, upTo: 2 * MiB - 65_536)
        #expect(probe.resumed == [])
        probe.read(reader, upTo: 65_536)
        #expect(probe.resumed == [fetch])
        #expect(probe.body(fetch, 10 * MiB) == 2 * MiB)
    }

    @Test func `a paused fetch resumes at once for a waiting reader`() {
        let (probe, reader, fetch) = running(end: 1000)
        #expect(probe.body(fetch, MiB) == 65_536)
        probe.read(reader)
        let next = probe.join(65_536, 66_000)
        #expect(probe.step(next) == .wait)
        #expect(probe.resumed == [fetch])
        #expect(probe.starts.count == 1)
    }

    @Test func `the reader furthest ahead sets the pace, and a slow one does not delay it`() {
        let (probe, fast, fetch) = running { $0.readAheadBytes = MiB }
        let slow = probe.join(0)
        probe.step(slow)
        for _ in 0..<8 {
            probe.body(fetch, MiB)
            probe.store(fetch)
            probe.read(fast)
        }
        #expect(probe.machine.readers.first { $0.id == fast }?.position == 8 * MiB)
        #expect(probe.read(slow, upTo: MiB) == MiB)
    }

    @Test func `a fetch stops where the reader's range ends`() {
        let (probe, _, fetch) = running(end: 3 * 65_536)
        #expect(probe.body(fetch, 10 * MiB) == 3 * 65_536)
    }

    // MARK: Leaving

    @Test func `the rest of a policy's read-ahead arrives after its reader left`() {
        let (probe, reader, fetch) = running(policy: .readAhead(bytes: 2 * MiB)) { $0.readAheadBytes = MiB }
        #expect(probe.body(fetch, 10 * MiB) == 2 * MiB)
        probe.store(fetch)
        probe.read(reader, upTo: 65_536)
        #expect(probe.fetch(fetch)?.isPaused == true)
        probe.leave(reader)
        #expect(probe.resumed == [fetch])
        #expect(probe.body(fetch, 10 * MiB) == 65_536)
        #expect(probe.timers.last == probe.now + .seconds(1))
        probe.pass(.seconds(1))
        #expect(probe.cancelled == [fetch])
    }

    @Test func `the fetch of a reader that left lingers for a second, then ends`() {
        let (probe, reader, fetch) = running()
        probe.body(fetch, 65_536)
        probe.leave(reader)
        #expect(probe.cancelled == [])
        #expect(probe.timers == [probe.now + .seconds(1)])
        #expect(probe.body(fetch, 65_536) == 0)
        probe.pass(.milliseconds(999))
        #expect(probe.cancelled == [])
        probe.pass(.milliseconds(1))
        #expect(probe.cancelled == [fetch])
    }

    /// A fetch with 64 KiB that nobody needs any more.
    private func ending() -> (SessionProbe, FetchID) {
        let (probe, reader, fetch) = running()
        probe.stopsAtOnce = false
        probe.body(fetch, 65_536)
        probe.leave(reader)
        probe.pass(.seconds(1))
        return (probe, fetch)
    }

    @Test func `a fetch that ends keeps the bytes that have arrived already`() {
        let (probe, fetch) = ending()
        #expect(probe.stopped == [fetch])
        #expect(probe.body(fetch, 3 * 65_536) == 3 * 65_536)
        probe.finish(fetch, .truncated(afterBytes: 4 * 65_536))
        probe.store(fetch)
        #expect(probe.stored == [ByteRange(0..<4 * 65_536)] && probe.machine.fetches == [])
        #expect(probe.failures == [] && probe.machine.retryAt == nil)
    }

    @Test func `a reader that comes to the bytes of a fetch that ends requests what did not arrive`() {
        let (probe, fetch) = ending()
        let next = probe.join(65_536)
        #expect(probe.step(next) == .wait)
        #expect(probe.starts.count == 1)
        probe.body(fetch, 65_536)
        #expect(probe.read(next) == 65_536)
        probe.finish(fetch, .truncated(afterBytes: 2 * 65_536))
        #expect(probe.starts.map(\.lower) == [0, 2 * 65_536])
    }

    @Test func `a fetch whose bytes are not stored ends without them`() {
        let (probe, fetch) = ending()
        #expect(probe.stopped == [fetch])
        probe.storeFails()
        #expect(probe.body(fetch, 65_536) == 0)
    }

    @Test func `a reader that comes within the linger takes the fetch over`() {
        let (probe, reader, fetch) = running()
        probe.body(fetch, 65_536)
        probe.leave(reader)
        #expect(probe.body(fetch, 65_536) == 0)
        probe.pass(.milliseconds(500))
        let next = probe.join(65_536)
        probe.step(next)
        probe.pass(.seconds(10))
        #expect(probe.cancelled == [])
        #expect(probe.resumed == [fetch])
        #expect(probe.starts.count == 1)
        #expect(probe.body(fetch, 65_536) == 65_536)
    }

    @Test func `an explicit leave ends the fetch at once and keeps the received bytes`() {
        let (probe, reader, fetch) = running()
        probe.body(fetch, 65_536)
        probe.leave(reader, explicitly: true)
        #expect(probe.cancelled == [fetch])
        probe.store(fetch)
        #expect(probe.stored == [ByteRange(0..<65_536)])
        #expect(probe.machine.fetches == [])
    }

    @Test func `an explicit leave does not disturb another reader`() {
        let (probe, reader, fetch) = running()
        let other = probe.join(0)
        probe.step(other)
        probe.leave(reader, explicitly: true)
        #expect(probe.cancelled == [])
        #expect(probe.body(fetch, 65_536) == 65_536)
    }

    @Test func `a second reader after a cancel starts at the first missing byte`() {
        let (probe, reader, fetch) = running()
        probe.body(fetch, 65_536)
        probe.leave(reader, explicitly: true)
        probe.store(fetch)
        let next = probe.join(0)
        #expect(probe.read(next) == 65_536)
        #expect(probe.starts.last == OriginAsk(65_536, nil, ifRange: "\"v1\""))
    }

    // MARK: Policies

    @Test func `bytes beyond the window are not fetched after the last reader left`() {
        let (probe, reader, fetch) = running { $0.readAheadBytes = 4 * MiB }
        probe.body(fetch, 100 * MiB)
        probe.leave(reader)
        probe.pass(.seconds(1))
        probe.store(fetch)
        #expect(probe.stored == [ByteRange(0..<4 * MiB)])
        #expect(probe.machine.fetches == [])
    }

    @Test func `read-ahead continues to its limit after its reader left, then stops`() {
        let (probe, reader, fetch) = running(policy: .readAhead(bytes: 8 * MiB))
        probe.body(fetch, MiB)
        probe.store(fetch)
        probe.read(reader)
        probe.leave(reader)
        probe.pass(.seconds(5))
        #expect(probe.body(fetch, 100 * MiB) == 8 * MiB)
        probe.pass(.seconds(5))
        probe.store(fetch)
        probe.pass(.seconds(5))
        #expect(probe.stored == [ByteRange(0..<9 * MiB)])
        #expect(probe.machine.fetches == [])
        #expect(probe.machine.goal == nil)
        #expect(probe.starts.count == 1)
    }

    @Test func `read-ahead continues beyond the requested range`() {
        let (probe, _, fetch) = running(policy: .readAhead(bytes: 2 * MiB), end: 1000)
        #expect(probe.body(fetch, 100 * MiB) == 2 * MiB)
    }

    @Test func `the whole-resource policy fetches everything after its reader left, including the beginning`() {
        let probe = SessionProbe()
        probe.open(length: 10 * MiB)
        let reader = probe.join(6 * MiB, policy: .wholeResource)
        probe.step(reader)
        let tail = probe.startedIDs[0]
        probe.partial(tail, 6 * MiB, 10 * MiB, total: 10 * MiB)
        probe.leave(reader)
        #expect(probe.body(tail, 4 * MiB) == 4 * MiB)
        probe.store(tail)
        probe.finish(tail)
        let front = probe.startedIDs[1]
        var ask = OriginAsk(0, 6 * MiB, ifRange: "\"v1\"")
        // No reader waits for the answer.
        ask.isBrief = true
        #expect(probe.starts[1] == ask)
        probe.partial(front, 0, 6 * MiB, total: 10 * MiB)
        #expect(probe.body(front, 6 * MiB) == 6 * MiB)
        probe.finish(front)
        probe.store(front)
        #expect(probe.machine.version?.isComplete == true)
        #expect(probe.machine.goal == nil)
        #expect(probe.machine.fetches == [])
    }

    @Test func `an explicit leave of the last reader drops its policy's goal`() {
        let (probe, reader, fetch) = running(policy: .wholeResource)
        probe.body(fetch, MiB)
        probe.leave(reader, explicitly: true)
        #expect(probe.cancelled == [fetch])
        #expect(probe.machine.goal == nil)
    }

    // MARK: Slots and buffers

    @Test func `an idle fetch gives up its slot, and its reader starts another`() {
        let (probe, reader, fetch) = running { $0.readAheadBytes = MiB }
        probe.body(fetch, 10 * MiB)
        #expect(probe.machine.isIdle(fetch))
        #expect(probe.machine.preempt(fetch, now: probe.now) == [.stop(fetch)])
        probe.finish(fetch, .truncated(afterBytes: 0))
        probe.store(fetch)
        #expect(probe.read(reader) == MiB)
        #expect(probe.starts.last == OriginAsk(MiB, nil, ifRange: "\"v1\""))
    }

    @Test func `a fetch that waits for a buffer keeps its slot`() {
        let (probe, _, fetch) = running()
        probe.machine.pausedForBuffer(fetch)
        #expect(!probe.machine.isIdle(fetch))
        #expect(probe.machine.preempt(fetch, now: probe.now) == [])
        #expect(probe.body(fetch, 65_536) == 65_536)
        #expect(probe.fetch(fetch)?.isPaused == false)
    }

    @Test func `a fetch ahead of every reader starts only when no other runs`() {
        let probe = SessionProbe()
        probe.open(length: 10 * MiB, stored: [MiB...2 * MiB - 1])
        let reader = probe.join(0)
        probe.step(reader)
        #expect(probe.starts == [OriginAsk(0, MiB, ifRange: "\"v1\"")])
        let first = probe.startedIDs[0]
        probe.partial(first, 0, MiB, total: 10 * MiB)
        probe.body(first, MiB)
        probe.finish(first)
        #expect(probe.starts.last == OriginAsk(2 * MiB, nil, ifRange: "\"v1\""))
    }
}
