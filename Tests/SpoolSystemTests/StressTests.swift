import Dispatch
import SpoolCore
import SpoolSystem
import Testing

/// Runs threads at full load for the thread sanitizer; simulation does not detect data races.
@Suite(.timeLimit(.minutes(20))) struct StressTests {
    @Test func `buffers circulate between lanes without loss`() {
        let pool = BufferPool(bufferBytes: 4096, capacity: 4)
        let lanes = (0..<3).map { DiskLane(name: "stress-\($0)") }
        let writer = DiskLane(name: "stress-writer")
        let sums = Locked<[Int]>([])
        let done = DispatchSemaphore(value: 0)

        // Each chunk is filled on one lane, then summed and released on another.
        @Sendable func fill(_ number: Int) {
            guard let buffer = pool.take() else {
                pool.whenAvailable { lanes[number % 3].post { fill(number) } }
                return
            }
            buffer.bytes.initializeMemory(as: UInt8.self, repeating: UInt8(truncatingIfNeeded: number))
            writer.post {
                let sum = buffer.bytes.reduce(0) { $0 + Int($1) }
                let count = sums.withLock { (sums: inout [Int]) -> Int in
                    sums.append(sum)
                    return sums.count
                }
                if count == 600 { done.signal() }
            }
        }
        for number in 0..<600 { lanes[number % 3].post { fill(number) } }

        done.wait()
        for lane in lanes { lane.shutdown() }
        writer.shutdown()
        #expect(sums.withLock { $0.sorted() } == (0..<600).map { ($0 & 255) * 4096 }.sorted())
        #expect(pool.statistics.inUse == 0)
        #expect(pool.statistics.peak <= 4)
    }

    @Test func `timers are created and cancelled from several threads`() {
        let time = SystemTime()
        let lane = DiskLane(name: "stress-lane")
        // Each thread cancels 60 of its 300 timers, some of them perhaps too late.
        let certain = 3 * 240
        let fired = Locked(0)
        let done = DispatchSemaphore(value: 0)
        let threads = (0..<3).map { number in
            SystemThread(name: "stress-\(number)") {
                for round in 0..<300 {
                    let timer = time.after(Nanoseconds(round % 7) * 1000, on: lane) {
                        let count = fired.withLock { (fired: inout Int) -> Int in
                            fired += 1
                            return fired
                        }
                        if count == certain { done.signal() }
                    }
                    let never = time.after(.seconds(3600), on: lane) { Issue.record("a cancelled timer fired") }
                    never.cancel()
                    if round % 5 == 0 { timer.cancel() }
                }
            }
        }
        for thread in threads { thread.join() }
        done.wait()
        lane.shutdown()
        #expect(fired.withLock { $0 } >= certain)
    }
}
