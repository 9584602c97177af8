import SpoolCore
import SpoolJSON

/// The state of a server at one moment, as `/_spool/api/status` returns it.
package struct TopSample: Equatable, Sendable {
    /// The time of the sample in nanoseconds of a monotonic clock.
    package var time: Int64
    var bytesFromStore: Int64 = 0
    var bytesFromOrigin: Int64 = 0
    var fetchedBytes: Int64 = 0
    /// The bytes that origins sent, taken or not; nil where the transport cannot count them.
    var sentByOriginsBytes: Int64?
    var originRequests: Int64 = 0
    var readers: Int64 = 0
    var fetches: Int64 = 0
    var resources: Int64 = 0
    var storedBytes: Int64 = 0
    var quotaBytes: Int64?
    var freeBytes: Int64?
    var isWritable = true
    var active: [Resource] = []
    var activeCount: Int64 = 0

    struct Resource: Equatable, Sendable {
        var key: String
        var length: Int64?
        var storedBytes: Int64
        var stored: ByteRangeSet
        var readers: Int64
        var fetches: Int64
        var notStoredBecause: String?
    }

    /// Reads an answer. Members that are missing count as zero, so that a newer server can be
    /// looked at.
    package init?(_ text: String, time: Int64) {
        guard let json = JSON(text: text), let statistics = json["statistics"], let store = json["store"] else { return nil }
        self.time = time
        bytesFromStore = statistics["bytesFromStore"]?.integer ?? 0
        bytesFromOrigin = statistics["bytesFromOrigin"]?.integer ?? 0
        fetchedBytes = statistics["fetchedBytes"]?.integer ?? 0
        sentByOriginsBytes = statistics["sentByOriginsBytes"]?.integer
        originRequests = statistics["originRequests"]?.integer ?? 0
        readers = json["readers"]?.integer ?? 0
        fetches = json["fetches"]?.integer ?? 0
        resources = store["resources"]?.integer ?? 0
        storedBytes = store["bytes"]?.integer ?? 0
        quotaBytes = store["quotaBytes"]?.integer
        freeBytes = store["freeBytes"]?.integer
        isWritable = store["writable"]?.isTrue ?? true
        active = json["active"]?.elements.compactMap(Resource.init) ?? []
        activeCount = json["activeResources"]?.integer ?? Int64(active.count)
    }
}

extension TopSample.Resource {
    fileprivate init?(_ json: JSON) {
        guard let key = json["key"]?.string else { return nil }
        self.key = key
        length = json["length"]?.integer
        storedBytes = json["storedBytes"]?.integer ?? 0
        let ranges = json["stored"]?.elements.compactMap { pair -> ByteRange? in
            guard pair.elements.count == 2, let lower = pair.elements[0].integer, let upper = pair.elements[1].integer, lower >= 0
            else { return nil }
            return ByteRange(lower, upper)
        }
        stored = ByteRangeSet(ranges ?? [])
        readers = json["readers"]?.integer ?? 0
        fetches = json["fetches"]?.integer ?? 0
        notStoredBecause = json["notStored"]?.string
    }
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
