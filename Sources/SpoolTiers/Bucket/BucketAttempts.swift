import SpoolCore
import SpoolOrigin

// The receivers of the single requests of a `BucketTransfer`. The callbacks of each come one at a
// time, and only they use its state.

/// Receives the answer of the origin.
final class OriginAttempt: TransferReceiver, @unchecked Sendable {
    // Safe to share: only the callbacks use the state, and they come one at a time.
    private let owner: BucketTransfer
    private let number: Int
    private var isAnswer = false

    init(_ owner: BucketTransfer, _ number: Int) {
        self.owner = owner
        self.number = number
    }

    func interimReceived(_ head: ResponseHead) { owner.interimReceived(head, number) }
    func answerIsLate() { owner.answerIsLate(number) }
    func headReceived(_ head: ResponseHead) { isAnswer = owner.originAnswered(head, number) }
    // A 304 has no body. The body of another answer that was not passed on is not the reader's.
    func bodyReceived(_ bytes: UnsafeRawBufferPointer) -> BodyAnswer { isAnswer ? owner.bodyReceived(bytes) : .enough }
    func bodyIsQuiet(for time: Duration) -> Bool { !isAnswer || owner.bodyIsQuiet(for: time) }
    func batchEnded() { if isAnswer { owner.batchEnded() } }
    func measured(_ timings: TransferTimings) { owner.measured(timings, number) }
    func finished(_ end: TransferEnd) { owner.originFinished(end, number) }
}

/// Collects the last bytes of an object.
final class TailAttempt: TransferReceiver, @unchecked Sendable {
    // Safe to share: only the callbacks use the state, and they come one at a time.
    private let owner: BucketTransfer
    private let number: Int
    private var outcome: Result<Int64, BucketFailure> = .failure(.trouble(.failed("no answer")))
    private var bytes: [UInt8] = []
    private var objectTag: String?

    init(_ owner: BucketTransfer, _ number: Int) {
        self.owner = owner
        self.number = number
    }

    func headReceived(_ head: ResponseHead) {
        objectTag = head.fields[.entityTag]
        switch head.status {
        // The error of the parser says only that the part is not the one that was asked for.
        case 206:
            if case .part(let range, .bytes(let length))? = try? ContentRange.parse(head.fields), range.upperBound == length {
                outcome = .success(length)
            } else {
                outcome = .failure(.trouble(.failed("a part without its place")))
            }
        // Stores answer so for an object that is shorter than the range.
        case 200:
            let length = head.fields[.contentLength].flatMap { Int64($0) }
            outcome = length.map { .success($0) } ?? .failure(.trouble(.failed("an object without a length")))
        case 404: outcome = .failure(.missing)
        case 416: outcome = .failure(.trouble(.damaged))
        default: outcome = .failure(.trouble(.failed("status \(head.status)")))
        }
    }

    func bodyReceived(_ part: UnsafeRawBufferPointer) -> BodyAnswer {
        guard case .success = outcome else { return .taken }
        guard bytes.count + part.count <= BucketManifest.maximumTrailerBytes else {
            outcome = .failure(.trouble(.damaged))
            return .enough
        }
        bytes.append(contentsOf: part)
        return .taken
    }

    func batchEnded() {}

    func finished(_ end: TransferEnd) {
        if case .failed(let error) = end { outcome = .failure(.trouble(.failed("\(error)"))) }
        owner.tailReceived(outcome.map { reading(objectBytes: $0) }, number)
    }

    private func reading(objectBytes: Int64) -> BucketManifest.Reading {
        let reading = BucketManifest.read(bytes, objectBytes: objectBytes, key: owner.key)
        guard case .manifest(var manifest) = reading else { return reading }
        manifest.objectTag = objectTag
        return .manifest(manifest)
    }
}

/// Verifies the chunks of a range, and passes their bytes on.
final class CopyAttempt: TransferReceiver, @unchecked Sendable {
    // Safe to share: only the callbacks use the state, and they come one at a time.
    private let owner: BucketTransfer
    private let number: Int
    private var copy: BucketCopy
    private var isFirst = true
    private var isRefused = false

    init(_ owner: BucketTransfer, _ number: Int, _ copy: BucketCopy) {
        self.owner = owner
        self.number = number
        self.copy = copy
    }

    func headReceived(_ head: ResponseHead) {
        // The error of the parser says only that the part is not the one that was asked for.
        if head.status == 206, case .part(copy.chunks, _)? = try? ContentRange.parse(head.fields) { return }
        isRefused = true
        let why = head.status == 206 ? "another part than asked for" : "status \(head.status)"
        owner.bucketFailed([404, 412].contains(head.status) ? .replaced : .failed(why), number)
    }

    func bodyReceived(_ bytes: UnsafeRawBufferPointer) -> BodyAnswer {
        if isRefused { return .enough }
        var cursor = copy.skip(bytes.count)
        while true {
            while let (count, answer) = copy.next({ owner.bytesReceived($0, number) }) {
                switch answer {
                case .taken: copy.handedOut(count)
                case .pause:
                    copy.paused(afterTaking: cursor)
                    return .pause
                case .enough: return .enough
                }
            }
            let taken = copy.take(UnsafeRawBufferPointer(rebasing: bytes[cursor...]))
            cursor += taken
            guard copy.isFull else { return .taken }
            guard copy.verify() else {
                isRefused = true
                owner.bucketFailed(.damaged, number)
                return .enough
            }
            if isFirst, !owner.firstChunkVerified(number) { return .enough }
            isFirst = false
        }
    }

    func batchEnded() { if !isFirst { owner.batchEnded() } }
    func measured(_ timings: TransferTimings) { owner.measured(timings, number) }
    func finished(_ end: TransferEnd) { owner.copyFinished(number, isDone: copy.isDone, end) }
}
