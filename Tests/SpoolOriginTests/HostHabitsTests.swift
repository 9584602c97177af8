import SpoolCore
import SpoolOrigin
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

    @Test func `the memory holds a bounded number of hosts, and forgets the oldest first`() {
        var habits = HostHabits()
        for number in 0...HostHabits.capacity {
            habits.granted("\(number)", .addedRange, now: Self.start + .seconds(Int64(number)))
        }
        #expect(habits.advice(for: "0", .addedRange, now: Self.start + .seconds(300)) == .repeatRefused)
        #expect(habits.advice(for: "1", .addedRange, now: Self.start + .seconds(300)) == .believe)
    }
}
