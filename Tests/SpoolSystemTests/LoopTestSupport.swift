import SpoolLibc
import SpoolSystem

#if canImport(Darwin)
let streamType = SOCK_STREAM
#else
let streamType = Int32(SOCK_STREAM.rawValue)
#endif

/// A mutable place for values that live on the loop only.
final class Box<Value>: @unchecked Sendable {
    // One thread at a time uses it: the loop's.
    var value: Value?
}

/// Opens after a number of calls. Waiting blocks the thread and does not poll.
final class Gate: @unchecked Sendable {
    // The mutex guards `missing`.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var missing: Int
    private let count: Int

    init(count: Int = 1) {
        self.count = count
        missing = count
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        pthread_cond_destroy(condition)
        mutex.deallocate()
        condition.deallocate()
    }

    func open() {
        pthread_mutex_lock(mutex)
        missing -= 1
        pthread_cond_broadcast(condition)
        pthread_mutex_unlock(mutex)
    }

    /// Waits until the gate is open, and closes it again.
    func wait() {
        pthread_mutex_lock(mutex)
        while missing > 0 { pthread_cond_wait(condition, mutex) }
        missing += count
        pthread_mutex_unlock(mutex)
    }
}

private final class ThreadBody {
    let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) {
        self.body = body
    }
}

/// Runs `body` on a new thread.
func onThread(_ body: @escaping @Sendable () -> Void) {
    let argument = Unmanaged.passRetained(ThreadBody(body)).toOpaque()
    #if canImport(Darwin)
    var thread: pthread_t?
    pthread_create(
        &thread, nil,
        { argument in
            Unmanaged<ThreadBody>.fromOpaque(argument).takeRetainedValue().body()
            return nil
        }, argument)
    if let thread { pthread_detach(thread) }
    #else
    var thread = pthread_t()
    pthread_create(
        &thread, nil,
        { argument in
            if let argument { Unmanaged<ThreadBody>.fromOpaque(argument).takeRetainedValue().body() }
            return nil
        }, argument)
    pthread_detach(thread)
    #endif
}

func makePipe() throws -> (reader: Int32, writer: Int32) {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { throw SystemError(code: errno, operation: "pipe") }
    return (ends[0], ends[1])
}

func writeByte(_ descriptor: Int32) {
    var byte: UInt8 = 1
    precondition(write(descriptor, &byte, 1) == 1)
}

/// Returns the seed of a random test: `SPOOL_SEED`, or a new one.
func testSeed() -> UInt64 {
    if let text = getenv("SPOOL_SEED"), let seed = UInt64(String(cString: text)) { return seed }
    return UInt64.random(in: 0...999_999)
}

/// A small generator (xorshift) whose sequence follows from a seed.
struct TestRandom {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
    }

    mutating func below(_ bound: Int) -> Int {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return Int((state >> 11) % UInt64(bound))
    }
}
