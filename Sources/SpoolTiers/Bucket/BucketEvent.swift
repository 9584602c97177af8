package import SpoolCore

/// An event of the bucket.
package enum BucketEvent: TierEvent {
    /// The bucket failed, for this reason. Origins are asked instead, and the bucket again after a
    /// pause.
    case rests(String)
    /// The bucket serves again.
    case serves
    /// The bytes of a resource in the bucket differ from their checks. No byte of them is served.
    case damage(ResourceKey)
    /// A finished resource of this many bytes was stored in the bucket.
    case uploaded(ResourceKey, bytes: Int64)
    /// A finished resource could not be stored in the bucket, for this reason.
    case uploadFailed(ResourceKey, reason: String)

    package var name: String {
        switch self {
        case .rests: "bucketRests"
        case .serves: "bucketServes"
        case .damage: "bucketDamage"
        case .uploaded: "uploaded"
        case .uploadFailed: "uploadFailed"
        }
    }

    package var level: LogLevel {
        switch self {
        case .rests, .damage: .warning
        case .serves, .uploadFailed: .notice
        case .uploaded: .info
        }
    }

    package var sentence: String {
        switch self {
        case .rests(let reason): "the bucket does not serve: \(reason); origins are asked instead, and the bucket again after a pause"
        case .serves: "the bucket serves again"
        case .damage(let key): "the bucket's bytes of \(key.forLog) differ from their checks: the origin is asked instead"
        case .uploaded(let key, let bytes): "uploaded \(key.forLog), \(bytes) bytes"
        case .uploadFailed(let key, let reason): "upload of \(key.forLog) failed: \(reason)"
        }
    }

    package var key: ResourceKey? {
        switch self {
        case .rests, .serves: nil
        case .damage(let key), .uploaded(let key, _), .uploadFailed(let key, _): key
        }
    }
}
