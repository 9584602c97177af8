import Spool
import SpoolCore
import SpoolSystem

/// Uploads finished resources to a bucket, one at a time and in the background.
///
/// Events of the cache name the resources, `UploadQueue` decides, and `BucketUpload` does one.
final class BucketUploader: TierService {
    private struct State {
        var queue = UploadQueue()
        /// The time for which a timer is set.
        var timer: (timer: Timer, at: MonotonicInstant)?
        var upload: BucketUpload?
        var isClosed = false
        var host: (any TierHost)?
    }

    private let bucket: Bucket
    private let state = Locked(State())

    init(bucket: Bucket) { self.bucket = bucket }

    var report: TierReport { bucket.statistics.report }

    func connect(_ host: any TierHost) {
        state.withLock { $0.host = host }
        bucket.connect(record: host.record) { [weak self] in self?.note($0) }
    }

    /// Ends the upload that runs, and starts no other.
    func close() {
        let (upload, timer) = state.withLock { state in
            (state.isClosed, state.host) = (true, nil)
            return (state.upload, state.timer)
        }
        timer?.timer.cancel()
        upload?.cancel()
    }

    /// Takes the events that may complete a resource.
    func record(_ event: CacheEvent) {
        guard case .bytesCommitted(let key, _) = event, bucket.note({ $0.mayWantUpload(key) }) else { return }
        note(key)
    }

    private func note(_ key: ResourceKey) {
        let reception = state.withLock { $0.isClosed ? .known : $0.queue.noted(key, now: bucket.time.now) }
        switch reception {
        case .queued: proceed()
        case .known: break
        case .dropped: bucket.count { $0.uploadsDropped += 1 }
        }
    }

    /// Starts the next upload, or the timer for it.
    private func proceed() {
        let now = bucket.time.now
        let (next, host, old) = state.withLock { state -> (UploadQueue.Next, (any TierHost)?, Timer?) in
            guard !state.isClosed else { return (.idle, nil, nil) }
            let next = state.queue.next(now: now)
            if case .wait(let until) = next, let timer = state.timer, timer.at <= until { return (.idle, nil, nil) }
            defer { state.timer = nil }
            return (next, state.host, state.timer?.timer)
        }
        old?.cancel()
        switch next {
        case .idle: break
        case .wait(let until):
            let timer = bucket.time.after(max(0, until - now), on: bucket.mailbox) { [weak self] in self?.timerFired() }
            state.withLock { if $0.timer == nil { $0.timer = (timer, until) } }
        case .start(let key):
            guard let host else { return }
            let upload = BucketUpload(key: key, bucket: bucket, host: host) { [weak self] in self?.ended($0) }
            let isClosed = state.withLock { state in
                state.upload = upload
                return state.isClosed
            }
            if isClosed { upload.cancel() }
            upload.start()
        }
    }

    private func timerFired() {
        state.withLock { $0.timer = nil }
        proceed()
    }

    private func ended(_ outcome: UploadQueue.Outcome) {
        let isGivenUp = state.withLock { state in
            state.upload = nil
            return state.queue.finished(outcome, now: bucket.time.now)
        }
        if isGivenUp { bucket.count { $0.uploadsDropped += 1 } }
        proceed()
    }
}
