package import Spool
import SpoolCore

extension TierSetting {
    /// Another Spool that is asked before the origin.
    package static func parent(_ parent: ParentProxy) -> TierSetting {
        TierSetting { base, parts in
            let transport = ParentTransport(base, parent: parent, time: parts.time, on: parts.control) { [log = parts.log] message in
                log?.log(.warning, message)
            }
            return (transport, nil)
        }
    }

    /// A bucket that holds finished resources and is asked before the origin.
    package static func bucket(_ address: BucketAddress) -> TierSetting {
        TierSetting(holdsClearBytes: true) { base, parts in
            let bucket = Bucket(
                address, wire: parts.wire, keyPolicy: parts.keyPolicy, time: parts.time, on: parts.control, isShared: parts.isShared)
            return (BucketTransport(base, bucket: bucket), BucketUploader(bucket: bucket))
        }
    }
}
