import Spool
import SpoolCore
import SpoolTiers
import Testing

/// The names that programs, alerts and logs compare. They are those of 3f0c9b1.
@Suite struct TierNameTests {
    @Test func `the counts of a bucket have the names of 3f0c9b1 in JSON and as metrics`() {
        let report = BucketStatistics().report
        #expect(report.name == "bucket")
        #expect(
            report.counts.map(\.name) == [
                "requests", "hits", "misses", "failures", "damages", "servedBytes", "uploads", "uploadedBytes", "uploadFailures",
                "uploadsDropped",
            ])
        #expect(
            report.counts.compactMap(\.metric?.name) == [
                "spool_bucket_requests_total", "spool_bucket_hits_total", "spool_bucket_failures_total", "spool_bucket_damages_total",
                "spool_bucket_read_bytes_total", "spool_bucket_uploads_total", "spool_bucket_uploaded_bytes_total",
                "spool_bucket_upload_failures_total", "spool_bucket_uploads_dropped_total",
            ])
    }

    @Test func `the values of the counts are those of the bucket, in their order`() {
        var counts = BucketStatistics()
        counts.requests = 1
        counts.misses = 3
        counts.uploadsDropped = 10
        #expect(counts.report.counts.map(\.value) == [1, 0, 3, 0, 0, 0, 0, 0, 0, 10])
    }

    @Test func `the events of a bucket have the names of 3f0c9b1, and log lines without queries`() {
        let key = ResourceKey(normalized: "http://origin.test/a.mp4?secret")
        let events: [BucketEvent] = [.rests("gone"), .serves, .damage(key), .uploaded(key, bytes: 9), .uploadFailed(key, reason: "gone")]
        #expect(events.map(\.name) == ["bucketRests", "bucketServes", "bucketDamage", "uploaded", "uploadFailed"])
        #expect(events.allSatisfy { !$0.sentence.contains("secret") })
        #expect(events.map(\.key) == [nil, nil, key, key, key])
    }
}
