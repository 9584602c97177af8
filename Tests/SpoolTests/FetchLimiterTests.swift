import Spool
import SpoolCore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// The limiter starts, pauses and stops fetches as its scheduler decides.
@Suite struct FetchLimiterTests {
    /// A fetch that notes its calls.
    private final class Fetch: LimitedFetch {
        let name: String
        private let notes: Locked<[String]>
        private let state = Locked<(isIdle: Bool, bytes: Int64, isClientsTurn: Bool)>((false, 0, false))
        /// Called when the limiter stops the fetch.
        let onStop: @Sendable () -> Void

        init(_ name: String, _ notes: Locked<[String]>, onStop: @escaping @Sendable () -> Void) {
            (self.name, self.notes, self.onStop) = (name, notes, onStop)
        }

        func set(isIdle: Bool = false, bytes: Int64 = 0, isClientsTurn: Bool = false) {
            state.withLock { $0 = (isIdle, bytes, isClientsTurn) }
        }

        func start(on access: NetworkAccess) { notes.withLock { $0.append(name) } }
        func hold(_ hold: FetchScheduler.Hold) { notes.withLock { $0.append("\(name): \(hold.refusal.map { "\($0)" } ?? "goes on")") } }
        func giveUp() { notes.withLock { $0.append("\(name): given up") } }

        func stopIfUnneeded() -> Bool { false }
        func stopIfIdle() -> Bool {
            guard state.withLock({ $0.isIdle }) else { return false }
            onStop()
            return true
        }

        func look(_ id: UInt64) -> FetchScheduler.Look {
            let (isIdle, bytes, isClientsTurn) = state.withLock { $0 }
            return FetchScheduler.Look(id: id, bytes: bytes, isClientsTurn: isClientsTurn, isIdle: isIdle)
        }
    }

    private final class World: Sendable {
        let time = ManualTime()
        let limiter: FetchLimiter
        let notes = Locked<[String]>([])
        private let tickets = Locked<[String: UInt64]>([:])

        init(total: Int = 10, perHost: Int) {
            limiter = FetchLimiter(FetchScheduler(total: total, perHost: perHost, share: 0.5), time: time, control: HandMailbox())
        }

        var started: [String] { notes.withLock { $0 } }

        @discardableResult
        func submit(_ name: String, host: String = "a", client: [UInt8]? = nil, _ priority: ReadPriority = .playing) -> Fetch {
            let fetch = Fetch(name, notes, onStop: { [weak self] in self?.finish(name) })
            let ticket = limiter.submit(fetch) { scheduler, now in
                scheduler.submitted(host: host, client: client, FetchDemand(priority), now: now)
            }
            tickets.withLock { $0[name] = ticket }
            return fetch
        }

        func need(_ need: BackgroundShare.Need) {
            limiter.change { scheduler, now in scheduler.playersChanged(of: 1, at: "a", need, now: now) }
        }

        func finish(_ name: String) {
            if let ticket = tickets.withLock({ $0[name] }) { limiter.finished(ticket) }
        }

        func pause(_ name: String) {
            if let ticket = tickets.withLock({ $0[name] }) { limiter.change { scheduler, _ in scheduler.idle(ticket, true) } }
        }
    }

    @Test func `fetches beyond a host's places queue and start in the order of arrival`() {
        let world = World(perHost: 2)
        for name in ["1", "2", "3", "4"] { world.submit(name) }
        world.submit("5", host: "b")
        #expect(world.started == ["1", "2", "5"] && world.limiter.counts == (active: 3, queued: 2))
        world.finish("2")
        #expect(world.started == ["1", "2", "5", "3"])
        world.finish("1")
        world.finish("1")
        #expect(world.started == ["1", "2", "5", "3", "4"])
    }

    @Test func `a client that has waited for a second gets a further place by a timer`() {
        let world = World(perHost: 2)
        for name in ["1", "2", "3"] { world.submit(name) }
        for _ in 0..<9 { world.time.advance(by: .milliseconds(100)) }
        #expect(world.started == ["1", "2"])
        world.time.advance(by: .milliseconds(100))
        #expect(world.started == ["1", "2", "3"])
    }

    @Test func `an idle fetch gives its place to a queued one`() {
        let world = World(perHost: 2)
        let first = world.submit("1"), second = world.submit("2")
        first.set(isIdle: true)
        world.submit("3")
        #expect(world.started == ["1", "2", "3"])
        // A busy fetch keeps its place until it is idle, whatever the limiter was told.
        world.pause("2")
        world.submit("4")
        #expect(world.started == ["1", "2", "3"])
        second.set(isIdle: true)
        world.pause("2")
        #expect(world.started == ["1", "2", "3", "4"])
    }

    @Test func `a fetch that is given up in the queue never starts`() {
        let world = World(perHost: 1)
        for name in ["1", "2"] { world.submit(name) }
        world.finish("2")
        world.finish("1")
        #expect(world.started == ["1"] && world.limiter.counts == (active: 0, queued: 0))
    }

    @Test func `a download pauses while a player is short, gets a drop by a timer, and pauses again`() {
        let world = World(perHost: 6)
        world.submit("download", .prefetch)
        world.need(.urgent)
        let (pause, resume) = ("download: a player needs the link", "download: goes on")
        #expect(world.started == ["download", pause])
        world.time.advance(by: BackgroundShare.dropInterval)
        #expect(world.started == ["download", pause, resume])
        world.limiter.received(Int(BackgroundShare.leastDrop), forPlayer: false)
        #expect(world.started == ["download", pause, resume, pause])
        world.need(.nothing)
        world.time.advance(by: BackgroundShare.calm)
        #expect(world.started == ["download", pause, resume, pause, resume])
    }

    @Test func `a quiet fetch of a client that could move more is given up while others wait`() {
        let world = World(total: 2, perHost: 2)
        for number in 0..<4 {
            let fetch = world.submit("\(number)", client: [UInt8(number / 2)])
            fetch.set(isClientsTurn: number == 1)
        }
        for _ in 0..<29 { world.time.advance(by: .seconds(2)) }
        #expect(!world.started.contains { $0.hasSuffix("given up") })
        for _ in 0..<2 { world.time.advance(by: .seconds(2)) }
        #expect(world.started.contains("1: given up") && !world.started.contains("0: given up"))
    }
}
