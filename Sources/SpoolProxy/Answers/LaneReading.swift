package import SpoolCore
package import SpoolStore
package import SpoolSystem

/// Reads stored bytes for a body source on an event loop, one range at a time. A read happens at
/// once when it does not have to wait, else on a lane. Reads reuse the same memory.
package final class LaneReading: Sendable {
    /// The state of the last read. The lane sets it, and the event loop reads it.
    package enum State {
        /// No read is requested.
        case idle
        /// The lane is reading.
        case underWay
        /// Bytes that were read and not yet consumed. They are valid until the next call.
        case ready(OwnedBytes)
        /// The range could not be read. The error is nil when the file had no bytes there.
        case failed(ByteRange, StoreError?)
    }

    /// The largest read, in bytes. It is large enough to make the round trip to the lane cheap in
    /// comparison. It is small enough for the processor's cache, because the bytes are decrypted,
    /// possibly transformed, and sent right after.
    package static let readBytes = 256 << 10

    private struct Progress {
        var isUnderWay = false
        var failure: (ByteRange, StoreError?)?
        var count = 0
        var sent = 0
    }

    private let progress = Locked(Progress())
    /// Memory that the lane writes during a read, and that the event loop reads at other times.
    /// `Progress` records whose turn it is, and the lane ends its turn under the lock.
    private let memory = HeapBlock(count: readBytes, alignment: 64)

    /// Creates a reading and allocates its memory.
    package init() {}

    /// Reads the start of `range` on the calling thread if it is in memory.
    ///
    /// - Precondition: No read is in progress, and all bytes of the last one were consumed.
    /// - Returns: False when a lane has to read the range. There are no side effects then.
    package func readAtOnce(_ range: ByteRange, of file: any StoredBytes) -> Bool {
        progress.withLock { progress in
            precondition(!progress.isUnderWay && progress.sent == progress.count, "two reads at once")
        }
        let count = file.readResident(into: part(range), at: range.lowerBound)
        guard count > 0 else { return false }
        progress.withLock { $0 = Progress(count: count) }
        return true
    }

    /// Begins to read the start of `range`. Calls `done` on the lane at the end.
    ///
    /// - Precondition: No read is in progress, and all bytes of the last one were consumed.
    package func begin(_ range: ByteRange, of file: any StoredBytes, on lane: any Mailbox, done: @escaping @Sendable () -> Void) {
        progress.withLock { progress in
            precondition(!progress.isUnderWay && progress.sent == progress.count, "two reads at once")
            progress = Progress(isUnderWay: true)
        }
        lane.post { [self] in
            let result = Result { () throws(StoreError) in try file.read(into: part(range), at: range.lowerBound) }
            progress.withLock { progress in
                progress.isUnderWay = false
                switch result {
                case .success(0): progress.failure = (range, nil)
                case .success(let count): progress.count = count
                case .failure(let error): progress.failure = (range, error)
                }
            }
            done()
        }
    }

    /// Returns the memory for the start of `range`.
    private func part(_ range: ByteRange) -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: memory.bytes.prefix(Int(range.count)))
    }

    /// The state of the last read.
    package var state: State {
        progress.withLock { progress in
            if progress.isUnderWay { return .underWay }
            if let (range, error) = progress.failure { return .failed(range, error) }
            guard progress.sent < progress.count else { return .idle }
            return .ready(OwnedBytes(UnsafeRawBufferPointer(rebasing: memory.bytes[progress.sent..<progress.count]), ownedBy: memory))
        }
    }

    /// Advances by `count` bytes that the client took.
    package func consumed(_ count: Int) {
        progress.withLock { progress in
            if progress.sent < progress.count { progress.sent += count }
        }
    }

    /// Clears a failure.
    package func reset() {
        progress.withLock { $0 = Progress() }
    }
}
