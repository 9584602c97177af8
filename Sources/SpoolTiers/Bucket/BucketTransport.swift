package import SpoolOrigin
import SpoolCore

/// A transport that lets a bucket answer before the origin, around one that asks origins.
///
/// The origin confirms each version before a byte of the bucket is used for it, unless the origin
/// is away and the version may be used stale. Each chunk is verified. A bucket that fails, or does
/// not bring its bytes within `BucketAddress.patience`, costs a delay and no answer, and rests.
package final class BucketTransport: TransportLayer {
    /// The transport that sends the requests.
    package let base: any Transport
    private let bucket: Bucket

    /// Creates a transport around another one.
    package init(_ base: any Transport, bucket: Bucket) {
        self.base = base
        self.bucket = bucket
    }

    /// Starts a request at the bucket, or at the origin when the bucket can't answer it.
    package func start(_ request: OriginRequest, receiver: any TransferReceiver) -> any Transfer {
        guard BucketRules.permit(request), let url = request.location else { return base.start(request, receiver: receiver) }
        let key = bucket.keyPolicy.key(for: url)
        let found = BucketRules.isRevalidation(request.fields) ? .skip : bucket.lookup(key)
        let (policy, first) = BucketPolicy.begin(request, key, found, at: bucket, base)
        let transfer = AttemptedTransfer(policy, receiver: receiver)
        transfer.begin(first)
        return transfer
    }
}
