import SpoolCore
import SpoolOrigin
import SpoolSystem

/// Uploads finished resources to a bucket, one at a time and in the background.
///
/// Events of the cache name the resources, `UploadQueue` decides, and `BucketUpload` does one.
final class BucketUploader: EventSink {
    private struct State {
        var queue = UploadQueue()
        /// The time for which a timer is set.
        var timer: (timer: Timer, at: MonotonicInstant)?
        var upload: BucketUpload?
        var isClosed = false
        var engine: Engine?
    }

    private let bucket: Bucket
    private let environment: CacheEnvironment
    private let state = Locked(State())

    init(bucket: Bucket, environment: CacheEnvironment) {
        self.bucket = bucket
        self.environment = environment
    }

    /// Begins to upload the resources of an engine. It must close the uploader.
    func connect(_ engine: Engine) {
        state.withLock { $0.engine = engine }
        bucket.connect(record: engine.record) { [weak self] in self?.note($0) }
    }

    /// Ends the upload that runs, and starts no other.
    func close() {
        let (upload, timer) = state.withLock { state in
            (state.isClosed, state.engine) = (true, nil)
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
        let reception = state.withLock { $0.isClosed ? .known : $0.queue.noted(key, now: environment.time.now) }
        switch reception {
        case .queued: proceed()
        case .known: break
        case .dropped: bucket.count { $0.uploadsDropped += 1 }
        }
    }

    /// Starts the next upload, or the timer for it.
    private func proceed() {
        let now = environment.time.now
        let (next, engine, old) = state.withLock { state -> (UploadQueue.Next, Engine?, Timer?) in
            guard !state.isClosed else { return (.idle, nil, nil) }
            let next = state.queue.next(now: now)
            if case .wait(let until) = next, let timer = state.timer, timer.at <= until { return (.idle, nil, nil) }
            defer { state.timer = nil }
            return (next, state.engine, state.timer?.timer)
        }
        old?.cancel()
        switch next {
        case .idle: break
        case .wait(let until):
            let timer = environment.time.after(max(0, until - now), on: environment.control) { [weak self] in self?.timerFired() }
            state.withLock { if $0.timer == nil { $0.timer = (timer, until) } }
        case .start(let key):
            guard let engine else { return }
            let upload = BucketUpload(key: key, bucket: bucket, engine: engine) { [weak self] in self?.ended($0) }
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
            return state.queue.finished(outcome, now: environment.time.now)
        }
        if isGivenUp { bucket.count { $0.uploadsDropped += 1 } }
        proceed()
    }
}
