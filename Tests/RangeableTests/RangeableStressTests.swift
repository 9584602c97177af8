import Dispatch
import Rangeable
import Testing

/// Runs threads that read one value while others change copies of it, for the thread sanitizer: no
/// getter may change shared state.
@Suite(.timeLimit(.minutes(20))) struct RangeableStressTests {
    private static let threads = 4
    private static let rounds = 200

    @Test func `several threads read one container while copies change`() throws {
        var styles = Rangeable<Int>()
        for number in 0..<2000 { try styles.insert(number % 8, start: number * 10, end: number * 10 + 25) }
        let shared = styles, expected = shared.transitions(over: 0...20_000)

        DispatchQueue.concurrentPerform(iterations: Self.threads) { thread in
            var copy = shared
            for round in 0..<Self.rounds {
                let place = (thread * 997 + round * 31) % 19_900
                if thread == 0 {
                    copy.removeRanges(over: place...place + 40)
                    copy.formUnion(shared)
                } else {
                    #expect(!shared[place].isEmpty)
                    #expect(!shared.transitions(over: place...place + 40).isEmpty)
                    #expect(shared.intervals(of: thread).firstGap(in: place...place + 99) != nil)
                }
            }
            #expect(copy == shared)
        }
        #expect(shared.transitions(over: 0...20_000) == expected)
    }

    @Test func `several threads read one set while copies change`() {
        let shared = IntervalSet((0..<5000).map { $0 * 4...$0 * 4 + 1 })

        DispatchQueue.concurrentPerform(iterations: Self.threads) { thread in
            var copy = shared
            for round in 0..<Self.rounds {
                let slot = (thread * 997 + round * 31) % 5000
                copy.insert(slot * 4 + 2...slot * 4 + 3)
                copy.remove(0...slot)
                #expect(shared.contains(slot * 4...slot * 4 + 1))
                #expect(shared.firstGap(in: slot * 4...slot * 4 + 9) == slot * 4 + 2...slot * 4 + 3)
            }
        }
        #expect(shared.intervalCount == 5000)
    }
}
