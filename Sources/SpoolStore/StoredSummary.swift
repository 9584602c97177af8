package import SpoolCore

/// The facts of a stored resource by which a listing is searched and sorted.
package struct StoredSummary: Hashable, Sendable {
    /// The identity of the resource.
    package var key: ResourceKey
    /// The URL with which the resource was requested.
    package var url: String
    /// The length in bytes, or nil while it is unknown.
    package var length: Int64?
    /// The bytes that the resource occupies. Whole blocks of the disk count.
    package var storedBytes: Int64
    /// The time of the last use.
    package var lastAccess: Timestamp

    /// Creates a summary.
    package init(key: ResourceKey, url: String, length: Int64?, storedBytes: Int64, lastAccess: Timestamp) {
        self.key = key
        self.url = url
        self.length = length
        self.storedBytes = storedBytes
        self.lastAccess = lastAccess
    }
}

extension SQLiteStore {
    /// Returns up to `limit` summaries after the one with `key`, in a stable order. Index call.
    ///
    /// The fields and pieces of the resources are not read, which takes a hundredth of the time of
    /// `resources(after:limit:)`.
    package func summaries(after key: ResourceKey?, limit: Int) throws(StoreError) -> [StoredSummary] {
        try read { (index) throws(StoreError) in try SummaryQuery(database: index.database).list(after: key, limit: limit) }
    }
}
