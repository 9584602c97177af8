import Spool
import SpoolCore
import SpoolManifests
import SpoolStore
import SpoolSystem

/// The text of one version of a manifest, which all its readers collect together, up to a bound.
///
/// The first reader that has the bytes at the end of the text adds them, and the others skip them.
/// So many clients of one manifest hold one copy, and a reader that leaves ends nothing. Safe to
/// use from any thread.
final class SharedText: Sendable {
    /// The outcome of a call.
    enum Step {
        /// More bytes are on their way.
        case wait
        case complete(WholeText)
        /// The resource has more bytes than the bound, or than the room of its client.
        case tooLong
        case failed(CacheError)
    }

    /// The most bytes that one call adds, so that it takes less than a millisecond.
    private static let bytesAtOnce = 512 << 10

    private struct State {
        let claim: ManifestRoom.Claim
        var bytes: [UInt8] = []
        var whole: WholeText?
        /// Whether the last bytes came from the origin.
        var isFromOrigin = false
        /// Whether a lane reads the next bytes.
        var isReading = false
        /// The next bytes, if they could not be read. The error is nil when the file had none
        /// there.
        var lost: (range: ByteRange, error: StoreError?)?
        /// Wake the readers that wait for that lane.
        var waiting: [@Sendable () -> Void] = []

        /// Adds bytes, unless another reader has added them.
        ///
        /// A long text of unknown length gets room for `limit` bytes at once, so that no call moves
        /// more than ``bytesAtOnce``. The system gives memory to those parts of it that are used.
        mutating func add(_ new: some Collection<UInt8>, at position: Int, limit: Int, isFromOrigin: Bool) {
            guard bytes.count == position, whole == nil else { return }
            let count = bytes.count + new.count
            if count > bytes.capacity, count > bytesAtOnce { bytes.reserveCapacity(max(limit, count)) }
            bytes += new
            claim.grow(by: new.count)
            self.isFromOrigin = isFromOrigin
        }
    }

    /// The memory of the text.
    let claim: ManifestRoom.Claim
    private let url: String
    private let limit: Int
    private let state: Locked<State>

    /// Creates a text without bytes.
    ///
    /// - Parameters:
    ///   - url: The URL of the manifest.
    ///   - length: The length of the text, if it is known. It makes room at once.
    ///   - limit: The most bytes.
    ///   - claim: The memory of the text, without bytes.
    init(at url: String, length: Int64?, limit: Int, claim: ManifestRoom.Claim) {
        self.url = url
        self.limit = limit
        self.claim = claim
        var state = State(claim: claim)
        state.bytes.reserveCapacity(length.map { min(Int($0), limit) } ?? 0)
        self.state = Locked(state)
    }

    /// Adds the bytes that `reader` has now.
    ///
    /// - Parameters:
    ///   - position: The number of bytes that the reader has taken. It moves on.
    ///   - wake: Called, on any thread, when a `.wait` is over, beside the wake of the reader.
    func take(from reader: SessionReader, at position: inout Int, wake: @escaping @Sendable () -> Void) -> Step {
        var added = 0
        while true {
            let (count, whole, isFromOrigin, isReading) = state.withLock { state in
                if state.isReading { state.waiting.append(wake) }
                return (state.whole?.bytes.count ?? state.bytes.count, state.whole, state.isFromOrigin, state.isReading)
            }
            if let whole { return .complete(whole) }
            if isReading { return .wait }
            // A small text costs less than the refusal of it.
            if count > limit || (count > ManifestLimits.onLoop.maxBytes && claim.isBeyondRoom) { return .tooLong }
            if let (range, error) = takeLost() { reader.reportLost(range, error ?? .corrupt(reader.key, range)) }
            reader.advance(by: count - position, fromOrigin: isFromOrigin)
            position = count
            guard added < Self.bytesAtOnce else {
                wake()
                return .wait
            }
            switch reader.next(max: LaneReading.readBytes) {
            case .file(let file, let range): added += add(range, of: file, reader.readingLane, wake)
            case .memory(let memory):
                memory.withBytes { bytes in state.withLock { $0.add(bytes, at: position, limit: limit, isFromOrigin: true) } }
                added += memory.count
            case .wait: return .wait
            case .end: return .complete(end())
            case .failed(let error): return .failed(error)
            }
        }
    }

    /// Adds stored bytes, at once when they are in memory, else on a lane.
    ///
    /// - Returns: The number of bytes that were added at once.
    private func add(_ range: ByteRange, of file: any StoredBytes, _ lane: any Mailbox, _ wake: @escaping @Sendable () -> Void) -> Int {
        let resident = file.residentBytes(at: range.lowerBound, limit: Int(range.count))
        let mustRead = state.withLock { state in
            state.add(resident, at: Int(range.lowerBound), limit: limit, isFromOrigin: false)
            guard resident.isEmpty, !state.isReading else { return false }
            state.isReading = true
            return true
        }
        if mustRead { lane.post { self.read(range, of: file) } }
        return resident.count
    }

    /// Reads stored bytes from the disk. On a lane.
    private func read(_ range: ByteRange, of file: any StoredBytes) {
        let read = Result { () throws(StoreError) in try file.bytes(in: range) }
        let waiting = state.withLock { state in
            switch read {
            case .success(let bytes) where !bytes.isEmpty: state.add(bytes, at: Int(range.lowerBound), limit: limit, isFromOrigin: false)
            case .success: state.lost = (range, nil)
            case .failure(let error): state.lost = (range, error)
            }
            state.isReading = false
            return exchange(&state.waiting, with: [])
        }
        for wake in waiting { wake() }
    }

    private func takeLost() -> (range: ByteRange, error: StoreError?)? {
        state.withLock { $0.lost.take() }
    }

    private func end() -> WholeText {
        state.withLock { state in
            let whole = state.whole ?? WholeText(state.bytes, at: url)
            (state.whole, state.bytes) = (whole, [])
            return whole
        }
    }
}
