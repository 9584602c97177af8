/// The counts of a bucket since the cache was opened. All counts only grow.
package struct BucketStatistics: Hashable, Sendable {
    /// Requests that asked the bucket.
    package var requests: Int64 = 0
    /// Requests that the bucket answered.
    package var hits: Int64 = 0
    /// Requests whose object the bucket does not have.
    package var misses: Int64 = 0
    /// Requests that the bucket failed, or was too slow for.
    package var failures: Int64 = 0
    /// Objects and chunks that differ from their checks. No byte of them was served.
    package var damages: Int64 = 0
    /// Verified bytes that readers' requests got from the bucket.
    package var servedBytes: Int64 = 0
    /// Resources that were uploaded.
    package var uploads: Int64 = 0
    /// The bytes of these resources.
    package var uploadedBytes: Int64 = 0
    /// Attempts to upload that failed.
    package var uploadFailures: Int64 = 0
    /// Resources that were not uploaded, because too many waited or too many attempts failed.
    package var uploadsDropped: Int64 = 0

    /// Creates counts of zero.
    package init() {}

    /// The counts with their names in JSON, in the order in which they are shown.
    package var named: [(name: String, value: Int64)] {
        [
            ("requests", requests), ("hits", hits), ("misses", misses), ("failures", failures), ("damages", damages),
            ("servedBytes", servedBytes), ("uploads", uploads), ("uploadedBytes", uploadedBytes), ("uploadFailures", uploadFailures),
            ("uploadsDropped", uploadsDropped),
        ]
    }
}
