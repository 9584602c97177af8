import SpoolAVFoundation
import Testing

/// When the original replaces an item of the cache.
@Suite struct RescueStateMachineTests {
    private static let failure = RescueStateMachine.Condition.failed(mayPlayFromOriginal: true)

    /// Looks at an item that does not move, until the machine does more than to look again.
    private static func lookQuietly(_ machine: inout RescueStateMachine) -> (looks: Int, [RescueStateMachine.Action]) {
        for look in 1...100 {
            let actions = machine.looked(RescueMovement())
            if actions != [.lookLater] { return (look, actions) }
        }
        return (100, [])
    }

    @Test func `an item that plays costs no look and no request`() {
        var machine = RescueStateMachine()
        for _ in 0..<10 { #expect(machine.became(.well) == []) }
        #expect(machine.looked(RescueMovement()) == [] && machine.state == .resting)
    }

    @Test(arguments: [(RescueStateMachine.Need.opening, 3, RescueReason.doesNotOpen), (.stalled, 6, .stalled)])
    func `an item that does not move for its number of looks is replaced once the original answers`(
        need: RescueStateMachine.Need, looks: Int, reason: RescueReason
    ) {
        var machine = RescueStateMachine()
        #expect(machine.became(.needs(need)) == [.lookLater])
        #expect(machine.became(.needs(need)) == [])
        let (count, actions) = Self.lookQuietly(&machine)
        #expect(count == looks && actions == [.ask])
        #expect(machine.answered(true, movement: RescueMovement()) == [.replace(reason)])
        // Once: whatever happens to the old item then.
        #expect(machine.became(Self.failure) == [] && machine.answered(true, movement: RescueMovement()) == [])
    }

    @Test func `a transfer that brings a few bytes keeps its item for hours`() {
        var machine = RescueStateMachine()
        _ = machine.became(.needs(.opening))
        for look in 1...5000 {
            // Two quiet looks, then one byte.
            #expect(machine.looked(RescueMovement(fetched: Int64(look / 3))) == [.lookLater])
        }
    }

    @Test func `a number of stored bytes that comes and goes is no movement`() {
        var machine = RescueStateMachine()
        _ = machine.became(.needs(.opening))
        _ = machine.looked(RescueMovement(fetched: 100))
        for fetched: Int64 in [0, 100] { #expect(machine.looked(RescueMovement(fetched: fetched)) == [.lookLater]) }
        #expect(machine.looked(RescueMovement()) == [.ask])
    }

    @Test func `a byte that comes while the original is asked keeps the item`() {
        var machine = RescueStateMachine()
        _ = machine.became(.needs(.opening))
        _ = Self.lookQuietly(&machine)
        #expect(machine.answered(true, movement: RescueMovement(delivered: 1)) == [.lookLater])
        #expect(machine.state == .watching(.opening, quiet: 0))
    }

    @Test func `an origin that does not answer is asked again after a minute, and no sooner`() {
        var machine = RescueStateMachine()
        _ = machine.became(.needs(.opening))
        _ = Self.lookQuietly(&machine)
        for _ in 0..<3 {
            #expect(machine.answered(false, movement: RescueMovement()) == [.lookLater])
            let (looks, actions) = Self.lookQuietly(&machine)
            #expect(looks >= 12 && actions == [.ask])
        }
    }

    @Test func `an original that is asked is asked again after a minute, also if the item moves, plays or stops meanwhile`() {
        var machine = RescueStateMachine()
        _ = machine.became(.needs(.stalled))
        _ = Self.lookQuietly(&machine)
        #expect(machine.answered(true, movement: RescueMovement(fetched: 1)) == [.lookLater])
        for fetched: Int64 in 2...4 { #expect(machine.looked(RescueMovement(fetched: fetched)) == [.lookLater]) }
        _ = machine.became(.well)
        _ = machine.became(.needs(.stalled))
        let (looks, actions) = Self.lookQuietly(&machine)
        #expect(3 + looks == 12 && actions == [.ask])
    }

    /// Without this rule, each stop would have looks of its own, and a stall would last for a part
    /// of its time only.
    @Test func `a player that stops and goes on again and again has one look at a time`() {
        var machine = RescueStateMachine()
        #expect(machine.became(.needs(.stalled)) == [.lookLater])
        for _ in 0..<10 {
            #expect(machine.became(.well) == [])
            #expect(machine.became(.needs(.stalled)) == [])
        }
        // The first look is one of an earlier stop, and may come too soon.
        #expect(Self.lookQuietly(&machine).looks == 7)
    }

    @Test func `an item that becomes ready while the original is asked is not replaced`() {
        var machine = RescueStateMachine()
        _ = machine.became(.needs(.opening))
        _ = Self.lookQuietly(&machine)
        #expect(machine.became(.well) == [])
        #expect(machine.answered(true, movement: RescueMovement()) == [])
    }

    @Test func `an item that failed is replaced only if the original answers`() {
        for isThere in [true, false] {
            var machine = RescueStateMachine()
            #expect(machine.became(Self.failure) == [.ask] && machine.decidesAboutFailure)
            #expect(machine.became(Self.failure) == [])
            #expect(machine.answered(isThere, movement: RescueMovement()) == (isThere ? [.replace(.failed)] : []))
            #expect(!machine.decidesAboutFailure)
        }
    }

    @Test func `an item with an error that the original must not mend is left alone`() {
        var machine = RescueStateMachine()
        #expect(machine.became(.failed(mayPlayFromOriginal: false)) == [])
        #expect(machine.state == .over && machine.became(Self.failure) == [])
    }

    @Test func `the looks begin anew with another need`() {
        var machine = RescueStateMachine()
        _ = machine.became(.needs(.opening))
        for _ in 0..<2 { _ = machine.looked(RescueMovement()) }
        // The look that is due counts for the first need only.
        #expect(machine.became(.needs(.stalled)) == [])
        #expect(Self.lookQuietly(&machine).looks == 7)
    }
}

/// When rescues bypass the cache.
@Suite struct RescueBreakerTests {
    /// Returns whether the breaker opened at each rescue of a history: `r` is a rescue, `x` one whose
    /// original failed too, and `.` an item that opened by itself.
    private static func openings(_ history: String) -> [Bool] {
        var breaker = RescueBreaker()
        var openings: [Bool] = []
        for event in history {
            switch event {
            case "r": openings.append(breaker.originalPlayed())
            case "x": breaker.originalFailed()
            default: breaker.itemOpened()
            }
        }
        return openings
    }

    @Test func `two rescues among ten items open the breaker, once`() {
        #expect(Self.openings("r........r") == [false, true])
        #expect(Self.openings("rrr") == [false, true, false])
    }

    @Test func `three rescues in a process open it, however far apart`() {
        #expect(Self.openings("r..........r..........r") == [false, false, true])
    }

    @Test func `an original that fails too clears the count`() {
        #expect(Self.openings("rxr") == [false, false])
    }
}
