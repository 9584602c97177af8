import SpoolCore
import Testing

@Suite struct RequestUrgencyTests {
    @Test(
        arguments: [
            (nil, .playing), ("", .playing), ("u=7", .prefetch), ("u=7, i", .prefetch), ("i,\tu=7;x=1", .prefetch), ("u=5, i", .playing),
            ("u=0", .playing), ("u=7, u=1", .playing), ("u=77", .playing), ("x;u=7", .playing), ("u", .playing), ("u=", .playing),
        ] as [(String?, ReadPriority)])
    func `only work in the background yields to players`(field: String?, priority: ReadPriority) {
        #expect(RequestUrgency.priority(field) == priority)
    }
}
