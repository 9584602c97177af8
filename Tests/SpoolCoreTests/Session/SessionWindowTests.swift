import SpoolCore
import Testing

/// Tests how many bytes one request asks for, and when the next request follows.
@Suite struct SessionWindowTests {
    private let length = 100 * MiB
    /// The bytes of the second window.
    private let second = SessionLimits().provenBytes - SessionLimits().firstWindowBytes

    /// A session of 100 MiB with a strong tag, of which only the first block is stored.
    private func opened(fields: HTTPFields = SessionProbe.etag, _ change: (inout SessionLimits) -> Void = { _ in }) -> SessionProbe {
        let probe = SessionProbe { limits in
            limits.provenBytes = SessionLimits().provenBytes
            change(&limits)
        }
        probe.open(length: length, stored: [0...65_535], fields: fields)
        return probe
    }

    /// A reader at `start`, whose request has its head.
    private func seek(_ probe: SessionProbe, to start: Int64, _ end: Int64? = nil) -> (ReaderID, FetchID) {
        let reader = probe.join(start, end)
        probe.step(reader)
        answer(probe)
        return (reader, probe.startedIDs[probe.starts.count - 1])
    }

    /// Answers the last request with the range that it asks for.
    private func answer(_ probe: SessionProbe) {
        guard let ask = probe.starts.last, let id = probe.startedIDs.last else { return }
        probe.partial(id, ask.lower, ask.upper ?? length, total: length)
    }

    /// Receives, stores and reads `count` bytes in small batches, and answers the requests that
    /// follow.
    private func play(_ probe: SessionProbe, _ reader: ReaderID, _ count: Int64) {
        var read: Int64 = 0
        // Each turn reads a batch, receives one, or answers a request.
        for _ in 0..<(4 * count / 65_536) where read < count {
            let requests = probe.starts.count
            for fetch in probe.machine.fetches where fetch.generation != nil {
                probe.body(fetch.id, 65_536)
                probe.store(fetch.id)
                if let upper = fetch.upper, probe.fetch(fetch.id)?.front == upper { probe.finish(fetch.id) }
            }
            read += probe.read(reader, upTo: min(65_536, count - read))
            if probe.starts.count > requests { answer(probe) }
        }
    }

    private func asks(_ probe: SessionProbe) -> [String] {
        probe.starts.map { "\($0.lower / MiB)-\($0.upper.map { "\($0 / MiB)" } ?? "")" }
    }

    // MARK: The size of a window

    @Test func `the first request of a session is open-ended`() {
        let probe = SessionProbe { $0.provenBytes = 32 * MiB }
        let reader = probe.join(10 * MiB)
        probe.openEmpty()
        probe.step(reader)
        #expect(probe.starts == [OriginAsk(10 * MiB, nil)])
    }

    @Test func `a seek asks for one short window`() {
        let probe = opened()
        _ = seek(probe, to: 10 * MiB)
        #expect(probe.starts == [OriginAsk(10 * MiB, 11 * MiB, ifRange: "\"v1\"", isWindow: true)])
    }

    @Test func `a reader that goes on after a window gets a few KiB, and then everything else`() {
        let probe = opened()
        let (reader, _) = seek(probe, to: 10 * MiB)
        play(probe, reader, 60 * MiB)
        #expect(probe.machine.readers.first?.position == 70 * MiB)
        #expect(probe.starts.map(\.lower) == [10 * MiB, 11 * MiB, 11 * MiB + second])
        #expect(probe.starts.map(\.upper) == [11 * MiB, 11 * MiB + second, nil])
    }

    @Test func `a reader that moves begins with a short window again`() {
        let probe = opened()
        let (reader, _) = seek(probe, to: 10 * MiB)
        play(probe, reader, 8 * MiB)
        probe.move(reader, to: 80 * MiB)
        probe.step(reader)
        #expect(probe.starts.last == OriginAsk(80 * MiB, 81 * MiB, ifRange: "\"v1\"", isWindow: true))
    }

    @Test func `a short range is requested as a whole`() {
        let probe = opened()
        _ = seek(probe, to: 10 * MiB, 13 * MiB)
        #expect(probe.starts == [OriginAsk(10 * MiB, 13 * MiB, ifRange: "\"v1\"")])
    }

    @Test func `a window takes a short rest with it`() {
        let probe = opened()
        _ = seek(probe, to: length - MiB - 1000)
        #expect(probe.starts == [OriginAsk(length - MiB - 1000, nil, ifRange: "\"v1\"")])
    }

    @Test(arguments: [FetchPolicy.wholeResource, .readAhead(bytes: 50 * MiB)])
    func `a policy that asks for more than a player takes has no windows`(policy: FetchPolicy) {
        let probe = opened()
        let reader = probe.join(10 * MiB, policy: policy)
        probe.step(reader)
        #expect(probe.starts == [OriginAsk(10 * MiB, nil, ifRange: "\"v1\"")])
    }

    // MARK: Origins that send everything in one response

    @Test func `a version without a strong validator has no windows`() {
        let probe = opened(fields: ["ETag": "W/\"v1\""])
        let reader = probe.join(10 * MiB)
        #expect(probe.prepare(reader) == .wait)
        #expect(probe.starts.map(\.upper) == [nil])
    }

    @Test func `an origin that ignores ranges is asked once`() {
        let probe = SessionProbe { $0.provenBytes = 32 * MiB }
        let reader = probe.join(0)
        probe.openEmpty()
        probe.step(reader)
        probe.head(probe.startedIDs[0], 200, ["ETag": "\"v1\"", "Content-Length": "\(length)"])
        play(probe, reader, 60 * MiB)
        #expect(probe.starts == [OriginAsk(0, nil)])
    }

    @Test func `a window that turns out to be of a version without a strong validator is replaced by one response`() {
        let probe = opened()
        let reader = probe.join(10 * MiB)
        probe.step(reader)
        probe.partial(probe.startedIDs[0], 10 * MiB, 11 * MiB, total: length, fields: ["ETag": "W/\"v2\""])
        #expect(probe.starts.map(\.upper).last == .some(nil))
    }

    // MARK: The next window

    @Test func `a reader that takes one window costs a few KiB more`() {
        let probe = opened()
        let (reader, _) = seek(probe, to: 10 * MiB)
        play(probe, reader, MiB)
        probe.leave(reader)
        #expect(probe.starts.map(\.upper) == [11 * MiB, 11 * MiB + second])
        #expect(second <= MiB / 20)
    }

    @Test func `the next window is requested when the one before has arrived`() {
        let probe = opened()
        let (reader, first) = seek(probe, to: 10 * MiB)
        var arrived: Int64 = 0
        while arrived < MiB {
            #expect(probe.starts.count == 1)
            arrived += probe.body(first, 65_536)
            probe.read(reader)
        }
        probe.finish(first)
        #expect(probe.starts.map(\.lower) == [10 * MiB, 11 * MiB])
    }

    @Test func `a reader that took half of a window, all of which arrived, gets the second one only`() {
        let probe = opened()
        let (reader, first) = seek(probe, to: 10 * MiB)
        probe.body(first, MiB)
        probe.store(first)
        probe.finish(first)
        probe.read(reader, upTo: MiB / 2)
        probe.step(reader)
        answer(probe)
        let next = probe.startedIDs[probe.starts.count - 1]
        probe.body(next, second)
        probe.store(next)
        probe.finish(next)
        probe.read(reader, upTo: 100_000)
        probe.step(reader)
        #expect(probe.starts.map(\.lower) == [10 * MiB, 11 * MiB])
    }

    @Test func `behind a slow origin, everything else is requested while the last bytes of a window arrive`() {
        let probe = opened()
        let reader = probe.join(10 * MiB)
        probe.step(reader)
        probe.pass(SessionLimits().longestWait + 1)
        answer(probe)
        let first = probe.startedIDs[0]
        var arrived: Int64 = 0
        while probe.starts.count == 1, arrived < MiB {
            arrived += probe.body(first, 65_536)
            probe.read(reader)
        }
        #expect(probe.starts.map(\.lower) == [10 * MiB, 11 * MiB])
        #expect(probe.starts.last?.upper == nil)
        #expect(arrived >= MiB / 2 && arrived < MiB)
    }

    @Test func `a gap after stored bytes is requested before its reader comes to it`() {
        let probe = SessionProbe { $0.provenBytes = SessionLimits().provenBytes }
        probe.open(length: length, stored: [0...327_679], fields: SessionProbe.etag)
        let reader = probe.join(0)
        probe.read(reader, upTo: 65_536)
        #expect(probe.starts.map(\.lower) == [327_680])
    }

    @Test func `a reader that takes nothing causes one request`() {
        let probe = opened()
        let (_, first) = seek(probe, to: 10 * MiB)
        #expect(probe.body(first, 2 * MiB) == MiB)
        probe.store(first)
        probe.finish(first)
        probe.pass(.seconds(10))
        #expect(probe.starts.count == 1)
        #expect(probe.cancelled == [])
    }

    // MARK: Leaving

    @Test func `a window whose reader left near its end arrives as a whole`() {
        let probe = opened()
        let (reader, fetch) = seek(probe, to: 10 * MiB)
        #expect(probe.body(fetch, MiB - 200_000) == MiB - 200_000)
        probe.leave(reader)
        #expect(probe.body(fetch, 200_000) == 200_000)
        probe.finish(fetch)
        probe.pass(.seconds(1))
        #expect(probe.cancelled == [])
    }

    @Test func `a window whose reader left early lingers and ends`() {
        let probe = opened()
        let (reader, fetch) = seek(probe, to: 10 * MiB)
        probe.body(fetch, 65_536)
        probe.leave(reader)
        #expect(probe.body(fetch, 65_536) == 0)
        probe.pass(.seconds(1))
        #expect(probe.cancelled == [fetch])
    }

    @Test func `a fetch that a play left ends when a reader waits elsewhere`() {
        let probe = opened()
        let (reader, _) = seek(probe, to: 10 * MiB)
        play(probe, reader, 5 * MiB)
        let everything = probe.startedIDs[probe.starts.count - 1]
        #expect(probe.starts.last?.upper == nil)
        probe.move(reader, to: 80 * MiB)
        probe.step(reader)
        #expect(probe.starts.last?.lower == 80 * MiB)
        #expect(probe.cancelled == [everything])
    }

    @Test func `a fetch that a reader left early stays, because its reader looks for an index first`() {
        let probe = opened { $0.provenBytes = 0 }
        let (reader, everything) = seek(probe, to: 10 * MiB)
        probe.body(everything, 2 * MiB)
        probe.read(reader, upTo: 65_536)
        probe.move(reader, to: 90 * MiB)
        probe.step(reader)
        answer(probe)
        probe.move(reader, to: 10 * MiB + 65_536)
        #expect(probe.read(reader, upTo: MiB) == MiB)
        #expect(probe.cancelled == [])
        #expect(probe.starts.count == 2)
    }

    @Test func `a fetch that has filled the window of one player stays when another one begins`() {
        let probe = opened()
        let (reader, _) = seek(probe, to: 10 * MiB)
        play(probe, reader, 5 * MiB)
        let everything = probe.startedIDs[probe.starts.count - 1]
        probe.body(everything, 8 * MiB)
        let other = probe.join(80 * MiB)
        probe.step(other)
        #expect(probe.starts.last?.lower == 80 * MiB)
        #expect(probe.cancelled == [])
        play(probe, reader, MiB)
        #expect(probe.cancelled == [])
    }

    @Test func `a window of which little is left stays for a reader that reads two places in turn`() {
        let probe = opened()
        let (reader, first) = seek(probe, to: 10 * MiB)
        probe.body(first, 65_536)
        probe.read(reader)
        probe.move(reader, to: 80 * MiB)
        probe.step(reader)
        answer(probe)
        probe.move(reader, to: 10 * MiB + 65_536)
        probe.step(reader)
        #expect(probe.cancelled == [])
        #expect(asks(probe) == ["10-11", "80-81"])
        #expect(probe.body(first, 65_536) == 65_536)
    }

    @Test func `a window whose reader left arrives as a whole if another reader is on its way to it`() {
        let probe = opened()
        let (player, _) = seek(probe, to: MiB)
        play(probe, player, 2 * MiB)
        let (reader, fetch) = seek(probe, to: 40 * MiB)
        probe.body(fetch, 65_536)
        probe.leave(reader)
        probe.pass(.seconds(2))
        #expect(probe.cancelled == [])
        #expect(probe.body(fetch, MiB) == MiB - 65_536)
    }

    @Test func `a requested window stays for a reader that is on its way to it`() {
        let probe = opened()
        let (player, _) = seek(probe, to: MiB)
        play(probe, player, 2 * MiB)
        let reader = probe.join(40 * MiB)
        probe.step(reader)
        let fetch = probe.startedIDs[probe.starts.count - 1]
        probe.leave(reader)
        probe.pass(.seconds(2))
        #expect(probe.starts.last?.lower == 40 * MiB)
        #expect(probe.cancelled == [])
        probe.partial(fetch, 40 * MiB, 41 * MiB, total: length)
        #expect(probe.body(fetch, MiB) == MiB)
    }

    @Test(arguments: [(60 * MiB, nil), (MiB, 40 * MiB)] as [(Int64, Int64?)])
    func `a window ends if no other reader will come to it`(start: Int64, end: Int64?) {
        let probe = opened()
        let (player, _) = seek(probe, to: start, end)
        play(probe, player, 2 * MiB)
        let (reader, fetch) = seek(probe, to: 40 * MiB)
        probe.body(fetch, 65_536)
        probe.leave(reader)
        probe.pass(.seconds(2))
        #expect(probe.cancelled == [fetch])
    }

    @Test func `a reader that returns takes the rest of the window over`() {
        let probe = opened()
        let (reader, fetch) = seek(probe, to: 10 * MiB)
        probe.body(fetch, 65_536)
        probe.leave(reader)
        probe.pass(.milliseconds(500))
        let next = probe.join(10 * MiB + 65_536)
        probe.step(next)
        #expect(probe.starts.count == 1)
        #expect(probe.body(fetch, 65_536) == 65_536)
    }
}
