public import SpoolCore
import SpoolSystem

/// Reads one resource through the cache, for any consumer of bytes: a decoder, the data source of a
/// player, a file.
///
/// Stored bytes come from the store. Other bytes come from the origin and are stored as they
/// arrive. All bytes of one reader belong to one version of the resource. If the origin changes it
/// meanwhile, the reader fails with `.representationChanged`.
///
/// A reader may be used from any task, by one call at a time: a call made while another one is
/// waiting throws `.closed`. Releasing the reader ends it.
public final class ByteReader: Sendable {
    private let session: SessionReader
    private let signal: WakeSignal

    init(session: ResourceSession, url: MediaURL, options: ReadOptions) {
        let signal = WakeSignal()
        self.signal = signal
        self.session = session.reader(url: url, start: 0, end: nil, options: options, wantsBytes: false) { signal.wake() }
    }

    /// The most bytes of one chunk: 256 KiB.
    public static let chunkBytes = 256 << 10

    /// Returns the metadata of the resource: length, type and validator.
    ///
    /// Asks the origin if the cache has nothing of the resource, or if the cache policy requires
    /// it. All later reads belong to the version that this method returns.
    ///
    /// - Throws: `.originUnreachable`, `.originTimeout`, `.originStatus`, `.originMalformed`,
    ///   `.tlsFailed`; `.notStored` with `ReadMode.onlyStored`; `.removed` if the resource is
    ///   removed meanwhile; `.closed` if the reader or the cache is closed; `.cancelled` if the
    ///   task is cancelled.
    public func contentInformation() async throws(CacheError) -> Representation {
        while true {
            let mark = signal.mark
            switch session.prepare() {
            case .ready(_, let representation):
                session.markTold()
                return representation
            case .wait: try await wait(mark)
            case .failed(let error): throw error
            }
        }
    }

    /// Returns up to `count` bytes at `offset`.
    ///
    /// The result has fewer bytes only at the end of the resource, and none at or after the end.
    /// The caller must keep `offset` and `count` within their bounds; the method traps otherwise.
    ///
    /// - Parameters:
    ///   - offset: The offset of the first byte, at least 0.
    ///   - count: The number of bytes, from 0 to 16 MiB.
    /// - Throws: The errors of `contentInformation()`; `.representationChanged` if the origin
    ///   changes the resource; `.rangeNotSatisfiable` if the cache has nothing of the resource yet
    ///   and the origin answers that it ends before `offset`. After `contentInformation()` the
    ///   length is known.
    public func read(at offset: Int64, count: Int) async throws(CacheError) -> [UInt8] {
        precondition(offset >= 0 && count >= 0 && count <= 16 << 20, "read(at: \(offset), count: \(count)) is out of bounds")
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        session.seek(to: offset, end: min(offset, ByteRange.maximumOffset) + Int64(count))
        while bytes.count < count, let chunk = try await nextChunk(max: count - bytes.count) { bytes += chunk }
        return bytes
    }

    /// Returns the bytes of `range` in order, as an asynchronous sequence of chunks.
    ///
    /// Chunks come as bytes arrive, at most `chunkBytes` each. The sequence pulls: when its
    /// consumer stops, the origin stops as well. The lower bound must be at least 0; the method
    /// traps otherwise.
    ///
    /// - Parameter range: The byte offsets to read, or nil for the whole resource.
    /// - Returns: A sequence that ends at the end of the range or of the resource. It throws the
    ///   errors of `read(at:count:)`.
    public func chunks(in range: Range<Int64>? = nil) -> ByteChunks {
        precondition(range?.lowerBound ?? 0 >= 0, "chunks(in: \(range?.description ?? "")) begins before the first byte")
        return ByteChunks(reader: self, lower: range?.lowerBound ?? 0, upper: range?.upperBound)
    }

    /// Ends the reader.
    ///
    /// The fetched bytes stay in the cache. A fetch that no other reader uses closes at once. Later
    /// calls throw `.closed` or another error.
    public func cancel() {
        session.leave(explicitly: true)
        signal.wake()
    }

    func seek(to lower: Int64, end: Int64?) { session.seek(to: lower, end: end) }

    func nextChunk(max: Int) async throws(CacheError) -> [UInt8]? {
        while true {
            let mark = signal.mark
            switch session.next(max: min(max, Self.chunkBytes)) {
            case .file(let file, let range):
                guard let bytes = session.read(range, of: file) else { continue }
                session.markTold()
                session.advance(by: bytes.count, fromOrigin: false)
                return bytes
            case .memory(let memory):
                let bytes = memory.copy()
                session.markTold()
                session.advance(by: bytes.count, fromOrigin: true)
                return bytes
            case .wait: try await wait(mark)
            case .end: return nil
            case .failed(let error): throw error
            }
        }
    }

    private func wait(_ mark: WakeSignal.Mark) async throws(CacheError) {
        guard await signal.wait(after: mark) else {
            throw CacheError(.closed, "another call of this reader is waiting already", key: session.key)
        }
        if Task.isCancelled {
            cancel()
            throw CacheError(.cancelled, "the task that read was cancelled", key: session.key)
        }
    }
}

/// The chunks of a range of one resource, in order. Made by `ByteReader.chunks(in:)`.
public struct ByteChunks: AsyncSequence, Sendable {
    /// The bytes of one chunk.
    public typealias Element = [UInt8]

    let reader: ByteReader
    let lower: Int64
    let upper: Int64?

    /// Iterates over the chunks of a range. It moves its reader, so use one iterator of a reader at
    /// a time.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let reader: ByteReader
        var isPositioned = false
        let lower: Int64
        let upper: Int64?

        /// Returns the next chunk, or nil at the end of the range or of the resource.
        ///
        /// - Throws: A `CacheError` with a code that `ByteReader.read(at:count:)` lists.
        public mutating func next() async throws -> [UInt8]? {
            if !isPositioned {
                isPositioned = true
                reader.seek(to: lower, end: upper)
            }
            return try await reader.nextChunk(max: ByteReader.chunkBytes)
        }
    }

    /// Returns an iterator that begins at the lower bound of the range.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(reader: reader, lower: lower, upper: upper)
    }
}

/// Turns wake-ups, which may come early, late or twice, into the continuation of one waiting call.
final class WakeSignal: Sendable {
    /// A moment between two wake-ups.
    struct Mark {
        fileprivate var count: UInt64
    }

    private struct State {
        var count: UInt64 = 0
        var waiting: CheckedContinuation<Bool, Never>?
    }

    private let state = Locked(State())

    /// The current moment. A wake-up after it ends a wait.
    var mark: Mark { Mark(count: state.withLock { $0.count }) }

    func wake() {
        let waiting = state.withLock { state in
            state.count += 1
            return state.waiting.take()
        }
        waiting?.resume(returning: true)
    }

    /// Waits for a wake-up after `mark`, or for the cancellation of the task.
    ///
    /// - Returns: False if another call is waiting already.
    func wait(after mark: Mark) async -> Bool {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer = state.withLock { state -> Bool? in
                    if state.count != mark.count { return true }
                    if state.waiting != nil { return false }
                    state.waiting = continuation
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            wake()
        }
    }
}
