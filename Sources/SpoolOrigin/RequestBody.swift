internal import SpoolSystem

/// The body of a request on its way to an origin: a pipe between whoever has the bytes and the transport that sends them.
///
/// Bounded: the writer is told when there is no room, and called when there is again, so that a slow origin stops a fast client.
/// One writer, one reader, on any threads. Equal only to itself.
public final class RequestBody: Sendable, Hashable {
    /// What a read brought.
    public enum Step: Hashable, Sendable {
        /// So many bytes were put into the buffer, at least one.
        case bytes(Int)
        /// Nothing yet; the reader's wake-up is called.
        case wait
        /// All bytes were read.
        case end
        /// The writer is gone before the end.
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

    /// The most bytes that are held: a few turns of a socket, and little for each of many clients.
    public static let capacity = 256 * 1024

    /// The length of the body in bytes.
    public let count: Int64
    private let state: Locked<State>

    /// A body of so many bytes, to be written.
    public init(count: Int64) {
        precondition(count >= 0, "a body of \(count) bytes")
        self.count = count
        state = Locked(State())
    }

    /// A body that is all there.
    public init(_ bytes: [UInt8]) {
        count = Int64(bytes.count)
        var state = State()
        state.buffer = bytes
        state.written = Int64(bytes.count)
        self.state = Locked(state)
    }

    // MARK: The writer

    /// Takes as many of the bytes as there is room for, none beyond the length; how many that were. When it took fewer than were offered,
    /// `room` of `onRoom` is called once there is room again.
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

    /// Sets what to call when there is room again; from any thread, late or repeated calls are harmless.
    public func onRoom(_ room: @escaping @Sendable () -> Void) { state.withLock { $0.room = room } }

    /// The writer is gone: what is missing does not come. Nothing after the last byte.
    public func breakOff() {
        let wake = state.withLock { state in
            guard state.written < count else { return (@Sendable () -> Void)?.none }
            state.isBroken = true
            return state.readable
        }
        wake?()
    }

    // MARK: The reader

    /// Moves bytes into `buffer`, which is not empty.
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

    /// Sets what to call when `.wait` is over; from any thread, late or repeated calls are harmless.
    public func onReadable(_ wake: @escaping @Sendable () -> Void) { state.withLock { $0.readable = wake } }

    // MARK: Identity

    public static func == (a: RequestBody, b: RequestBody) -> Bool { a === b }

    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
