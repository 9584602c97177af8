import SpoolCore
import SpoolOrigin
import SpoolSystem

// The receivers of the single requests to a bucket. The callbacks of each come one at a time, and
// only they use its state.

/// One request to a bucket, which has `BucketAddress.patience` to bring what it is asked for.
final class BucketAsk: Transfer, AwaitedAnswer {
    private enum Phase {
        /// The bucket may still serve. → decided, late
        case waiting
        /// The bucket brought what it was asked for, or has ended.
        case decided
        /// The time is over, and the request is cancelled.
        case late
    }

    /// The receiver of the attempt.
    let receiver: any TransferReceiver
    private let bucket: Bucket
    private let result: Locked<BucketResult?>
    private let state = Locked((phase: Phase.waiting, transfer: (any Transfer)?.none))

    init(_ receiver: any TransferReceiver, _ bucket: Bucket, _ result: Locked<BucketResult?>) {
        self.receiver = receiver
        self.bucket = bucket
        self.result = result
    }

    var isUndecided: Bool { state.withLock { $0.phase == .waiting } }

    /// Keeps the transfer.
    func keep(_ transfer: any Transfer) {
        let isLate = state.withLock { state in
            state.transfer = transfer
            return state.phase == .late
        }
        if isLate { transfer.cancel() }
    }

    func answerIsLate() {
        let transfer = state.withLock { state -> (any Transfer)? in
            guard state.phase == .waiting else { return nil }
            state.phase = .late
            return state.transfer
        }
        transfer?.cancel()
    }

    /// Notes that the bucket serves.
    ///
    /// - Returns: False if it is late.
    func decide() -> Bool {
        state.withLock { state in
            if state.phase == .waiting { state.phase = .decided }
            return state.phase == .decided
        }
    }

    /// Counts bytes of the bucket that the reader took.
    func served(_ bytes: Int) { bucket.count { $0.servedBytes += Int64(bytes) } }

    /// Ends the request.
    func finish(_ outcome: BucketResult?, _ end: TransferEnd) {
        let why = "it took longer than \(BucketAddress.patience / 1_000_000_000) s"
        let outcome = decide() ? outcome : .trouble(.failed(why))
        result.withLock { $0 = outcome }
        receiver.finished(end)
    }

    // MARK: Transfer

    func resume() { state.withLock { $0.transfer }?.resume() }
    func setPriority(_ priority: ReadPriority) { state.withLock { $0.transfer }?.setPriority(priority) }
    func stop() { state.withLock { $0.transfer }?.stop() }
    func cancel() { state.withLock { $0.transfer }?.cancel() }
}

/// A receiver of one request to a bucket.
protocol BucketAttempt: TransferReceiver {
    var ask: BucketAsk { get }
}

/// Collects the last bytes of an object.
final class TailAttempt: BucketAttempt, @unchecked Sendable {
    // Safe to share: only the callbacks use the state, and they come one at a time.
    let ask: BucketAsk
    private let key: ResourceKey
    /// The length of the object.
    private var length: Int64?
    private var failure = BucketResult.trouble(.failed("no answer"))
    private var bytes: [UInt8] = []
    private var objectTag: String?

    init(_ key: ResourceKey, _ ask: BucketAsk) {
        self.key = key
        self.ask = ask
    }

    func headReceived(_ head: ResponseHead) {
        objectTag = head.fields[.entityTag]
        switch head.status {
        // The error of the parser says only that the part is not the one that was asked for.
        case 206:
            if case .part(let range, .bytes(let length))? = try? ContentRange.parse(head.fields), range.upperBound == length {
                self.length = length
            } else {
                failure = .trouble(.failed("a part without its place"))
            }
        // Stores answer so for an object that is shorter than the range.
        case 200:
            length = head.fields[.contentLength].flatMap { Int64($0) }
            failure = .trouble(.failed("an object without a length"))
        case 404: failure = .missing
        case 416: failure = .trouble(.damaged)
        default: failure = .trouble(.failed("status \(head.status)"))
        }
    }

    func bodyReceived(_ part: UnsafeRawBufferPointer) -> BodyAnswer {
        guard length != nil else { return .taken }
        guard bytes.count + part.count <= BucketManifest.maximumTrailerBytes else {
            (length, failure) = (nil, .trouble(.damaged))
            return .enough
        }
        bytes.append(contentsOf: part)
        return .taken
    }

    func batchEnded() {}

    func finished(_ end: TransferEnd) {
        if case .failed(let error) = end { (length, failure) = (nil, .trouble(.failed("\(error)"))) }
        ask.finish(end == .cancelled && length != nil ? nil : length.map { .object(reading(objectBytes: $0)) } ?? failure, end)
    }

    private func reading(objectBytes: Int64) -> BucketManifest.Reading {
        let reading = BucketManifest.read(bytes, objectBytes: objectBytes, key: key)
        guard case .manifest(var manifest) = reading else { return reading }
        manifest.objectTag = objectTag
        return .manifest(manifest)
    }
}

/// Verifies the chunks of a range, and passes their bytes on.
final class CopyAttempt: BucketAttempt, @unchecked Sendable {
    // Safe to share: only the callbacks use the state, and they come one at a time.
    let ask: BucketAsk
    private var copy: BucketCopy
    /// Whether the reader has the head.
    private var isAnswer = false
    private var trouble: BucketFetch.Trouble?
    /// Nil for a request in the background, whose line is narrow beside a player.
    private var pace: TierPace?

    init(_ copy: BucketCopy, _ ask: BucketAsk, pace: TierPace?) {
        self.copy = copy
        self.ask = ask
        self.pace = pace
    }

    func headReceived(_ head: ResponseHead) {
        // The error of the parser says only that the part is not the one that was asked for.
        if head.status == 206, case .part(copy.chunks, _)? = try? ContentRange.parse(head.fields) { return }
        let why = head.status == 206 ? "another part than asked for" : "status \(head.status)"
        trouble = [404, 412].contains(head.status) ? .replaced : .failed(why)
    }

    func bodyReceived(_ bytes: UnsafeRawBufferPointer) -> BodyAnswer {
        guard trouble == nil else { return .enough }
        if pace?.isSlow(after: bytes.count) == true { trouble = .failed(TierPace.reason) }
        guard trouble == nil else { return .enough }
        var cursor = copy.skip(bytes.count)
        while true {
            while let (count, answer) = copy.next({ ask.receiver.bodyReceived($0) }) {
                switch answer {
                case .taken:
                    copy.handedOut(count)
                    ask.served(count)
                case .pause:
                    pace?.paused()
                    copy.paused(afterTaking: cursor)
                    return .pause
                case .enough: return .enough
                }
            }
            let taken = copy.take(UnsafeRawBufferPointer(rebasing: bytes[cursor...]))
            cursor += taken
            guard copy.isFull else { return .taken }
            guard copy.verify() else {
                trouble = .damaged
                return .enough
            }
            guard passHead() else { return .enough }
        }
    }

    /// Passes the head on with the first verified chunk. `BucketPolicy` puts the reader's in its
    /// place.
    ///
    /// - Returns: False if the chunk came too late.
    private func passHead() -> Bool {
        if isAnswer { return true }
        isAnswer = ask.decide()
        if isAnswer { ask.receiver.headReceived(ResponseHead(status: 206, fields: [:])) }
        return isAnswer
    }

    func batchEnded() { ask.receiver.batchEnded() }
    func measured(_ timings: TransferTimings) { ask.receiver.measured(timings) }

    func finished(_ end: TransferEnd) {
        switch end {
        case .complete where !copy.isDone: trouble = trouble ?? .failed("it sent too few bytes")
        case .failed(let error): trouble = trouble ?? .failed("\(error)")
        case .complete, .cancelled: break
        }
        guard let trouble else { return ask.finish(nil, end) }
        let why = if case .failed(let words) = trouble { words } else { "its bytes differ from their checks" }
        ask.finish(.trouble(trouble), isAnswer ? .failed(.unreachable("the bucket broke off: \(why)")) : end)
    }
}
