import SpoolCore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

@Suite struct SimulatorTests {
    /// A record of the events in the jobs of a world.
    private typealias Log = Locked<[String]>

    /// Runs three workers that post to each other, draw numbers and set timers, and returns the
    /// trace.
    private func runWorld(seed: UInt64) -> [TraceEntry] {
        let world = Simulator(seed: seed)
        let mailboxes = (0..<3).map { world.mailbox("worker-\($0)") }
        @Sendable func work(_ number: Int, _ depth: Int) {
            guard depth > 0 else { return }
            let other = Int(world.next(below: 3))
            mailboxes[other].post { work(other, depth - 1) }
            if depth % 4 == 0 {
                _ = world.after(.milliseconds(Int64(world.next(below: 20))), on: mailboxes[number]) { work(number, depth / 2) }
            }
        }
        for number in 0..<3 { mailboxes[number].post { work(number, 20) } }
        #expect(world.runUntilIdle(), "\(world.report("the world never ended"))")
        return world.trace
    }

    @Test func `the same seed gives the same run`() {
        for seed in Seeds.list(count: 20) {
            #expect(runWorld(seed: seed) == runWorld(seed: seed), "seed \(seed)")
        }
    }

    @Test func `different seeds give different orders`() {
        #expect(Set((0..<10).map { runWorld(seed: $0).map(\.mailbox) }).count == 10)
    }

    @Test func `all orders of two mailboxes occur, and each mailbox keeps its own order`() {
        var seen: Set<[String]> = []
        for seed in 0..<200 {
            let world = Simulator(seed: UInt64(seed))
            let log = Log([])
            for name in ["a", "b"] {
                let mailbox = world.mailbox(name)
                for number in 1...2 { mailbox.post { log.withLock { $0.append("\(name)\(number)") } } }
            }
            world.runUntilIdle()
            seen.insert(log.withLock { $0 })
        }
        // Four jobs in two queues have 4! / (2! · 2!) orders.
        #expect(seen.count == 6)
    }

    @Test func `a job never runs inside post`() {
        let world = Simulator(seed: 1)
        let mailbox = world.mailbox("a")
        let log = Log([])
        mailbox.post {
            mailbox.post { log.withLock { $0.append("inner") } }
            log.withLock { $0.append("outer") }
        }
        #expect(log.withLock { $0 } == [])
        world.runUntilIdle()
        #expect(log.withLock { $0 } == ["outer", "inner"])
    }

    @Test func `timers fire in order of their deadlines, after the jobs`() {
        let world = Simulator(seed: 1)
        let mailbox = world.mailbox("a")
        let log = Log([])
        let start = world.now
        let wallStart = world.wallNow
        for delay in [30, 10, 20, 10] as [Int64] {
            _ = world.after(.seconds(delay), on: mailbox) {
                let seconds = (world.now - start) / 1_000_000_000
                log.withLock { $0.append("timer \(seconds)") }
            }
        }
        mailbox.post { log.withLock { $0.append("job") } }
        world.runUntilIdle()
        #expect(log.withLock { $0 } == ["job", "timer 10", "timer 10", "timer 20", "timer 30"])
        #expect(world.now - start == .seconds(30))
        #expect(world.wallNow.seconds - wallStart.seconds == 30)
    }

    @Test func `a cancelled timer neither fires nor moves the clock`() {
        let world = Simulator(seed: 1)
        let mailbox = world.mailbox("a")
        let start = world.now
        let timer = world.after(.seconds(5), on: mailbox) { Issue.record("a cancelled timer fired") }
        timer.cancel()
        timer.cancel()
        #expect(world.isIdle)
        world.runUntilIdle()
        #expect(world.now == start)
    }

    @Test func `advancing runs the events of that time and no others`() {
        let world = Simulator(seed: 1)
        let mailbox = world.mailbox("a")
        let log = Log([])
        let start = world.now
        @Sendable func tick() {
            log.withLock { $0.append("tick") }
            _ = world.after(.seconds(1), on: mailbox) { tick() }
        }
        mailbox.post { tick() }
        world.advance(by: .milliseconds(2500))
        #expect(log.withLock { $0.count } == 3)
        #expect(world.now - start == .milliseconds(2500))
        world.advance(by: .milliseconds(500))
        #expect(log.withLock { $0.count } == 4)
        world.shutdown()
    }

    @Test func `a run ends on its condition, without work, or after its maximal steps`() {
        let world = Simulator(seed: 1)
        let mailbox = world.mailbox("a")
        let count = Locked(0)
        @Sendable func again() {
            count.withLock { $0 += 1 }
            mailbox.post { again() }
        }
        mailbox.post { again() }
        #expect(world.run(until: { count.withLock { $0 } == 5 }))
        #expect(!world.run(until: { false }, maxSteps: 10))
        #expect(count.withLock { $0 } == 15)
        world.shutdown()
        #expect(!world.run(until: { false }))
        #expect(count.withLock { $0 } == 15)
    }

    @Test func `setting the wall clock moves no timer`() {
        let world = Simulator(seed: 1)
        let mailbox = world.mailbox("a")
        let start = world.now
        _ = world.after(.seconds(60), on: mailbox) {}
        world.moveWallClock(by: .seconds(-3600))
        world.runUntilIdle()
        #expect(world.now - start == .seconds(60))
        #expect(world.wallNow.seconds == 1_800_000_000 - 3600 + 60)
    }

    @Test func `the trace keeps the last steps, and the report includes the replay command`() {
        let world = Simulator(seed: 77)
        let mailbox = world.mailbox("store lane")
        for _ in 0..<1000 { mailbox.post {} }
        world.runUntilIdle()
        #expect(world.trace.count == TraceRing.capacity)
        #expect(world.trace.map(\.step) == Array(745...1000))
        let report = world.report("a reader waits for ever")
        #expect(report.contains("SPOOL_SEED=77"))
        #expect(report.hasSuffix("store lane"))
    }

    @Test func `a world that was shut down releases everything`() {
        let pool = BufferPool(bufferBytes: 4096, capacity: 2)
        let world = Simulator(seed: 1)
        let mailbox = world.mailbox("a")
        do {
            let buffers = (0..<2).compactMap { _ in pool.take() }
            mailbox.post { [world] in _ = (world, buffers[0]) }
            _ = world.after(.seconds(1), on: mailbox) { [world] in _ = (world, buffers[1]) }
        }
        #expect(pool.statistics.inUse == 2)
        world.shutdown()
        #expect(pool.statistics.inUse == 0)
        mailbox.post { Issue.record("a job ran after the shutdown") }
        #expect(world.isIdle)
    }

    @Test func `a job that steps its own world ends the process`() async {
        await #expect(processExitsWith: .failure) {
            let world = Simulator(seed: 1)
            world.mailbox("a").post { world.step() }
            world.runUntilIdle()
        }
    }

    @Test func `a second thread in a world ends the process`() async {
        await #expect(processExitsWith: .failure) {
            let world = Simulator(seed: 1)
            let mailbox = world.mailbox("a")
            mailbox.post {
                SystemThread(name: "intruder") { mailbox.post {} }.join()
            }
            world.runUntilIdle()
        }
    }
}
