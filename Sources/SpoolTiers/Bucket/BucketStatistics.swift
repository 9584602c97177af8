package import Spool

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

    /// The counts with their names for programs.
    package var report: TierReport {
        func count(_ name: String, _ value: Int64, _ metric: String, _ help: String) -> TierReport.Count {
            TierReport.Count(name, value, metric: ("spool_bucket_\(metric)_total", help))
        }
        return TierReport(
            name: "bucket",
            counts: [
                count("requests", requests, "requests", "Requests that asked the bucket."),
                count("hits", hits, "hits", "Requests that the bucket answered."),
                TierReport.Count("misses", misses),
                count("failures", failures, "failures", "Requests that the bucket failed or was too slow for."),
                count("damages", damages, "damages", "Objects and chunks that differ from their checks."),
                count("servedBytes", servedBytes, "read_bytes", "Verified bytes from the bucket."),
                count("uploads", uploads, "uploads", "Resources that were uploaded."),
                count("uploadedBytes", uploadedBytes, "uploaded_bytes", "Bytes of uploaded resources."),
                count("uploadFailures", uploadFailures, "upload_failures", "Attempts to upload that failed."),
                count("uploadsDropped", uploadsDropped, "uploads_dropped", "Resources that were given up."),
            ])
    }
}
