import SpoolAVFoundation
import Testing

/// The decisions about the store of an app that comes and goes.
@Suite struct AppLifecycleMachineTests {
    private typealias Action = AppLifecycleMachine.Action

    /// A machine in the background that nothing uses, unless `isInUse`.
    private func away(isInUse: Bool = false, fetchesAhead: Bool = false) -> AppLifecycleMachine {
        var machine = AppLifecycleMachine()
        _ = machine.entered(isInUse: isInUse, fetchesAhead: fetchesAhead)
        return machine
    }

    /// A machine in the background without locks.
    private func suspended() -> AppLifecycleMachine {
        var machine = away()
        _ = machine.released()
        return machine
    }

    @Test func `time is asked for while the app is in the foreground, once, and downloads pass to the system there`() {
        var machine = AppLifecycleMachine()
        #expect(machine.resigned() == [.askForTime, .handOver] && machine.resigned().isEmpty)
        #expect(machine.entered(isInUse: true, fetchesAhead: false).isEmpty && machine.state == .away(looks: 0))
    }

    @Test func `an app that becomes active without having been away gives its time back`() {
        var machine = AppLifecycleMachine()
        #expect(machine.becameActive().isEmpty)
        _ = machine.resigned()
        #expect(machine.becameActive() == [.endTime] && machine.state == .active)
    }

    @Test func `an app without a use releases its store at once, and takes it again when it returns`() {
        var machine = AppLifecycleMachine()
        #expect(machine.entered(isInUse: false, fetchesAhead: false) == [.askForTime, .suspend])
        #expect(machine.released() == [.endTime, .lookForPlayback] && machine.released().isEmpty)
        #expect(machine.returned() == [.endTime, .checkListener, .retry, .resume] && machine.state == .active)
    }

    @Test func `a preload keeps the store for thirty seconds at most`() {
        var machine = AppLifecycleMachine()
        var actions = machine.entered(isInUse: false, fetchesAhead: true)
        #expect(actions == [.askForTime, .look])
        var looks = 1
        while actions.last == .look, looks < 1000 {
            actions = machine.looked(isInUse: false, fetchesAhead: true)
            looks += actions == [.look] ? 1 : 0
        }
        #expect(looks == 30 && actions == [.suspend])
    }

    @Test func `a pause does not cut a preload in its time, and its end releases the store`() {
        var machine = away(isInUse: true, fetchesAhead: true)
        #expect(machine.becameIdle(fetchesAhead: true).isEmpty)
        #expect(machine.looked(isInUse: false, fetchesAhead: false) == [.suspend])
        var playing = away(isInUse: true)
        #expect(playing.becameIdle(fetchesAhead: true) == [.suspend])
    }

    @Test(arguments: [false, true]) func `the end of the granted time releases the store, whatever runs`(fetchesAhead: Bool) {
        var machine = away(isInUse: true, fetchesAhead: fetchesAhead)
        #expect(machine.expired() == [.suspend] && machine.expired().isEmpty && machine.state == .suspending)
    }

    @Test func `time that ends in the foreground is asked for again in the background`() {
        var machine = AppLifecycleMachine()
        _ = machine.resigned()
        #expect(machine.expired() == [.endTime])
        #expect(machine.entered(isInUse: true, fetchesAhead: false) == [.askForTime])
    }

    @Test func `an app that returns while its store is released keeps its time until that is done`() {
        var machine = away()
        #expect(machine.returned() == [.checkListener, .retry] && machine.state == .returning)
        #expect(machine.released() == [.endTime, .resume] && machine.state == .active)
        var twice = away()
        _ = twice.returned()
        #expect(twice.entered(isInUse: false, fetchesAhead: false).isEmpty && twice.released() == [.endTime, .lookForPlayback])
    }

    @Test func `play by the lock screen takes the store again, with a look at the listener and new time`() {
        var machine = suspended()
        #expect(machine.used() == [.checkListener, .askForTime, .resume] && machine.used().isEmpty)
        #expect(machine.becameIdle(fetchesAhead: false) == [.suspend])
        var playing = suspended()
        #expect(playing.ranOn(isInUse: false).isEmpty && playing.ranOn(isInUse: true) == [.askForTime, .resume])
    }

    @Test func `a use while the store is being released takes it again at once`() {
        var machine = away(isInUse: true)
        #expect(machine.becameIdle(fetchesAhead: false) == [.suspend] && machine.used().isEmpty)
        #expect(machine.released() == [.askForTime, .resume] && machine.state == .away(looks: 0))
        // A use that ends meanwhile, and time that is over, leave the store released.
        var idle = away()
        #expect(idle.used().isEmpty && idle.becameIdle(fetchesAhead: false).isEmpty && idle.released() == [.endTime, .lookForPlayback])
        var expired = away()
        #expect(expired.used().isEmpty && expired.expired().isEmpty && expired.released() == [.endTime, .lookForPlayback])
        var back = away()
        #expect(back.used().isEmpty && back.returned() == [.checkListener, .retry] && back.released() == [.endTime, .resume])
    }

    @Test func `a launch in the background counts as one`() {
        var machine = AppLifecycleMachine()
        #expect(machine.woken() == [.checkListener, .askForTime])
        #expect(machine.becameIdle(fetchesAhead: false) == [.suspend])
        #expect(machine.woken() == [.checkListener, .askForTime] && machine.state == .suspending)
    }
}
