import Spool
import SpoolCore
import SpoolSystem
import Testing

/// Which items of a list a window preloads.
@Suite struct WindowPlanTests {
    private typealias Plan = WindowPlan<String>
    private let list = ["a", "b", "c", "d", "e", "f"]

    @Test func `the item that plays comes first, then the next ones, then those before it`() {
        var plan = Plan(ahead: 2, behind: 1, jobs: 2)
        #expect(plan.moved(to: 2, in: list) == [.start("c"), .start("d")])
        #expect(plan.window == ["c", "d", "e", "b"])
        #expect(plan.finished("c") == [.start("e")])
        #expect(plan.finished("d") == [.start("b")])
        #expect(plan.finished("e") == [] && plan.finished("b") == [])
    }

    @Test func `what falls out is dropped, and what is more urgent takes its turn`() {
        var plan = Plan(ahead: 2, behind: 0, jobs: 1)
        #expect(plan.moved(to: 0, in: list) == [.start("a")])
        #expect(plan.finished("a") == [.start("b")])
        // Back from the next item to the one before: it is new in the window, and more urgent.
        #expect(plan.moved(to: 1, in: list) == [.drop("a")])
        #expect(plan.moved(to: 0, in: list) == [.drop("d"), .stop("b"), .start("a")])
        #expect(plan.moved(to: 5, in: list).filter { $0 == .start("f") }.count == 1)
        #expect(plan.moved(to: 9, in: list) == [.drop("f")])
    }

    @Test func `an item that is twice in the list, or moves in it, is preloaded once`() {
        var plan = Plan(ahead: 3, behind: 3, jobs: 9)
        #expect(plan.moved(to: 1, in: ["a", "b", "a"]) == [.start("b"), .start("a")])
        #expect(plan.moved(to: 0, in: ["b", "a"]) == [])
        #expect(plan.finished("z") == [])
        var all = Plan(ahead: .max, behind: .max, jobs: 1)
        #expect(all.moved(to: 3, in: list) == [.start("d")])
        #expect(all.window.count == 6)
    }

    @Test(arguments: 1...100)
    func `after any moves exactly the most urgent items run`(seed: UInt64) {
        let numbers = SeededRandom(seed: seed)
        func number(_ count: UInt64) -> Int { Int(numbers.next() % count) }
        var plan = Plan(ahead: number(4), behind: number(3), jobs: 1 + number(3))
        var running = Set<String>()
        var over = Set<String>()
        for _ in 0..<60 {
            let isMove = running.isEmpty || number(2) == 0
            let ended = running.sorted().first ?? ""
            if !isMove { over.insert(ended) }
            let actions = isMove ? plan.moved(to: number(8), in: list) : plan.finished(ended)
            if !isMove { running.remove(ended) }
            for action in actions {
                switch action {
                case .start(let item): #expect(running.insert(item).inserted)
                case .stop(let item): #expect(running.remove(item) != nil)
                case .drop(let item):
                    running.remove(item)
                    over.remove(item)
                }
            }
            let open = plan.window.filter { !over.contains($0) }
            #expect(running.isSubset(of: open))
            #expect(running == Set(open.prefix(running.count)))
        }
    }
}
