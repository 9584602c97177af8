import SpoolCore
import SpoolOrigin
import SpoolSystem

/// The rules of one request at the bucket, at the origin, or at one after the other: `BucketFetch`
/// decides, and this policy starts the requests and reports the results.
struct BucketPolicy: AttemptPolicy {
    private let request: OriginRequest
    private let key: ResourceKey
    private let bucket: Bucket
    private let base: any Transport
    /// The result of the latest request to the bucket, once it has ended.
    private let result = Locked<BucketResult?>(nil)
    /// The state of a request that the bucket may answer. Nil once the origin has to answer.
    private var fetch: BucketFetch?

    /// Creates the rules of a request.
    ///
    /// - Parameter found: The knowledge of this process about the object in the bucket.
    /// - Returns: The rules, and the first attempt.
    static func begin(
        _ request: OriginRequest, _ key: ResourceKey, _ found: BucketLedger.Lookup, at bucket: Bucket, _ base: any Transport
    ) -> (BucketPolicy, AttemptStart) {
        var policy = BucketPolicy(request: request, key: key, bucket: bucket, base: base)
        let known: BucketManifest?
        switch found {
        case .skip: return (policy, policy.attempt(.askOrigin(nil)))
        case .ask: known = nil
        case .known(let manifest): known = manifest
        }
        let (fetch, step) = BucketFetch.begin(request.fields, known: known)
        policy.fetch = fetch
        return (policy, policy.attempt(step))
    }

    // MARK: Events

    mutating func headReceived(_ head: ResponseHead, of attempt: Int, others: Set<Int>) -> AttemptStep {
        if fetch?.waitsForBucket == true { return firstChunkVerified() }
        var effects: [@Sendable () -> Void] = [{ [bucket, key] in bucket.originAnswered(key, head) }]
        let step = fetch?.originAnswered(head, bucket.rules, now: bucket.time.wallNow) ?? .pass
        if step == .pass { return AttemptStep(.pass(head), effect: effects[0]) }
        if case .copy(let manifest, _) = step {
            effects.append(head.status == 304 ? noting(manifest, confirmedBy: head) : noting(manifest, .status(head.status)))
        }
        // A 304 is over by itself, and its connection stays.
        return next(step, drains: head.status == 304, effects)
    }

    /// The bucket sends the head with its first verified chunk.
    private mutating func firstChunkVerified() -> AttemptStep {
        guard let head = fetch?.firstChunkVerified() else { return .wait }
        return AttemptStep(.pass(head)) { [bucket] in
            bucket.answered()
            bucket.count { $0.hits += 1 }
        }
    }

    mutating func ended(_ end: TransferEnd, of attempt: Int, others: Set<Int>) -> AttemptStep {
        guard fetch?.waitsForBucket == true else {
            guard case .failed(let error) = end, let step = fetch?.originFailed(error, bucket.rules, now: bucket.time.wallNow),
                case .copy(let manifest, _) = step
            else { return AttemptStep(.finish(end)) }
            return next(step, [noting(manifest, error)])
        }
        guard let result = takeResult() else { return AttemptStep(.finish(end)) }
        var effects: [@Sendable () -> Void] = []
        if result.isAnswer { effects.append { [bucket] in bucket.answered() } }
        let step: BucketFetch.Step?
        switch result {
        case .object(let reading):
            if case .manifest(let manifest) = reading { effects.append { [bucket] in bucket.note { $0.found(manifest) } } }
            step = fetch?.tailReceived(reading)
        case .missing:
            effects.append { [bucket, key] in bucket.missed(key) }
            step = fetch?.objectIsMissing()
        case .trouble(let trouble):
            step = fetch?.bucketFailed(trouble)
        }
        return next(step ?? .askOrigin(nil), effects)
    }

    /// The reader has bytes of a bucket that broke off.
    func answerEnded(_ end: TransferEnd, of attempt: Int) -> (@Sendable () -> Void)? {
        guard case .trouble(let trouble) = takeResult() else { return nil }
        return { [bucket, key] in bucket.troubled(trouble, key) }
    }

    private func takeResult() -> BucketResult? {
        result.withLock { $0.take() }
    }

    private func noting(_ manifest: BucketManifest, confirmedBy head: ResponseHead) -> @Sendable () -> Void {
        { [bucket, key] in bucket.note { $0.confirmed(key, BucketFetch.confirmed(manifest.fields, by: head)) } }
    }

    /// Returns a call that records the use of a version that its origin did not confirm.
    private func noting(_ manifest: BucketManifest, _ error: OriginError) -> @Sendable () -> Void {
        { [bucket] in bucket.record(.usedUnvalidated(manifest.key, reason: "\(error)")) }
    }

    // MARK: Attempts

    /// Returns the step that sends the next request in the place of the one before.
    private mutating func next(
        _ step: BucketFetch.Step, drains: Bool = false, _ effects: [@Sendable () -> Void]
    ) -> AttemptStep {
        var effects = effects
        if case .askOrigin(let trouble?) = step { effects.append { [bucket, key] in bucket.troubled(trouble, key) } }
        return AttemptStep(.replace(attempt(step), drains: drains)) { [effects] in for effect in effects { effect() } }
    }

    /// Returns the attempt that a step asks for.
    private mutating func attempt(_ step: BucketFetch.Step) -> AttemptStart {
        switch step {
        case .look(let count):
            guard let asked = bucket.address.tail(count, of: key) else { break }
            return { [bucket, key, result] in bucket.ask(asked, TailAttempt(key, BucketAsk($0, bucket, result))) }
        case .copy(let manifest, let range):
            let copy = BucketCopy(manifest, range)
            guard let asked = bucket.address.part(copy.chunks, of: manifest) else { break }
            let pace = request.priority == .playing ? TierPace(time: bucket.time) : nil
            return { [bucket, result] in bucket.ask(asked, CopyAttempt(copy, BucketAsk($0, bucket, result), pace: pace)) }
        case .confirm(let tag):
            var asked = request
            asked.fields[.ifNoneMatch] = tag
            return { [base, asked] in base.start(asked, receiver: $0) }
        case .askOrigin, .pass, .nothing: break
        }
        fetch = nil
        return { [base, request] in base.start(request, receiver: $0) }
    }
}

/// The result of a request to the bucket.
enum BucketResult: Sendable {
    /// The description of the object.
    case object(BucketManifest.Reading)
    /// The bucket has no such object.
    case missing
    case trouble(BucketFetch.Trouble)

    /// Whether the bucket serves.
    var isAnswer: Bool {
        if case .trouble = self { false } else { true }
    }
}
