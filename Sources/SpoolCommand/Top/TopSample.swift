import SpoolCore
import SpoolDashboard
import SpoolJSON

/// The state of a server at one moment, as `/_spool/api/status` returns it. Numbers that are missing
/// count as zero, so that a newer server can be looked at.
package struct TopSample: Sendable {
    /// The time of the sample in nanoseconds of a monotonic clock.
    package let time: Int64
    private let json: JSON
    private let statistics: JSON
    private let store: JSON
    let active: [Resource]

    /// Reads an answer, or returns nil for one of another form.
    package init?(_ text: String, time: Int64) {
        guard let json = JSON(text: text), let statistics = json["statistics"], let store = json["store"] else { return nil }
        (self.time, self.json, self.statistics, self.store) = (time, json, statistics, store)
        active = json["active"]?.elements.compactMap(Resource.init) ?? []
    }

    var bytesFromStore: Int64 { statistics.count("bytesFromStore") }
    var bytesFromOrigin: Int64 { statistics.count("bytesFromOrigin") }
    var fetchedBytes: Int64 { statistics.count("fetchedBytes") }
    /// The bytes that origins sent, taken or not; nil where the transport cannot count them.
    var sentByOriginsBytes: Int64? { statistics["sentByOriginsBytes"]?.integer }
    var originRequests: Int64 { statistics.count("originRequests") }
    var readers: Int64 { json.count("readers") }
    var fetches: Int64 { json.count("fetches") }
    var resources: Int64 { store.count("resources") }
    var storedBytes: Int64 { store.count("bytes") }
    var quotaBytes: Int64? { store["quotaBytes"]?.integer }
    var freeBytes: Int64? { store["freeBytes"]?.integer }
    var isWritable: Bool { store["writable"]?.isTrue ?? true }
    var activeCount: Int64 { json["activeResources"]?.integer ?? Int64(active.count) }

    struct Resource: Sendable {
        private let json: JSON
        let key: String
        let stored: ByteRangeSet
        var length: Int64? { json["length"]?.integer }
        var storedBytes: Int64 { json.count("storedBytes") }
        var readers: Int64 { json.count("readers") }
        var fetches: Int64 { json.count("fetches") }
        var notStoredBecause: String? { json["notStored"]?.string }

        fileprivate init?(_ json: JSON) {
            guard let key = json["key"]?.string else { return nil }
            (self.json, self.key, stored) = (json, key, ByteRangeSet(json["stored"]))
        }
    }
}

extension JSON {
    fileprivate func count(_ name: String) -> Int64 { self[name]?.integer ?? 0 }
}

/// Bytes a second between two samples.
package struct TopRates: Equatable, Sendable {
    var fromStore: Int64 = 0
    var fromOrigin: Int64 = 0
    var fetched: Int64 = 0
    /// Nil if one of the samples does not count it.
    var sentByOrigins: Int64?
    /// The rate at which the stored bytes of a resource grew, by its key.
    var byResource: [String: Int64] = [:]

    var served: Int64 { fromStore.addingSaturated(fromOrigin) }

    /// The rates before there are two samples.
    package init() {}

    package init(from old: TopSample?, to new: TopSample) {
        guard let old, new.time > old.time else { return }
        func rate(_ before: Int64, _ after: Int64) -> Int64 {
            // A server that was started again counts from zero.
            let growth = max(0, Double(after) - Double(before))
            return Int64(saturating: growth * 1e9 / Double(new.time.subtractingSaturated(old.time)))
        }
        fromStore = rate(old.bytesFromStore, new.bytesFromStore)
        fromOrigin = rate(old.bytesFromOrigin, new.bytesFromOrigin)
        fetched = rate(old.fetchedBytes, new.fetchedBytes)
        if let before = old.sentByOriginsBytes, let after = new.sentByOriginsBytes { sentByOrigins = rate(before, after) }
        let before = Dictionary(old.active.map { ($0.key, $0.storedBytes) }, uniquingKeysWith: { first, _ in first })
        for resource in new.active { byResource[resource.key] = before[resource.key].map { rate($0, resource.storedBytes) } ?? 0 }
    }
}
