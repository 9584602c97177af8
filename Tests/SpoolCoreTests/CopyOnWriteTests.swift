import SpoolCore
import Testing

struct CopyOnWriteTests {
    private struct Parts: Hashable, Sendable {
        var name: String
        var numbers: [Int] = []
        var sum: Int { numbers.reduce(0, +) }
    }

    @Test func `a copy keeps its value when the original changes`() {
        var a = CopyOnWrite(Parts(name: "a", numbers: [1]))
        let b = a
        a.numbers.append(2)
        a.name = "changed"
        #expect(b.value == Parts(name: "a", numbers: [1]))
        #expect(a.value == Parts(name: "changed", numbers: [1, 2]))
    }

    @Test func `stored and computed members are read and changed directly`() {
        var value: CopyOnWrite<Parts>? = CopyOnWrite(Parts(name: "a"))
        value?.numbers = [1, 2, 3]
        #expect(value?.sum == 6)
        #expect(value?.name == "a")
    }

    @Test func `boxes with equal values are equal and hash alike`() {
        let a = CopyOnWrite(Parts(name: "a")), b = CopyOnWrite(Parts(name: "a")), c = CopyOnWrite(Parts(name: "c"))
        #expect(a == b)
        #expect(a != c)
        #expect(Set([a, b, c]).count == 2)
    }
}
