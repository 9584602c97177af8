import SpoolCore
import Testing

/// The access times of the parts of presentations.
@Suite struct PartOrderTests {
    private static func key(_ name: String) -> ResourceKey { ResourceKey(normalized: "https://media.example/\(name)") }
    private static let list = key("film.m3u8"), live = key("live.m3u8")
    private static func keys(_ numbers: Range<Int>) -> [ResourceKey] { numbers.map { key("\($0).ts") } }
    private static func parts(_ numbers: Range<Int>) -> PartKeys { PartKeys(keys(numbers)) }
    private let start = Timestamp(seconds: 1_700_000_000)

    private func later(_ seconds: Int64) -> Timestamp { Timestamp(nanoseconds: start.nanoseconds + .seconds(seconds)) }

    @Test func `the parts of a presentation go from the end of its timeline, whatever part was used last`() {
        var order = PartOrder()
        #expect(order.listed(Self.parts(0..<10), in: Self.list, isLive: false) == [])
        let times = Self.keys(0..<10).enumerated().map { order.accessTime(of: $1, at: later(Int64($0))) }
        #expect(times == times.sorted(by: >))
        #expect(Set(times).count == 10)
    }

    @Test func `a later use moves all parts of the presentation`() {
        var order = PartOrder()
        order.named(PartKeys([Self.list, Self.key("sound.m3u8")]), by: Self.key("main.m3u8"))
        _ = order.listed(Self.parts(0..<10), in: Self.list, isLive: false)
        _ = order.listed(Self.parts(20..<30), in: Self.key("sound.m3u8"), isLive: false)
        _ = order.accessTime(of: Self.key("0.ts"), at: start)
        #expect(order.takeOwed(100).isEmpty)
        let again = order.accessTime(of: Self.key("0.ts"), at: later(100))
        #expect(again == later(100))
        var owed: [ResourceKey: Timestamp] = [:]
        while case let some = order.takeOwed(7), !some.isEmpty {
            #expect(some.count <= 7)
            owed.merge(some) { $1 }
        }
        #expect(Set(owed.keys) == Set(Self.keys(0..<10) + Self.keys(20..<30)))
        #expect(owed.values.allSatisfy { $0 > later(99) && $0 <= later(100) })
        // The renditions go side by side.
        #expect(owed[Self.key("5.ts")] == owed[Self.key("25.ts")])
    }

    @Test func `a part that its live playlist no longer lists goes first, also when it is stored later`() {
        var order = PartOrder()
        #expect(order.listed(Self.parts(0..<3), in: Self.live, isLive: true) == [])
        #expect(order.accessTime(of: Self.key("0.ts"), at: start) == start)
        #expect(order.listed(Self.parts(1..<4), in: Self.live, isLive: true) == [Self.key("0.ts")])
        #expect(order.storedTime(of: Self.key("0.ts")) == PartOrder.unlistedTime)
        #expect(order.accessTime(of: Self.key("0.ts"), at: later(1)) == PartOrder.unlistedTime)
        #expect(order.storedTime(of: Self.key("1.ts")) == nil)
        #expect(order.listed(Self.parts(0..<4), in: Self.live, isLive: true) == [])
        #expect(order.accessTime(of: Self.key("0.ts"), at: later(2)) == later(2))
    }

    @Test func `a part that another playlist lists, too, stays`() {
        var order = PartOrder()
        _ = order.listed(Self.parts(0..<3), in: Self.live, isLive: true)
        _ = order.listed(Self.parts(0..<3), in: Self.key("long.m3u8"), isLive: true)
        #expect(order.listed(Self.parts(1..<4), in: Self.live, isLive: true) == [])
    }

    @Test func `a presentation is in use for a minute after its last part`() {
        var order = PartOrder()
        _ = order.listed(Self.parts(0..<3), in: Self.list, isLive: false)
        #expect(!order.isInUse(Self.key("1.ts"), now: start))
        _ = order.accessTime(of: Self.key("0.ts"), at: start)
        #expect(order.isInUse(Self.key("1.ts"), now: later(59)))
        #expect(!order.isInUse(Self.key("1.ts"), now: later(60)))
        #expect(!order.isInUse(Self.key("9.ts"), now: start))
    }

    @Test func `the oldest playlist is forgotten beyond the limit`() {
        var order = PartOrder()
        for number in 0...PartOrder.listLimit {
            _ = order.listed(PartKeys([Self.key("\(number)")]), in: Self.key("\(number).m3u8"), isLive: false)
            _ = order.accessTime(of: Self.key("\(number)"), at: start)
        }
        #expect(!order.isInUse(Self.key("0"), now: start))
        #expect(order.isInUse(Self.key("1"), now: start))
    }

    @Test func `a playlist that is read again keeps its place, and the times that its parts still get`() {
        var order = PartOrder()
        for number in 0..<PartOrder.listLimit { _ = order.listed(Self.parts(0..<1), in: Self.key("\(number).m3u8"), isLive: false) }
        _ = order.listed(Self.parts(0..<10), in: Self.list, isLive: false)
        for number in 1..<PartOrder.listLimit { _ = order.listed(PartKeys(), in: Self.key("\(number).m3u8"), isLive: false) }
        _ = order.accessTime(of: Self.key("9.ts"), at: start)
        _ = order.accessTime(of: Self.key("9.ts"), at: later(100))
        _ = order.listed(Self.parts(0..<20), in: Self.list, isLive: false)
        #expect(Set(order.takeOwed(100).keys) == Set(Self.keys(0..<20)))
    }

    @Test func `the parts of all playlists take a bounded memory, however long their keys are`() {
        var long = PartKeys()
        let name = String(repeating: "a", count: 60_000)
        while long.append("https://media.example/\(name)") {}
        #expect(long.heldBytes <= PartKeys.bytesLimit)
        var order = PartOrder()
        for number in 0..<5 {
            let key = Self.key("\(number)")
            var keys = PartKeys([key])
            while keys.append("https://media.example/\(number)\(name)") {}
            _ = order.listed(keys, in: Self.key("\(number).m3u8"), isLive: false)
            _ = order.accessTime(of: key, at: start)
        }
        #expect((0..<5).map { order.isInUse(Self.key("\($0)"), now: start) } == [false, true, true, true, true])
    }
}
