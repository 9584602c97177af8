import SpoolAVFoundation
import Testing

/// The decisions about a player that ran out of bytes.
struct StallRecoveryTests {
    /// A machine whose player plays at a rate.
    private static func playing(at rate: Float = 1.5) -> StallRecovery {
        var machine = StallRecovery()
        machine.itemChanged(rate: rate, isCached: true)
        return machine
    }

    @Test func `after a stall the player waits at its rate, and goes on at it`() {
        var machine = Self.playing()
        #expect(machine.rateChanged(to: 0, .unknown) == [])
        #expect(machine.stalled() == [.wait(rate: 1.5)])
        #expect(machine.rateChanged(to: 1.5, .request) == [])
        #expect(machine.bytesCame(isPlaying: false) == [.stopWaiting, .play(rate: 1.5)])
        #expect(machine.state == .playing(rate: 1.5))
    }

    @Test func `a stop stays a stop, unless a stall is notified`() {
        var machine = Self.playing()
        _ = machine.rateChanged(to: 0, .unknown)
        #expect(machine.hasStopped)
        #expect(machine.bytesCame(isPlaying: false) == [])
        #expect(machine.stalled() == [.wait(rate: 1.5)])
    }

    @Test func `a rate that the app sets after a stop ends the stop`() {
        var machine = Self.playing()
        _ = machine.rateChanged(to: 0, .unknown)
        #expect(machine.rateChanged(to: 2, .request) == [] && machine.state == .playing(rate: 2))
        #expect(machine.rateChanged(to: 0, .request) == [])
        #expect(machine.stalled() == [])
    }

    @Test func `a requested pause stays one, whatever follows`() {
        var machine = Self.playing()
        #expect(machine.rateChanged(to: 0, .unknown) == [])
        #expect(machine.rateChanged(to: 0, .request) == [])
        #expect(machine.stalled() == [])
        #expect(machine.bytesCame(isPlaying: false) == [])
        #expect(machine.state == .idle)
    }

    @Test func `a pause of the waiting player ends the wait`() {
        var machine = Self.playing()
        _ = machine.stalled()
        #expect(machine.rateChanged(to: 0, .unknown) == [.stopWaiting])
        #expect(machine.bytesCame(isPlaying: false) == [])
    }

    @Test func `a new rate of the waiting player is kept`() {
        var machine = Self.playing()
        _ = machine.stalled()
        _ = machine.rateChanged(to: 2, .request)
        #expect(machine.bytesCame(isPlaying: false) == [.stopWaiting, .play(rate: 2)])
    }

    @Test func `a player that waits after a stall is paused when the audio is lost`() {
        var machine = Self.playing()
        _ = machine.stalled()
        #expect(machine.audioLost(hasItem: true) == [.stopWaiting, .pause])
        #expect(machine.bytesCame(isPlaying: false) == [])
    }

    @Test func `a player that waits for its first bytes is paused when the audio is lost`() {
        var machine = Self.playing()
        #expect(machine.audioLost(hasItem: true) == [.pause])
        #expect(machine.rateChanged(to: 0, .request) == [])
        #expect(machine.stalled() == [] && machine.state == .idle)
    }

    @Test func `a rate that is set without an item is taken back when the audio is lost`() {
        var machine = StallRecovery()
        #expect(machine.audioLost(hasItem: false) == [.pause])
    }

    @Test func `an item that is not cached is left alone`() {
        var machine = StallRecovery()
        machine.itemChanged(rate: 1, isCached: false)
        #expect(machine.stalled() == [] && machine.rateChanged(to: 0, .unknown) == [])
        #expect(machine.audioLost(hasItem: true) == [])
    }
}
