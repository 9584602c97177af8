import Foundation
import Spool
import SpoolAVFoundation
import SpoolCore
import SpoolSystem
import Testing

/// When ends of earlier processes bypass the cache.
@Suite struct CrashBreakerTests {
    private static let day: Int64 = 86_400

    /// Lives processes that each end while their first item opens, at these seconds.
    private static func lives(endingAt seconds: [Int64], isDebugged: Bool = false) -> CrashBreaker {
        var breaker = CrashBreaker(build: "1")
        for second in seconds {
            breaker.launched(build: "1", isDebugged: isDebugged, now: second)
            breaker.itemOpens(now: second)
        }
        return breaker
    }

    private static func launch(_ breaker: CrashBreaker, build: String = "1", isDebugged: Bool = false, at now: Int64) -> Bool {
        var breaker = breaker
        breaker.launched(build: build, isDebugged: isDebugged, now: now)
        return breaker.isOpen
    }

    @Test func `two ends in a row within ten minutes open it`() {
        #expect(!Self.launch(Self.lives(endingAt: [1000]), at: 1010))
        #expect(Self.launch(Self.lives(endingAt: [1000, 1600]), at: 1610))
        #expect(!Self.launch(Self.lives(endingAt: [1000, 1601]), at: 1610))
    }

    @Test func `ends with another build, and processes of a debugger, do not count`() {
        #expect(!Self.launch(Self.lives(endingAt: [1000, 1100]), build: "2", at: 1200))
        #expect(!Self.launch(Self.lives(endingAt: [1000, 1100]), isDebugged: true, at: 1200))
        #expect(!Self.launch(Self.lives(endingAt: [1000, 1100], isDebugged: true), isDebugged: true, at: 1200))
    }

    @Test func `an item that became ready, or an app that left the foreground, leaves no mark`() {
        for isReady in [true, false] {
            var breaker = Self.lives(endingAt: [1000, 1100])
            isReady ? breaker.itemIsReady() : breaker.excused()
            #expect(!breaker.hasMark && !Self.launch(breaker, at: 1200))
        }
    }

    @Test func `an open breaker lets one process try after a day, and one more end opens it again`() {
        var breaker = Self.lives(endingAt: [1000, 1100])
        breaker.launched(build: "1", isDebugged: false, now: 1200)
        #expect(Self.launch(breaker, at: 1200 + Self.day - 1))
        breaker.launched(build: "1", isDebugged: false, now: 1200 + Self.day)
        #expect(!breaker.isOpen)
        breaker.itemOpens(now: 1210 + Self.day)
        #expect(Self.launch(breaker, at: 1220 + Self.day))
        breaker.itemIsReady()
        #expect(!Self.launch(breaker, at: 1220 + Self.day))
    }

    @Test func `a clock that was set back, and numbers at the ends of their range, keep it right`() {
        var breaker = Self.lives(endingAt: [5000, 5100])
        breaker.launched(build: "1", isDebugged: false, now: 5200)
        #expect(!Self.launch(breaker, at: 10))
        #expect(!Self.launch(Self.lives(endingAt: [.min, .max]), at: .min))
    }

    @Test func `the mark is kept before the item opens, and removed at the notifications of the system`() throws {
        let kept = Locked<[CrashBreaker]>([])
        let center = NotificationCenter()
        func watch() -> StartWatch {
            StartWatch(
                record: .init(load: { kept.withLock { $0.last } }, save: { breaker in kept.withLock { $0.append(breaker) } }),
                build: "1", isDebugged: false, center: center, now: { 1000 })
        }
        let first = watch()
        first.itemOpens()
        first.itemOpens()
        #expect(kept.withLock { $0.count } == 1 && kept.withLock { $0.last?.hasMark } == true)
        center.post(name: Notification.Name("UIApplicationDidEnterBackgroundNotification"), object: nil)
        #expect(kept.withLock { $0.last?.hasMark } == false)
        // A later item of the process sets no mark.
        first.itemOpens()
        #expect(kept.withLock { $0.count } == 2)
        for _ in 0..<2 { watch().itemOpens() }
        #expect(watch().isOpen)
        // The record is what is kept.
        let last = try #require(kept.withLock { $0.last })
        #expect(try JSONDecoder().decode(CrashBreaker.self, from: JSONEncoder().encode(last)) == last)
    }
}

/// The groups of a rollout.
@Suite struct RolloutTests {
    private static func groups(_ fraction: Double, control: Double, salt: String = "s") -> [Rollout.Group] {
        (0..<10_000).map { Rollout(fraction: fraction, control: control, salt: salt, unit: "user \($0)").group }
    }

    @Test func `the groups have their sizes, and a user keeps the group`() {
        let groups = Self.groups(0.1, control: 0.05)
        #expect((850...1150).contains(groups.count { $0 == .treatment }))
        #expect((400...600).contains(groups.count { $0 == .control }))
        #expect(groups == Self.groups(0.1, control: 0.05))
    }

    @Test func `no user leaves the treatment when the fraction grows, and another salt has other users`() {
        let (small, large) = (Self.groups(0.01, control: 0.01), Self.groups(0.5, control: 0.05))
        for (before, after) in zip(small, large) where before == .treatment { #expect(after == .treatment) }
        #expect(small != Self.groups(0.01, control: 0.01, salt: "t"))
    }

    @Test(arguments: [(0.0, 0.0, Rollout.Group.excluded), (1, 0, .treatment), (0, 1, .control), (1, 1, .treatment), (-1, -1, .excluded)])
    func `the bounds of the fractions hold for everybody`(fraction: Double, control: Double, group: Rollout.Group) {
        #expect(Self.groups(fraction, control: control).allSatisfy { $0 == group })
    }
}

/// The measures of one item.
@Suite struct PlaybackMeterTests {
    @Test func `a meter counts start, play and waits, and no pause`() {
        func at(_ seconds: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: .seconds(seconds)) }
        var meter = PlaybackMeter(now: at(0))
        // 5 s on the screen before the user plays, 2 s to the first frame, with a pause of 10 s.
        meter.became(.waiting, now: at(5))
        meter.became(.paused, now: at(6))
        meter.became(.waiting, now: at(16))
        meter.became(.playing, now: at(17))
        // 20 s of play, 4 s of a stall, 10 s of play, a pause.
        meter.became(.waiting, now: at(37))
        meter.became(.playing, now: at(41))
        meter.became(.paused, now: at(51))
        meter.became(.paused, now: at(99))
        var report = PlaybackReport(route: "cache")
        meter.write(to: &report)
        #expect(report.startupMilliseconds == 2000 && report.playedMilliseconds == 30_000)
        #expect(report.stallCount == 1 && report.stalledMilliseconds == 4000)
    }

    @Test func `an item that never played has no start`() {
        var meter = PlaybackMeter(now: MonotonicInstant(nanoseconds: 0))
        meter.became(.waiting, now: MonotonicInstant(nanoseconds: .max))
        var report = PlaybackReport(route: "cache")
        meter.write(to: &report)
        #expect(report.startupMilliseconds == nil && report.stallCount == 0)
    }
}
