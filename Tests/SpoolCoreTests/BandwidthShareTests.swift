import SpoolCore
import Testing

/// When preloads and downloads pause for players, on a clock that the test moves.
@Suite struct BandwidthShareTests {
    private static let start = MonotonicInstant(nanoseconds: 5_000_000_000)
    private typealias Share = BandwidthShare

    /// A share with one request that may have to pause.
    private func share(_ share: Double = 0.5) -> BandwidthShare {
        var machine = BandwidthShare(share: share)
        machine.othersChanged(1, now: Self.start)
        return machine
    }

    @Test func `without players nothing pauses, and no timer runs`() {
        let machine = share()
        #expect(!machine.isHolding)
        #expect(machine.deadline == nil)
    }

    @Test func `others pause in the event by which a player becomes short, and a moment longer`() {
        var machine = share()
        machine.playersChanged(of: 1, .urgent, now: Self.start)
        #expect(machine.isHolding)
        machine.playersChanged(of: 1, .nothing, now: Self.start + 10)
        #expect(machine.isHolding)
        let end = Self.start + 10 + Share.calm
        #expect(machine.deadline == end)
        machine.timePassed(now: end + -1)
        #expect(machine.isHolding)
        machine.timePassed(now: end)
        #expect(!machine.isHolding)
    }

    /// A player whose origin is away would stop every preload for ever.
    @Test func `a player that waits without end stops others for a bounded time`() {
        var machine = share()
        machine.playersChanged(of: 1, .urgent, now: Self.start)
        #expect(machine.deadline == Self.start + Share.patience)
        machine.timePassed(now: Self.start + Share.patience)
        #expect(!machine.isHolding)
        // Each byte begins its patience anew.
        machine.playersChanged(of: 1, .bytes, now: Self.start + Share.patience + 1)
        machine.playersChanged(of: 1, .urgent, now: Self.start + Share.patience + 2)
        #expect(machine.isHolding)
    }

    @Test func `others pause until what a player reads ahead has arrived`() {
        var machine = share()
        machine.playersChanged(of: 1, .urgent, now: Self.start)
        machine.playersChanged(of: 1, .bytes, now: Self.start + 10)
        machine.timePassed(now: Self.start + 10 + Share.calm)
        #expect(machine.isHolding)
        let full = Self.start + 10 + Share.calm + 1
        machine.playersChanged(of: 1, .nothing, now: full)
        #expect(machine.isHolding)
        #expect(machine.deadline == full + Share.draining)
        machine.timePassed(now: full + Share.draining)
        #expect(!machine.isHolding)
        #expect(machine.deadline == nil)
        // The player took some of it, and its fetch goes on.
        let next = full + Share.draining + 1
        machine.playersChanged(of: 1, .bytes, now: next)
        #expect(machine.isHolding)
        #expect(machine.deadline == next + Share.filling)
    }

    @Test func `short pauses of a player's fetch do not stop others for ever`() {
        var machine = share()
        let pause = Share.draining / 2
        for step in 0..<Share.filling / pause {
            #expect(machine.isHolding == (step > 0))
            machine.playersChanged(of: 1, step % 2 == 0 ? .bytes : .nothing, now: Self.start + step * pause)
        }
        machine.timePassed(now: Self.start + Share.filling)
        #expect(!machine.isHolding)
        // A seek makes what the player reads ahead come first again.
        machine.playersChanged(of: 1, .urgent, now: Self.start + Share.filling + 1)
        machine.playersChanged(of: 1, .bytes, now: Self.start + Share.filling + 2)
        #expect(machine.deadline == Self.start + Share.filling + 2 + Share.filling)
    }

    @Test(arguments: [0.1, 0.25, 0.5, 0.9], [0.0, 0.2, 0.6])
    func `beside a player that takes all that comes, others have at most their share of a link`(limit: Double, ofPlayer: Double) throws {
        let bytesPerMillisecond = 8192.0
        var machine = share(limit)
        machine.playersChanged(of: 1, .bytes, now: Self.start)
        let begin = Self.start + Share.filling
        #expect(machine.isHolding && machine.deadline == begin)
        var others = 0.0
        let milliseconds = 60_000
        for step in 0..<milliseconds {
            let now = begin + .milliseconds(Int64(step))
            if let deadline = machine.deadline, deadline <= now { machine.timePassed(now: now) }
            let player = bytesPerMillisecond * ofPlayer
            machine.received(Int(player), forPlayer: true)
            guard !machine.isHolding else { continue }
            machine.received(Int(bytesPerMillisecond - player), forPlayer: false)
            others += bytesPerMillisecond - player
        }
        let most = min(limit, 1 - ofPlayer) * bytesPerMillisecond * Double(milliseconds)
        #expect(others <= most * 1.05)
        #expect(others >= most * 0.9)
    }

    @Test func `a share of nothing is a pause, and one of everything is none`() {
        var nothing = share(0)
        nothing.playersChanged(of: 1, .bytes, now: Self.start)
        nothing.timePassed(now: Self.start + Share.filling)
        #expect(nothing.isHolding && nothing.deadline == nil)
        nothing.playersChanged(of: 1, .nothing, now: Self.start + Share.filling + 1)
        #expect(!nothing.isHolding)
        var all = share(1)
        all.playersChanged(of: 1, .bytes, now: Self.start)
        #expect(!all.isHolding && all.deadline == nil)
    }

    @Test func `a gate releases at once what begins to play`() {
        var gate = NetworkGate()
        #expect(gate.entered(1, FetchDemand(.prefetch), sequence: 0) == nil)
        #expect(gate.entered(2, FetchDemand(.playing), sequence: 0) == nil)
        #expect(gate.yieldChanged(0).map(\.refusal) == [.playback])
        #expect(gate.refuses(FetchDemand(.upcoming)) && !gate.refuses(FetchDemand(.playing)))
        let change = gate.demanded(1, FetchDemand(.playing), sequence: 1)
        #expect(change?.id == 1 && change?.refusal == nil)
        #expect(gate.yieldingCount == 0)
    }

    @Test func `beside a player two others run, the most urgent and oldest first`() {
        var gate = NetworkGate()
        for id in UInt64(1)...3 { #expect(gate.entered(id, FetchDemand(.prefetch), sequence: 0) == nil) }
        #expect(gate.entered(4, FetchDemand(.upcoming), sequence: 0) == nil)
        #expect(gate.entered(5, FetchDemand(.playing), sequence: 0) == nil)
        #expect(gate.yieldChanged(BandwidthShare.beside).map(\.id) == [2, 3])
        #expect(gate.refuses(FetchDemand(.upcoming)) && !gate.refuses(FetchDemand(.playing)))
        #expect(gate.entered(6, FetchDemand(.prefetch), sequence: 0)?.refusal == .playback)
        gate.left(4)
        let next = gate.yieldChanged(BandwidthShare.beside)
        #expect(next.map(\.id) == [2] && next.map(\.refusal) == [nil])
        // A request that begins to play leaves its place to the next.
        #expect(gate.demanded(1, FetchDemand(.playing), sequence: 1) == nil)
        #expect(gate.yieldChanged(BandwidthShare.beside).map(\.id) == [3])
        #expect(gate.yieldChanged(.max).map(\.id) == [6])
    }
}
