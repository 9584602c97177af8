package import SpoolOrigin
import SpoolCore
import SpoolSystem

/// A transport that lets a bucket answer before the origin, around one that asks origins.
///
/// The origin confirms each version before a byte of the bucket is used for it, unless the origin
/// is away and the version may be used stale. Each chunk is verified. A bucket that fails, or does
/// not bring its bytes within `BucketAddress.patience`, costs a delay and no answer, and rests.
package final class BucketTransport: Transport {
    private let base: any Transport
    private let bucket: Bucket

    /// Creates a transport around another one.
    package init(_ base: any Transport, bucket: Bucket) {
        self.base = base
        self.bucket = bucket
    }

    /// The most bytes that one request should ask for, as in the transport below.
    package var windowBytes: Int64? { base.windowBytes }

    package var receivedBytes: Int64? { base.receivedBytes }

    /// Starts a request at the bucket, or at the origin when the bucket can't answer it.
    package func start(_ request: OriginRequest, receiver: any TransferReceiver) -> any Transfer {
        guard BucketRules.permit(request), let url = request.location else { return base.start(request, receiver: receiver) }
        let key = bucket.keyPolicy.key(for: url)
        let found = BucketRules.isRevalidation(request.fields) ? .skip : bucket.lookup(key)
        let transfer = BucketTransfer(request, key: key, receiver: receiver, base: base, bucket: bucket)
        transfer.begin(found)
        return transfer
    }

    /// Closes the transport below.
    package func close() { base.close() }
}

/// One request at the bucket, at the origin, or at one after the other.
final class BucketTransfer: Transfer {
    private struct State {
        /// The state of a request that the bucket may answer. Nil for one that goes to the origin.
        var fetch: BucketFetch?
        /// The number of the request whose callbacks count. Earlier ones are over or useless.
        var attempt = 0
        /// The transfer of the attempt, once `start` has returned.
        var transfer: (any Transfer)?
        /// Whether `resume` came before the transfer was known.
        var owesResume = false
        /// The urgency of the readers since the request, or nil while it is that of the request.
        var priority: ReadPriority?
        var isCancelled = false
        var isOver = false
        var timer: Timer?
    }

    private let request: OriginRequest
    /// The key of the resource.
    let key: ResourceKey
    private let receiver: any TransferReceiver
    private let base: any Transport
    private let bucket: Bucket
    private let state = Locked(State())

    init(_ request: OriginRequest, key: ResourceKey, receiver: any TransferReceiver, base: any Transport, bucket: Bucket) {
        self.request = request
        self.key = key
        self.receiver = receiver
        self.base = base
        self.bucket = bucket
    }

    /// Starts the first request.
    func begin(_ found: BucketLedger.Lookup) {
        let known: BucketManifest?
        switch found {
        case .skip: return act(.askOrigin(nil))
        case .ask: known = nil
        case .known(let manifest): known = manifest
        }
        let (fetch, step) = BucketFetch.begin(request.fields, known: known)
        state.withLock { $0.fetch = fetch }
        act(step)
    }

    // MARK: Acting

    /// Does what a step asks for. Called outside the lock.
    private func act(_ step: BucketFetch.Step) {
        switch step {
        case .nothing, .pass: break
        case .look(let count):
            ask(bucket.address.tail(count, of: key)) { TailAttempt($0, $1) }
        case .copy(let manifest, let range):
            let copy = BucketCopy(manifest, range)
            ask(bucket.address.part(copy.chunks, of: manifest)) { CopyAttempt($0, $1, copy) }
        case .confirm(let tag):
            var asked = request
            asked.fields[.ifNoneMatch] = tag
            start(asked, base) { OriginAttempt($0, $1) }
        case .askOrigin(let trouble):
            if let trouble { bucket.troubled(trouble, key) }
            start(request, base) { OriginAttempt($0, $1) }
        case .fail(let trouble):
            bucket.troubled(trouble, key)
            let why = if case .failed(let words) = trouble { words } else { "its bytes differ from their checks" }
            end(.failed(.unreachable("the bucket broke off: \(why)")))
        }
    }

    /// Asks the bucket, for as long as it may take.
    private func ask(_ request: OriginRequest?, _ receiver: (BucketTransfer, Int) -> any TransferReceiver) {
        guard let request else { return act(change { $0.bucketFailed(.failed("no URL")) }) }
        let number = start(request, bucket.wire, receiver)
        let timer = bucket.time.after(BucketAddress.patience, on: bucket.mailbox) { [weak self] in self?.bucketIsLate(number) }
        let isOver = state.withLock { state in
            guard state.attempt == number, !state.isOver else { return true }
            state.timer = timer
            return false
        }
        if isOver { timer.cancel() }
    }

    /// Starts the next request in the place of the one before, and makes up for what happened
    /// before its transfer was known.
    @discardableResult
    private func start(
        _ request: OriginRequest, _ transport: any Transport, _ receiver: (BucketTransfer, Int) -> any TransferReceiver
    ) -> Int {
        let (number, old, timer) = state.withLock { state in
            state.attempt += 1
            defer { (state.transfer, state.timer) = (nil, nil) }
            return (state.attempt, state.transfer, state.timer)
        }
        timer?.cancel()
        old?.cancel()
        let transfer = transport.start(request, receiver: receiver(self, number))
        let (cancels, resumes) = state.withLock { state in
            guard state.attempt == number, !state.isOver else { return (true, false) }
            state.transfer = transfer
            defer { state.owesResume = false }
            return (state.isCancelled, state.owesResume)
        }
        transfer.setPriority(toPresent: { state.withLock { $0.priority } })
        if cancels { transfer.cancel() } else if resumes { transfer.resume() }
        return number
    }

    /// Lets an event change the state.
    private func change(_ event: (inout BucketFetch) -> BucketFetch.Step) -> BucketFetch.Step {
        state.withLock { state in
            guard var fetch = state.fetch, !state.isCancelled else { return .nothing }
            defer { state.fetch = fetch }
            return event(&fetch)
        }
    }

    /// Notes that a request is over by itself, so that nothing cancels it.
    ///
    /// - Returns: Whether its result counts.
    private func takeEnd(of number: Int) -> Bool {
        state.withLock { state in
            guard state.attempt == number, !state.isOver else { return false }
            state.transfer = nil
            return true
        }
    }

    private func isCurrent(_ number: Int) -> Bool { state.withLock { $0.attempt == number && !$0.isOver && !$0.isCancelled } }

    private func bucketIsLate(_ number: Int) {
        guard isCurrent(number), state.withLock({ $0.fetch?.waitsForBucket == true }) else { return }
        act(change { $0.bucketFailed(.failed("it took longer than \(BucketAddress.patience / 1_000_000_000) s")) })
    }

    private func end(_ end: TransferEnd) {
        let (isFirst, timer, transfer) = state.withLock { state in
            defer { (state.isOver, state.transfer, state.timer) = (true, nil, nil) }
            state.fetch?.ended()
            return (!state.isOver, state.timer, state.transfer)
        }
        timer?.cancel()
        guard isFirst else { return }
        receiver.finished(end)
        transfer?.cancel()
    }

    // MARK: Transfer

    func resume() {
        let transfer = state.withLock { state in
            state.owesResume = state.transfer == nil && !state.isOver
            return state.transfer
        }
        transfer?.resume()
    }

    func setPriority(_ priority: ReadPriority) {
        let transfer = state.withLock { state in
            state.priority = priority
            return state.transfer
        }
        transfer?.setPriority(priority)
    }

    func cancel() {
        let transfer = state.withLock { state in
            state.isCancelled = true
            return state.transfer
        }
        transfer?.cancel()
    }

    // MARK: From the origin

    func interimReceived(_ head: ResponseHead, _ number: Int) { if isCurrent(number) { receiver.interimReceived(head) } }

    func answerIsLate(_ number: Int) { if isCurrent(number) { receiver.answerIsLate() } }

    /// Handles the head of the origin's answer.
    ///
    /// - Returns: Whether the body that follows is the reader's.
    func originAnswered(_ head: ResponseHead, _ number: Int) -> Bool {
        guard isCurrent(number) else { return false }
        bucket.originAnswered(key, head)
        let now = bucket.time.wallNow
        let step = change { $0.originAnswered(head, bucket.rules, now: now) }
        if case .copy(let manifest, _) = step, head.status != 304 {
            noteUnconfirmed(manifest, .status(head.status))
        } else if case .copy(let manifest, _) = step {
            bucket.note { $0.confirmed(key, BucketFetch.confirmed(manifest.fields, by: head)) }
            // The 304 is over by itself, and its connection stays.
            state.withLock { $0.transfer = nil }
        }
        // Without a state, the origin alone was asked.
        guard step == .pass || state.withLock({ $0.fetch == nil }) else {
            act(step)
            return false
        }
        receiver.headReceived(head)
        return true
    }

    func bodyReceived(_ bytes: UnsafeRawBufferPointer) -> BodyAnswer { receiver.bodyReceived(bytes) }

    func bodyIsQuiet(for time: Duration) -> Bool { receiver.bodyIsQuiet(for: time) }

    func batchEnded() { receiver.batchEnded() }

    func measured(_ timings: TransferTimings, _ number: Int) {
        if state.withLock({ $0.attempt == number && !$0.isOver }) { receiver.measured(timings) }
    }

    func originFinished(_ end: TransferEnd, _ number: Int) {
        guard takeEnd(of: number) else { return }
        if case .failed(let error) = end {
            let now = bucket.time.wallNow
            let step = change { $0.originFailed(error, bucket.rules, now: now) }
            if case .copy(let manifest, _) = step {
                noteUnconfirmed(manifest, error)
                return act(step)
            }
        }
        self.end(end)
    }

    private func noteUnconfirmed(_ manifest: BucketManifest, _ error: OriginError) {
        bucket.record(.usedUnvalidated(manifest.key, reason: "\(error)"))
    }

    // MARK: From the bucket

    /// Handles the last bytes of the object.
    func tailReceived(_ outcome: Result<BucketManifest.Reading, BucketFailure>, _ number: Int) {
        guard takeEnd(of: number) else { return }
        guard isCurrent(number) else { return end(.cancelled) }
        switch outcome {
        case .success(let reading):
            bucket.answered()
            if case .manifest(let manifest) = reading { bucket.note { $0.found(manifest) } }
            act(change { $0.tailReceived(reading) })
        case .failure(.missing):
            bucket.answered()
            bucket.missed(key)
            act(change { $0.objectIsMissing() })
        case .failure(.trouble(let trouble)):
            act(change { $0.bucketFailed(trouble) })
        }
    }

    /// Handles the first verified chunk.
    ///
    /// - Returns: False if the chunk came too late.
    func firstChunkVerified(_ number: Int) -> Bool {
        guard isCurrent(number) else { return false }
        let (head, timer) = state.withLock { state in
            defer { state.timer = nil }
            return (state.fetch?.firstChunkVerified(), state.timer)
        }
        timer?.cancel()
        guard let head else { return false }
        bucket.answered()
        bucket.count { $0.hits += 1 }
        receiver.headReceived(head)
        return true
    }

    func bytesReceived(_ bytes: UnsafeRawBufferPointer, _ number: Int) -> BodyAnswer {
        guard isCurrent(number) else { return .enough }
        let answer = receiver.bodyReceived(bytes)
        if answer == .taken { bucket.count { $0.servedBytes += Int64(bytes.count) } }
        return answer
    }

    func bucketFailed(_ trouble: BucketFetch.Trouble, _ number: Int) {
        if isCurrent(number) { act(change { $0.bucketFailed(trouble) }) }
    }

    func copyFinished(_ number: Int, isDone: Bool, _ end: TransferEnd) {
        guard takeEnd(of: number) else { return }
        switch end {
        case .complete where isDone: self.end(.complete)
        case .cancelled: self.end(.cancelled)
        case .complete: bucketFailed(.failed("it sent too few bytes"), number)
        case .failed(let error): isCurrent(number) ? bucketFailed(.failed("\(error)"), number) : self.end(.cancelled)
        }
    }
}

/// The reason why the bucket has no description of a resource.
enum BucketFailure: Error {
    case missing
    case trouble(BucketFetch.Trouble)
}
