internal import SpoolSystem

/// The body of a request on its way to an origin: a pipe between the source of the bytes and the
/// transport that sends them.
///
/// The pipe is bounded: `write` takes fewer bytes when there is no room, and `onRoom` reports when
/// there is room again. So a slow origin stops a fast client. One writer and one reader use it, on
/// any threads. A body is equal only to itself.
public final class RequestBody: Sendable, Hashable {
    /// The result of a read.
    public enum Step: Hashable, Sendable {
        /// This many bytes were put into the buffer, at least one.
        case bytes(Int)
        /// There are no bytes yet. The closure of `onReadable` is called when there may be.
        case wait
        /// All bytes were read.
        case end
        /// The writer left before the end.
        case broken
    }

    private struct State {
        var buffer: [UInt8] = []
        var head = 0
        var written: Int64 = 0
        var isBroken = false
        var isWriterWaiting = false
        var readable: (@Sendable () -> Void)?
        var room: (@Sendable () -> Void)?

        var held: Int { buffer.count - head }
    }

    /// The most bytes that the pipe holds: 256 KiB. That is a few turns of a socket, and little for
    /// each of many clients.
    public static let capacity = 256 * 1024

    /// The length of the body in bytes.
    public let count: Int64
    private let state: Locked<State>

    /// Creates a body of `count` bytes, to be written. `count` must be at least 0.
    public init(count: Int64) {
        precondition(count >= 0, "a body of \(count) bytes")
        self.count = count
        state = Locked(State())
    }

    /// Creates a body of bytes that are all there.
    public init(_ bytes: [UInt8]) {
        count = Int64(bytes.count)
        var state = State()
        state.buffer = bytes
        state.written = Int64(bytes.count)
        self.state = Locked(state)
    }

    /// The number of bytes that were written so far.
    package var writtenBytes: Int64 { state.withLock { $0.written } }

    /// Whether a writer could write more now.
    package var hasRoom: Bool { state.withLock { $0.written < count && $0.held < Self.capacity } }

    // MARK: The writer

    /// Writes as many of the bytes as there is room for, and none beyond `count`.
    ///
    /// If it takes fewer bytes than it was given, the closure of `onRoom` is called once there is
    /// room again.
    ///
    /// - Returns: The number of bytes taken.
    public func write(_ bytes: UnsafeRawBufferPointer) -> Int {
        let (taken, wake) = state.withLock { state in
            let taken = min(bytes.count, max(0, Self.capacity - state.held), Int(min(count - state.written, Int64(Int.max))))
            state.buffer.append(contentsOf: bytes[..<taken])
            state.written += Int64(taken)
            state.isWriterWaiting = taken < bytes.count
            return (taken, taken > 0 ? state.readable : nil)
        }
        wake?()
        return taken
    }

    /// Sets the closure that is called when there is room again. It may be called on any thread,
    /// late or more than once.
    public func onRoom(_ room: @escaping @Sendable () -> Void) { state.withLock { $0.room = room } }

    /// Ends the body before its end, because the writer leaves. Has no effect after the last byte.
    public func breakOff() {
        let wake = state.withLock { state in
            guard state.written < count else { return (@Sendable () -> Void)?.none }
            state.isBroken = true
            return state.readable
        }
        wake?()
    }

    // MARK: The reader

    /// Moves bytes into `buffer`, which must not be empty.
    public func read(into buffer: UnsafeMutableRawBufferPointer) -> Step {
        let (step, wake) = state.withLock { state -> (Step, (@Sendable () -> Void)?) in
            guard state.held > 0 else {
                if state.written == count { return (.end, nil) }
                return (state.isBroken ? .broken : .wait, nil)
            }
            let taken = min(buffer.count, state.held)
            state.buffer.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[state.head..<state.head + taken])) }
            state.head += taken
            if state.held == 0 {
                state.buffer.removeAll(keepingCapacity: true)
                state.head = 0
            } else if state.head >= Self.capacity {
                state.buffer.removeFirst(state.head)
                state.head = 0
            }
            defer { state.isWriterWaiting = false }
            return (.bytes(taken), state.isWriterWaiting ? state.room : nil)
        }
        wake?()
        return step
    }

    /// Sets the closure that is called when a `.wait` is over. It may be called on any thread, late
    /// or more than once.
    public func onReadable(_ wake: @escaping @Sendable () -> Void) { state.withLock { $0.readable = wake } }

    // MARK: Identity

    /// Returns whether `a` and `b` are the same object.
    public static func == (a: RequestBody, b: RequestBody) -> Bool { a === b }

    /// Hashes the identity of the body.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
