import SpoolSystem
import Testing

@Suite(.timeLimit(.minutes(20))) struct DiskLaneTests {
    @Test func `jobs run in the order of their posting, and shutdown waits for all of them`() {
        let lane = DiskLane(name: "test-lane")
        let seen = Locked<[Int]>([])
        for number in 0..<1000 { lane.post { seen.withLock { $0.append(number) } } }
        lane.shutdown()
        #expect(seen.withLock { $0 } == Array(0..<1000))
    }

    @Test func `a job never runs inside post`() {
        let lane = DiskLane(name: "test-lane")
        let seen = Locked<[String]>([])
        lane.post {
            lane.post { seen.withLock { $0.append("inner") } }
            seen.withLock { $0.append("outer") }
        }
        // The inner job may come too late for the shutdown, but never runs before the outer job has
        // ended.
        lane.shutdown()
        #expect(seen.withLock { $0.first } == "outer")
    }

    @Test func `posting after shutdown does nothing`() {
        let lane = DiskLane(name: "test-lane")
        lane.shutdown()
        lane.post { Issue.record("a lane that was shut down ran a job") }
        lane.shutdown()
    }

    @Test func `several threads may shut a lane down`() {
        let lane = DiskLane(name: "test-lane")
        let count = Locked(0)
        for _ in 0..<100 { lane.post { count.withLock { $0 += 1 } } }
        let others = (0..<3).map { number in
            SystemThread(name: "shutdown-\(number)") {
                lane.shutdown()
                #expect(count.withLock { $0 } == 100)
            }
        }
        for other in others { other.join() }
    }

    @Test func `a released lane still runs the posted jobs`() {
        let done = DiskLane(name: "test-done")
        let count = Locked(0)
        do {
            let lane = DiskLane(name: "test-lane")
            for _ in 0..<100 { lane.post { count.withLock { $0 += 1 } } }
            lane.post { done.post { count.withLock { $0 += 1 } } }
            lane.shutdown()
        }
        done.shutdown()
        #expect(count.withLock { $0 } == 101)
    }

    @Test func `a job is released before the next one runs`() {
        let pool = BufferPool(bufferBytes: 4096, capacity: 1)
        let lane = DiskLane(name: "test-lane")
        let inUse = Locked<[Int]>([])
        let gate = DiskLane(name: "test-gate")
        // Both jobs are posted while the lane is busy, so that they are in one batch.
        lane.post { gate.shutdown() }
        if let buffer = pool.take() { lane.post { inUse.withLock { $0.append(buffer.bytes.count) } } }
        lane.post { inUse.withLock { $0.append(pool.statistics.inUse) } }
        lane.shutdown()
        #expect(inUse.withLock { $0 } == [4096, 0])
    }

    @Test func `isCurrent is true only on the lane's own thread`() {
        let lane = DiskLane(name: "test-lane")
        lane.post { #expect(lane.isCurrent) }
        #expect(!lane.isCurrent)
        lane.shutdown()
    }

    @Test func `a lane that waits for itself ends the process`() async {
        await #expect(processExitsWith: .failure) {
            let lane = DiskLane(name: "test-lane")
            lane.post { lane.shutdown() }
            lane.shutdown()
        }
    }
}
