package import Spool
import SpoolCore

/// The counts of a cache on one day, over all its openings.
package struct DayStatistics: Hashable, Sendable {
    /// The date in UTC, as ISO 8601 writes it: `2026-01-31`.
    package var day: String
    /// The counts of this day.
    package var counts: Statistics

    /// Creates the counts of a day.
    package init(day: String, counts: Statistics) {
        self.day = day
        self.counts = counts
    }
}

extension Statistics {
    /// The bytes that readers got and origins did not send again: what the cache saved.
    ///
    /// It is negative when more was fetched than was read, for example by downloads that nothing has
    /// played yet.
    package var savedBytes: Int64 { bytesFromStore + bytesFromOrigin - max(fetchedBytes, sentByOriginsBytes ?? 0) }

    /// The growth since earlier counts of the same cache.
    func growth(since earlier: Statistics) -> Statistics {
        var growth = Statistics()
        for count in Self.counts { growth[keyPath: count.place] = self[keyPath: count.place] - earlier[keyPath: count.place] }
        growth.sentByOriginsBytes = sentByOriginsBytes.map { $0 - (earlier.sentByOriginsBytes ?? 0) }
        return growth
    }

    /// Adds the growth of another time.
    package mutating func add(_ growth: Statistics) {
        for count in Self.counts {
            self[keyPath: count.place] = self[keyPath: count.place].addingSaturated(growth[keyPath: count.place])
        }
        if let sent = growth.sentByOriginsBytes { sentByOriginsBytes = (sentByOriginsBytes ?? 0).addingSaturated(sent) }
    }

    /// The counts with their names in the history of a store.
    static var counts: [(name: String, place: WritableKeyPath<Statistics, Int64>)] {
        [
            ("fetchedBytes", \.fetchedBytes), ("originRequests", \.originRequests), ("bytesFromStore", \.bytesFromStore),
            ("bytesFromOrigin", \.bytesFromOrigin), ("readers", \.readers), ("lostBytes", \.lostBytes),
        ]
    }
}
