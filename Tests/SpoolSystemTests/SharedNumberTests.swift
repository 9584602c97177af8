import SpoolSystem
import Testing

struct SharedNumberTests {
    @Test func `a thread that sees the number sees all that was written before it`() {
        let number = SharedNumber(0), payload = Payload()
        let writer = SystemThread(name: "writer") {
            for round in 1...Self.rounds {
                payload.values[Int(round)] = round
                number.value = round
            }
        }
        var seen: Int64 = 0
        while seen < Self.rounds {
            seen = number.value
            if seen > 0, payload.values[Int(seen)] != seen {
                Issue.record("\(seen) came before what was written before it")
                break
            }
        }
        writer.join()
        #expect(number.value == Self.rounds)
    }

    @Test func `each number is replaced by one thread`() {
        let number = SharedNumber(0), replaced = Locked<[Int64]>([])
        let threads = (0..<4).map { (thread: Int64) in
            SystemThread(name: "exchanger") {
                let numbers = (1...Self.rounds).map { number.exchange(with: thread * Self.rounds + $0) }
                replaced.withLock { $0 += numbers }
            }
        }
        for thread in threads { thread.join() }
        let all = replaced.withLock { $0 } + [number.value]
        #expect(all.sorted() == Array(0...4 * Self.rounds))
    }

    private static let rounds: Int64 = 10_000

    private final class Payload: @unchecked Sendable {
        // Safe to share: an element is read only after the number that follows it.
        let values = UnsafeMutableBufferPointer<Int64>.allocate(capacity: 10_001)

        init() { values.initialize(repeating: 0) }
        deinit { values.deallocate() }
    }
}
