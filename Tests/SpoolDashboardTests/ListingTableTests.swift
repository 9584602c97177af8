import Spool
import SpoolCore
import SpoolDashboard
import SpoolStore
import Testing

/// Tests which resources a window of the list has, and in which order.
@Suite struct ListingTableTests {
    private static func entry(_ url: String, _ length: Int64?, _ stored: Int64, used: Int64) -> ListingTable.Entry {
        ListingTable.Entry(
            StoredSummary(
                key: ResourceKey(normalized: url), url: url, length: length, storedBytes: stored,
                lastAccess: Timestamp(nanoseconds: used)))
    }

    private var table = ListingTable(
        [
            entry("https://b.example/Zebra.mp4?token=7", 100, 100, used: 3),
            entry("https://a.example/film/apple%20pie.mp4", 1000, 10, used: 1),
            entry("https://c.example/live", nil, 500, used: 4),
            entry("https://a.example/music/%C3%89tude.mp3", 50, 64, used: 2),
            entry("https://a.example/empty.mp3", 0, 0, used: 5),
        ], isTruncated: false)

    private mutating func names(_ query: ListingQuery) -> [String] {
        table.window(query).keys.map { $0.string.split(separator: "/").last.map { String($0.prefix { $0 != "?" }) } ?? "" }
    }

    @Test mutating func `resources are in the order of the chosen value, in both directions`() {
        let orders: [ListingQuery.Order: [String]] = [
            .key: ["empty.mp3", "apple%20pie.mp4", "%C3%89tude.mp3", "Zebra.mp4", "live"],
            .name: ["apple%20pie.mp4", "empty.mp3", "live", "Zebra.mp4", "%C3%89tude.mp3"],
            .size: ["empty.mp3", "%C3%89tude.mp3", "Zebra.mp4", "live", "apple%20pie.mp4"],
            // Whole blocks occupy more than the length, and are not more than all of it.
            .share: ["live", "apple%20pie.mp4", "empty.mp3", "%C3%89tude.mp3", "Zebra.mp4"],
            .used: ["apple%20pie.mp4", "%C3%89tude.mp3", "Zebra.mp4", "live", "empty.mp3"],
        ]
        #expect(Set(orders.keys) == Set(ListingQuery.Order.allCases))
        for (order, wanted) in orders {
            #expect(names(ListingQuery(order: order, limit: 9)) == wanted, "\(order)")
            #expect(names(ListingQuery(order: order, isDescending: true, limit: 9)) == wanted.reversed(), "\(order), descending")
        }
    }

    @Test mutating func `a search needs all of its words, in any order and case, decoded`() {
        #expect(names(ListingQuery(search: "PIE apple", limit: 9)) == ["apple%20pie.mp4"])
        #expect(names(ListingQuery(search: "étude", limit: 9)) == ["%C3%89tude.mp3"])
        #expect(names(ListingQuery(search: "a.example mp3", limit: 9)) == ["empty.mp3", "%C3%89tude.mp3"])
        #expect(names(ListingQuery(search: "nothing", limit: 9)) == [])
        #expect(names(ListingQuery(search: "  ", limit: 9)).count == 5)
    }

    @Test mutating func `a window has its part of the order, and the count of all matches`() {
        for offset in 0..<7 {
            let window = table.window(ListingQuery(order: .used, offset: offset, limit: 2))
            #expect(window.matching == 5 && window.keys.count == min(2, max(0, 5 - offset)), "\(offset)")
        }
        let without = ListingQuery(limit: 9, without: [ResourceKey(normalized: "https://c.example/live")])
        #expect(table.window(without).matching == 4)
        #expect(table.window(ListingQuery(offset: -3, limit: -1)).keys == [])
    }
}
