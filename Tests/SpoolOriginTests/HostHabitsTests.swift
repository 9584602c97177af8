import SpoolCore
import SpoolOrigin
import SpoolTestSupport
import SpoolTesting
import Testing

/// How long the experience with a host counts.
struct HostHabitsTests {
    private static let start = MonotonicInstant(nanoseconds: 0)
    private static let hour = start + .seconds(3_600)

    @Test func `a host that serves the client's form only is asked in that form for an hour`() {
        var habits = HostHabits()
        habits.repeated("a", .addedRange, isServed: true, now: Self.start)
        #expect(habits.advice(for: "a", .addedRange, now: Self.start + .seconds(3_599)) == .asClient)
        #expect(habits.advice(for: "a", .addedRange, now: Self.hour) == .repeatRefused)
        #expect(habits.advice(for: "a", .otherRange, now: Self.start) == .repeatRefused)
        #expect(habits.advice(for: "b", .addedRange, now: Self.start) == .repeatRefused)
    }

    @Test func `a host that granted a change is believed for an hour`() {
        var habits = HostHabits()
        habits.granted("a", .condition, now: Self.start)
        #expect(habits.advice(for: "a", .condition, now: Self.start + .seconds(3_599)) == .believe)
        #expect(habits.advice(for: "a", .condition, now: Self.hour) == .repeatRefused)
    }

    @Test func `a host that refuses both forms three times in a row is believed for ten minutes`() {
        var habits = HostHabits()
        for _ in 0..<2 { habits.repeated("a", .otherRange, isServed: false, now: Self.start) }
        #expect(habits.advice(for: "a", .otherRange, now: Self.start) == .repeatRefused)
        habits.repeated("a", .otherRange, isServed: false, now: Self.start)
        #expect(habits.advice(for: "a", .otherRange, now: Self.start + .seconds(599)) == .believe)
        #expect(habits.advice(for: "a", .otherRange, now: Self.start + .seconds(600)) == .repeatRefused)
    }

    // Without a cache, the client's own request would have been served.
    @Test(arguments: [401, 429, 503])
    func `a client that asks again after a refusal is sent as it asked, once`(status: Int) {
        let base = HandTransport(), transport = AsAskedTransport(base, time: ManualTime())
        func ranges(of statuses: [Int]) -> [String?] {
            let first = base.count
            for status in statuses {
                var request = OriginRequest(url: "https://media.example/a", fields: ["Range": "bytes=0-"])
                request.clientRange = .part(lower: 0, upper: 1024)
                let transfer = transport.start(request, receiver: WordReceiver())
                base.answer(base.count - 1, status, status == 206 ? ["Content-Range": "bytes 0-1023/4096"] : [:])
                base.end(base.count - 1, .complete)
                transfer.cancel()
            }
            return (first..<base.count).map { base.request($0).fields[.range] }
        }
        #expect(ranges(of: [status, 206, status, status]) == ["bytes=0-", "bytes=0-1023", "bytes=0-", "bytes=0-1023"])
        // A host that grants the other form is believed.
        #expect(ranges(of: [206, status, 206]) == ["bytes=0-", "bytes=0-", "bytes=0-"])
    }

    @Test func `the memory holds a bounded number of hosts, and forgets the oldest first`() {
        var habits = HostHabits()
        for number in 0...HostHabits.capacity {
            habits.granted("\(number)", .addedRange, now: Self.start + .seconds(Int64(number)))
        }
        #expect(habits.advice(for: "0", .addedRange, now: Self.start + .seconds(300)) == .repeatRefused)
        #expect(habits.advice(for: "1", .addedRange, now: Self.start + .seconds(300)) == .believe)
    }
}
