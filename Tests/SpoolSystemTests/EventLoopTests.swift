import SpoolCore
import SpoolLibc
import SpoolSystem
import Testing

@Suite(.timeLimit(.minutes(20)))
struct EventLoopTests {
    @Test func `jobs of one thread run in the order of posting`() throws {
        let loop = try EventLoop()
        let seen = Locked<[Int]>([])
        for number in 0..<1000 {
            loop.post { seen.withLock { $0.append(number) } }
        }
        loop.stop()
        loop.run()
        #expect(seen.withLock { $0 } == Array(0..<1000))
    }

    @Test func `the loop keeps its longest callback and its longest turn in CPU time`() throws {
        let wall = Locked<Int64>(0), cpu = Locked<Int64>(0)
        let loop = try EventLoop(
            clock: { MonotonicInstant(nanoseconds: wall.withLock { $0 }) }, threadClock: { cpu.withLock { $0 } })
        @Sendable func work(_ time: Nanoseconds, ofCPU part: Nanoseconds) {
            wall.withLock { $0 += time }
            cpu.withLock { $0 += part }
        }
        loop.post {
            // The thread had the processor for three of the five milliseconds.
            work(.milliseconds(5), ofCPU: .milliseconds(3))
            loop.post {
                #expect(loop.times.longestCallback.value == .milliseconds(3) && loop.times.longestTurn.value == .milliseconds(3))
                work(100_000, ofCPU: 100_000)
                for _ in 0..<16 { loop.post { work(.milliseconds(2), ofCPU: .milliseconds(2)) } }
                loop.post { loop.stop() }
            }
        }
        loop.run()
        #expect(loop.times.longestCallback.value == .milliseconds(3))
        #expect(loop.times.longestTurn.value == .milliseconds(32))
    }

    @Test func `a callback that the system interrupts counts with its own CPU time`() throws {
        let wall = Locked<Int64>(0), cpu = Locked<Int64>(0)
        let loop = try EventLoop(
            clock: { MonotonicInstant(nanoseconds: wall.withLock { $0 }) }, threadClock: { cpu.withLock { $0 } })
        // Many short callbacks, then one during which other threads have the processor.
        for time in [Int64](repeating: 100_000, count: 995) + [20_000_000] {
            loop.post {
                wall.withLock { $0 += time }
                cpu.withLock { $0 += min(time, 100_000) }
            }
        }
        loop.post { loop.stop() }
        loop.run()
        #expect(loop.times.longestCallback.value == 600_000, "its own 0.1 ms, and the 0.5 ms since the last read")
    }

    @Test func `a job posted on the loop does not run inline`() throws {
        let loop = try EventLoop()
        let seen = Locked<[String]>([])
        loop.post {
            loop.post {
                seen.withLock { $0.append("inner") }
                loop.stop()
            }
            seen.withLock { $0.append("outer") }
        }
        loop.run()
        #expect(seen.withLock { $0 } == ["outer", "inner"])
    }

    @Test func `a job at rest runs once no other work is left`() throws {
        let loop = try EventLoop()
        let seen = Locked<[String]>([])
        @Sendable func note(_ name: String) { seen.withLock { $0.append(name) } }
        loop.post {
            loop.postAtRest {
                note("first of those that wait")
                loop.stop()
            }
            loop.postAtRest { note("second") }
            note("job")
            loop.post {
                note("job of the next turn")
                loop.post { note("job of the turn after it") }
            }
        }
        loop.run()
        #expect(
            seen.withLock { $0 } == ["job", "job of the next turn", "job of the turn after it", "first of those that wait", "second"])
    }

    @Test func `a busy loop does not postpone a job at rest for ever`() throws {
        let loop = try EventLoop()
        let turns = Locked(0)
        @Sendable func keepBusy() {
            loop.post {
                turns.withLock { $0 += 1 }
                keepBusy()
            }
        }
        loop.post {
            loop.postAtRest { loop.stop() }
            keepBusy()
        }
        loop.run()
        #expect(EventLoop.restTurns...EventLoop.restTurns + 1 ~= turns.withLock { $0 })
    }

    @Test func `a job at rest runs before the loop ends, and wakes a sleeping loop`() throws {
        let loop = try EventLoop()
        let ended = Locked(false)
        loop.postAtRest { ended.withLock { $0 = true } }
        loop.stop()
        loop.run()
        #expect(ended.withLock { $0 })
        let next = try EventLoop()
        let thread = next.start(name: "test"), gate = Gate()
        for _ in 0..<200 {
            next.postAtRest { gate.open() }
            gate.wait()
        }
        next.stop()
        thread.join()
    }

    @Test func `a watching loop takes posts at once, and jobs at rest wait for its watch`() throws {
        // The clock stands still, so the loop watches until it is stopped.
        let loop = try EventLoop(clock: { MonotonicInstant(nanoseconds: 0) })
        let thread = loop.start(name: "test"), gate = Gate()
        let seen = Locked<[String]>([])
        @Sendable func note(_ name: String) { seen.withLock { $0.append(name) } }
        loop.post {
            loop.watch(for: .seconds(1))
            loop.postAtRest {
                note("what can wait")
                gate.open()
            }
        }
        loop.post {
            note("job")
            gate.open()
        }
        gate.wait()
        loop.post {
            note("the answer")
            loop.stopWatching()
        }
        gate.wait()
        loop.stop()
        thread.join()
        #expect(seen.withLock { $0 } == ["job", "the answer", "what can wait"])
    }

    @Test func `a watching loop runs its timers, and sleeps when the watch ends`() throws {
        let now = Locked(MonotonicInstant(nanoseconds: 0))
        // Each read of the clock takes a microsecond.
        let loop = try EventLoop {
            now.withLock { now in
                now = now + 1000
                return now
            }
        }
        let seen = Locked<[String]>([])
        loop.post {
            loop.watch(for: .milliseconds(1))
            loop.postAtRest {
                seen.withLock { $0.append("rest") }
                loop.stop()
            }
            loop.after(.milliseconds(1) / 2) { seen.withLock { $0.append("timer") } }
        }
        loop.run()
        #expect(seen.withLock { $0 } == ["timer", "rest"])
        let end = now.withLock { $0 }
        #expect(end >= MonotonicInstant(nanoseconds: .milliseconds(1)))
    }

    @Test func `a sleeping loop is woken by a post from another thread`() throws {
        let loop = try EventLoop()
        let thread = loop.start(name: "test")
        let gate = Gate()
        for _ in 0..<200 {
            loop.post { gate.open() }
            gate.wait()
        }
        loop.stop()
        thread.join()
    }

    @Test func `jobs posted after the end are dropped`() throws {
        let loop = try EventLoop()
        loop.stop()
        loop.run()
        loop.post { Issue.record("ran after the end") }
    }

    @Test func `jobs of many threads all run, those of each thread in order`() throws {
        let loop = try EventLoop()
        let thread = loop.start(name: "test")
        let seen = Locked<[[Int]]>(Array(repeating: [], count: 4))
        let done = Gate(count: 4)
        for sender in 0..<4 {
            onThread {
                for number in 0..<5000 {
                    loop.post { seen.withLock { $0[sender].append(number) } }
                }
                loop.post { done.open() }
            }
        }
        done.wait()
        loop.stop()
        thread.join()
        for sender in 0..<4 { #expect(seen.withLock { $0[sender] } == Array(0..<5000)) }
    }

    @Test func `a readable descriptor calls its handler until it is deregistered`() throws {
        let loop = try EventLoop()
        let (reader, writer) = try makePipe()
        let calls = Locked(0)
        loop.post {
            let box = Box<Registration>()
            box.value = try? loop.register(reader, .read) { events in
                #expect(events.contains(.readable))
                let count = calls.withLock { calls in
                    calls += 1
                    return calls
                }
                // Events are level-triggered: nothing was read, so the second call comes without
                // another write.
                if count == 2, let registration = box.value {
                    loop.deregister(registration)
                    loop.post { loop.stop() }
                }
            }
            #expect(box.value != nil)
        }
        writeByte(writer)
        loop.run()
        #expect(calls.withLock { $0 } == 2)
        close(reader)
        close(writer)
    }

    @Test func `an event for a descriptor closed and reused in one batch is dropped`() throws {
        let loop = try EventLoop()
        let first = try makePipe(), second = try makePipe()
        writeByte(first.writer)
        writeByte(second.writer)
        let calls = Locked(0)
        loop.post {
            let registrations = Box<[Registration]>()
            let replacement = Box<Registration>()
            let ends = [first.reader, second.reader]
            // The handler that runs first closes the other's descriptor and registers an idle pipe
            // under the same number.
            registrations.value = ends.indices.map { index in
                try! loop.register(ends[index], .read) { _ in
                    calls.withLock { $0 += 1 }
                    let other = ends[1 - index]
                    let victims = registrations.value!
                    loop.deregister(victims[0])
                    loop.deregister(victims[1])
                    // `dup2` closes and reuses the number in one step, so that no other test can
                    // open it meanwhile.
                    let idle = try! makePipe()
                    #expect(dup2(idle.reader, other) == other)
                    replacement.value = try! loop.register(other, .read) { _ in
                        Issue.record("the old descriptor's event reached the new one")
                    }
                    loop.post { loop.post { loop.stop() } }
                }
            }
        }
        loop.run()
        #expect(calls.withLock { $0 } == 1)
    }

    @Test func `renewing a registration watches the new file of a reused descriptor`() throws {
        let loop = try EventLoop()
        let old = try makePipe(), new = try makePipe()
        let calls = Locked(0)
        loop.post {
            let registration = try! loop.register(old.reader, .read) { _ in
                calls.withLock { $0 += 1 }
                loop.stop()
            }
            // `dup2` closes and reuses the number in one step; the kernel watches nothing then.
            #expect(dup2(new.reader, old.reader) == old.reader)
            try! loop.renew(registration, .read)
            writeByte(new.writer)
        }
        loop.run()
        #expect(calls.withLock { $0 } == 1)
    }

    @Test func `a registration can be forgotten after its descriptor was closed and reused`() throws {
        let loop = try EventLoop()
        let old = try makePipe(), new = try makePipe()
        writeByte(new.writer)
        loop.post {
            let registration = try! loop.register(old.reader, .read) { _ in Issue.record("the file is closed") }
            #expect(dup2(new.reader, old.reader) == old.reader)
            loop.forget(registration)
            loop.forget(registration)
            _ = try! loop.register(old.reader, .read) { _ in loop.stop() }
        }
        loop.run()
    }

    @Test func `an unchanged interest can be set again, and an empty one reports nothing`() throws {
        let loop = try EventLoop()
        let (reader, writer) = try makePipe()
        writeByte(writer)
        loop.post {
            let registration = try! loop.register(reader, []) { _ in Issue.record("nothing was asked for") }
            try! loop.update(registration, [])
            loop.post { loop.post { loop.stop() } }
        }
        loop.run()
    }

    @Test func `a closed peer is reported while unread bytes wait`() throws {
        let loop = try EventLoop()
        var ends: [Int32] = [0, 0]
        #expect(socketpair(AF_UNIX, streamType, 0, &ends) == 0)
        let (near, far) = (ends[0], ends[1])
        writeByte(far)
        shutdown(far, Int32(SHUT_WR))
        loop.post {
            _ = try! loop.register(near, .peerClosed) { events in
                #expect(events.contains(.peerClosed))
                loop.stop()
            }
        }
        loop.run()
        close(near)
        close(far)
    }

    @Test func `isInLoop distinguishes the loop's thread from others`() throws {
        let loop = try EventLoop()
        #expect(!loop.isInLoop)
        loop.post {
            #expect(loop.isInLoop)
            loop.stop()
        }
        loop.run()
    }

    @Test func `registering from another thread stops the program`() async {
        await #expect(processExitsWith: .failure) {
            let loop = try EventLoop()
            _ = try loop.register(0, .read) { _ in }
        }
    }
}

@Suite(.timeLimit(.minutes(20)))
struct EventLoopTimerTests {
    @Test func `timers fire in the order of their deadlines, by the injected clock`() throws {
        let clock = Locked<Int64>(0)
        let loop = try EventLoop(clock: { MonotonicInstant(nanoseconds: clock.withLock { $0 }) })
        let seen = Locked<[Int]>([])
        loop.post {
            for delay in [30, 10, 20] {
                loop.after(.seconds(Int64(delay))) { seen.withLock { $0.append(delay) } }
            }
            loop.post { clock.withLock { $0 = 25_000_000_000 } }
            loop.post { loop.post { loop.post { loop.stop() } } }
        }
        loop.run()
        #expect(seen.withLock { $0 } == [10, 20])
    }

    @Test func `a cancelled timer does not fire, and a fired one can be cancelled`() throws {
        let loop = try EventLoop()
        loop.post {
            let cancelled = loop.after(0) { Issue.record("fired after it was cancelled") }
            loop.cancel(cancelled)
            let box = Box<LoopTimer>()
            box.value = loop.after(0) {
                loop.cancel(box.value!)
                loop.stop()
            }
        }
        loop.run()
    }

    @Test func `a timer that arms itself without delay leaves room for jobs`() throws {
        let loop = try EventLoop(clock: { MonotonicInstant(nanoseconds: 0) })
        loop.post {
            let again = Box<() -> Void>()
            again.value = { loop.after(0) { again.value!() } }
            again.value!()
            loop.post { loop.post { loop.stop() } }
        }
        loop.run()
    }

    @Test func `a real clock wakes the loop`() throws {
        let loop = try EventLoop()
        loop.post { loop.after(.milliseconds(1)) { loop.stop() } }
        loop.run()
    }
}

struct TimerHeapTests {
    @Test func `random arming, cancelling and popping agrees with a sorted list`() {
        let seed = testSeed()
        var random = TestRandom(seed: seed)
        var heap = TimerHeap<Int>()
        var oracle: [(deadline: Int64, sequence: Int, timer: LoopTimer)] = []
        for step in 0..<5000 {
            switch random.below(4) {
            case 0, 1:
                let deadline = Int64(random.below(100))
                oracle.append((deadline, step, heap.arm(MonotonicInstant(nanoseconds: deadline), step)))
            case 2 where !oracle.isEmpty:
                let victim = oracle.remove(at: random.below(oracle.count))
                let first = heap.cancel(victim.timer), second = heap.cancel(victim.timer)
                #expect(first && !second, "seed \(seed)")
            default:
                let now = Int64(random.below(100))
                let due = oracle.indices.filter { oracle[$0].deadline <= now }
                    .min { (oracle[$0].deadline, oracle[$0].sequence) < (oracle[$1].deadline, oracle[$1].sequence) }
                let popped = heap.popDue(MonotonicInstant(nanoseconds: now), armedBefore: .max)
                #expect(popped == due.map { oracle[$0].sequence }, "seed \(seed)")
                if let due { oracle.remove(at: due) }
            }
            #expect(heap.count == oracle.count, "seed \(seed)")
        }
    }
}
