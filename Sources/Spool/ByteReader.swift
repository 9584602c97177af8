public import SpoolCore
import SpoolStore
import SpoolSystem

/// Reads one resource through the cache, whatever consumes the bytes: a decoder, a player's data source, a file.
///
/// Bytes come from the store where they are stored, else from the origin, and are stored as they come. All bytes of one reader are of one
/// version of the resource; if the origin changes it meanwhile, the reader ends with `.representationChanged`.
///
/// One consumer at a time: a call made while another is waiting throws `.closed`. Letting go of the reader ends it.
public final class ByteReader: Sendable {
    private let session: SessionReader
    private let signal: WakeSignal

    init(session: ResourceSession, url: String, options: ReadOptions) {
        let signal = WakeSignal()
        self.signal = signal
        self.session = session.reader(url: url, start: 0, end: nil, options: options, wantsBytes: false) { signal.wake() }
    }

    /// The largest number of bytes that one chunk brings.
    public static let chunkBytes = 256 << 10

    /// What the resource is: length, type, validator. Asks the origin when the cache knows nothing of it.
    ///
    /// - Throws: `.originUnreachable`, `.originTimeout`, `.originStatus`, `.originMalformed`, `.tlsFailed`, `.notStored`, `.closed`.
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

    /// Up to `count` bytes at `offset`; fewer only at the end of the resource, none at or after it.
    ///
    /// - Parameters:
    ///   - offset: at least 0.
    ///   - count: at most 16 MiB.
    /// - Throws: the errors of `contentInformation()`, `.representationChanged`, and `.rangeNotSatisfiable` when the cache
    ///   knows nothing of the resource yet and the origin answers that it ends before `offset`. The length is known after
    ///   `contentInformation()`.
    public func read(at offset: Int64, count: Int) async throws(CacheError) -> [UInt8] {
        precondition(offset >= 0 && count >= 0 && count <= 16 << 20, "read(at: \(offset), count: \(count)) is out of bounds")
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        session.seek(to: offset, end: min(offset, ByteRange.maximumOffset) + Int64(count))
        while bytes.count < count, let chunk = try await nextChunk(max: count - bytes.count) { bytes += chunk }
        return bytes
    }

    /// The bytes of `range` (to the end of the resource when nil) in order, as an asynchronous sequence of chunks.
    ///
    /// Chunks come as bytes arrive, at most `chunkBytes` each. The sequence pulls: a consumer that stops stops the origin.
    public func chunks(in range: Range<Int64>? = nil) -> ByteChunks {
        precondition(range?.lowerBound ?? 0 >= 0, "chunks(in: \(range?.description ?? "")) begins before the first byte")
        return ByteChunks(reader: self, lower: range?.lowerBound ?? 0, upper: range?.upperBound)
    }

    /// Ends the reader; what was fetched stays. The fetch closes at once unless others want it.
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
                guard let bytes = read(range, of: file) else { continue }
                session.markTold()
                session.advance(by: bytes.count, fromOrigin: false)
                return bytes
            case .memory(let memory, let keepAlive):
                let bytes = withExtendedLifetime(keepAlive) { [UInt8](memory) }
                session.markTold()
                session.advance(by: bytes.count, fromOrigin: true)
                return bytes
            case .wait: try await wait(mark)
            case .end: return nil
            case .failed(let error): throw error
            }
        }
    }

    /// Stored bytes, or nil when they turned out to be gone: then they are a gap, and the next look fetches them.
    private func read(_ range: ByteRange, of file: any StoredBytes) -> [UInt8]? {
        var failure: StoreError?
        let bytes = [UInt8](unsafeUninitializedCapacity: Int(range.count)) { buffer, count in
            do throws(StoreError) {
                count = try file.read(into: UnsafeMutableRawBufferPointer(buffer), at: range.lowerBound)
            } catch {
                failure = error
            }
        }
        if bytes.count == Int(range.count) { return bytes }
        session.reportLost(range, failure ?? .corrupt(session.key, range))
        return nil
    }

    private func wait(_ mark: WakeSignal.Mark) async throws(CacheError) {
        guard await signal.wait(after: mark) else {
            throw CacheError(.closed, "another call of this reader is waiting already", key: session.key)
        }
        if Task.isCancelled {
            cancel()
            throw CacheError(.closed, "the task that read was cancelled", key: session.key)
        }
    }
}

/// The chunks of a range of one resource.
public struct ByteChunks: AsyncSequence, Sendable {
    public typealias Element = [UInt8]

    let reader: ByteReader
    let lower: Int64
    let upper: Int64?

    public struct AsyncIterator: AsyncIteratorProtocol {
        let reader: ByteReader
        var isPositioned = false
        let lower: Int64
        let upper: Int64?

        /// The next bytes in order, or nil at the end of the range or of the resource.
        public mutating func next() async throws -> [UInt8]? {
            if !isPositioned {
                isPositioned = true
                reader.seek(to: lower, end: upper)
            }
            return try await reader.nextChunk(max: ByteReader.chunkBytes)
        }
    }

    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(reader: reader, lower: lower, upper: upper)
    }
}

/// Turns wake-ups, which may come early, late or twice, into one continuation.
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

    /// Now; a wake-up after it ends a wait.
    var mark: Mark { Mark(count: state.withLock { $0.count }) }

    func wake() {
        let waiting = state.withLock { state in
            state.count += 1
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?.resume(returning: true)
    }

    /// Waits for a wake-up after `mark`, or for the task's cancellation. False when somebody waits already.
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
