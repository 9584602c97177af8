import Dispatch
import SpoolCore
import SpoolSystem
import Testing

@Suite(.timeLimit(.minutes(20))) struct SystemTimeTests {
    @Test func `timers fire in the order of their deadlines`() {
        let time = SystemTime()
        let lane = DiskLane(name: "test-lane")
        // The deadlines are far enough apart for the timer thread to handle each on its own, and
        // near enough to keep the test fast.
        let step = Nanoseconds.milliseconds(10)
        var order: [Int] = [], isInTime = false
        // A delay counts from its call. When another thread takes the core between the calls, the
        // deadlines have another order, and the test begins again.
        while !isInTime {
            let fired = Locked<[Int]>([]), all = DispatchSemaphore(value: 0)
            let start = time.now
            for number in [3, 1, 2, 0] {
                _ = time.after(Int64(number) * step, on: lane) {
                    fired.withLock { $0.append(number) }
                    all.signal()
                }
            }
            isInTime = time.now - start < step
            for _ in 0..<4 { all.wait() }
            order = fired.withLock { $0 }
        }
        #expect(order == [0, 1, 2, 3])
        lane.shutdown()
    }

    @Test func `a timer does not fire before its time`() {
        let time = SystemTime()
        let lane = DiskLane(name: "test-lane")
        let start = time.now
        let fired = DispatchSemaphore(value: 0)
        _ = time.after(.milliseconds(5), on: lane) { fired.signal() }
        fired.wait()
        #expect(time.now - start >= .milliseconds(5))
        lane.shutdown()
    }

    @Test func `a cancelled timer releases its job and never fires`() {
        let time = SystemTime()
        let lane = DiskLane(name: "test-lane")
        let pool = BufferPool(bufferBytes: 4096, capacity: 1)
        let buffer = pool.take()
        let timer = time.after(.seconds(3600), on: lane) { [buffer] in
            Issue.record("a cancelled timer fired with \(buffer?.bytes.count ?? 0) bytes")
        }
        _ = consume buffer
        #expect(pool.statistics.inUse == 1)
        timer.cancel()
        timer.cancel()
        #expect(pool.statistics.inUse == 0)
        #expect(time.waitingTimers == 0)
        lane.shutdown()
    }

    @Test func `an earlier timer overtakes the pending one`() {
        let time = SystemTime()
        let lane = DiskLane(name: "test-lane")
        let fired = DispatchSemaphore(value: 0)
        let late = time.after(.seconds(3600), on: lane) { Issue.record("the late timer fired") }
        _ = time.after(0, on: lane) { fired.signal() }
        fired.wait()
        late.cancel()
        lane.shutdown()
    }

    @Test func `an infinite delay and a negative one are valid`() {
        let time = SystemTime()
        let lane = DiskLane(name: "test-lane")
        let fired = DispatchSemaphore(value: 0)
        let never = time.after(.max, on: lane) { Issue.record("the end of time has come") }
        _ = time.after(-5, on: lane) { fired.signal() }
        fired.wait()
        never.cancel()
        lane.shutdown()
    }

    @Test func `releasing the time source drops its timers`() {
        let lane = DiskLane(name: "test-lane")
        var time: SystemTime? = SystemTime()
        _ = time?.after(.seconds(3600), on: lane) { Issue.record("a dropped timer fired") }
        time = nil
        lane.shutdown()
    }
}

@Suite struct RandomTests {
    @Test func `a seed gives the published sequence of SplitMix64`() {
        // The sequence of SplitMix64 from seed 0.
        let random = SeededRandom(seed: 0)
        #expect([random.next(), random.next(), random.next()] == [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4, 0x06C4_5D18_8009_454F])
    }

    @Test func `the same seed gives the same numbers, and another seed gives others`() {
        let numbers = { (seed: UInt64) in
            let random = SeededRandom(seed: seed)
            return (0..<8).map { _ in random.next() }
        }
        #expect(numbers(5) == numbers(5))
        #expect(numbers(5) != numbers(6))
    }

    @Test func `the system's random numbers differ`() {
        let random = SystemRandom()
        #expect(Set((0..<64).map { _ in random.next() }).count == 64)
    }
}
