import SpoolCore
import SpoolLibc
import SpoolServer
import SpoolSystem
import Testing

/// A handler made from a closure.
final class ClosureHandler: Handler {
    private let answer: @Sendable (RequestHead, Exchange) -> Void

    init(_ answer: @escaping @Sendable (RequestHead, Exchange) -> Void) {
        self.answer = answer
    }

    func respond(to request: RequestHead, on exchange: Exchange) {
        answer(request, exchange)
    }
}

/// A server on its own loop, with a clock that the test moves.
final class TestServer: @unchecked Sendable {
    // Safe to share: constants after init, or state behind locks.
    let loop: EventLoop
    let server: HTTPServer
    let address: SocketAddress
    private let thread: SystemThread
    private let clock: Locked<Int64>
    private let records: Locked<[AccessRecord]>

    convenience init(
        _ change: (inout ServerOptions) -> Void = { _ in },
        answer: @escaping @Sendable (RequestHead, Exchange) -> Void
    ) throws {
        try self.init(change, handler: ClosureHandler(answer))
    }

    init(_ change: (inout ServerOptions) -> Void = { _ in }, handler: any Handler) throws {
        let clock = Locked<Int64>(0), records = Locked<[AccessRecord]>([])
        (self.clock, self.records) = (clock, records)
        loop = try EventLoop(clock: { MonotonicInstant(nanoseconds: clock.withLock { $0 }) })
        var options = ServerOptions(wallNow: { Timestamp(seconds: 784_111_777) })
        options.onResponse = { record in records.withLock { $0.append(record) } }
        change(&options)
        server = HTTPServer(loop: loop, options: options, handler: handler)
        address = try server.listen(host: "127.0.0.1", port: 0)[0]
        thread = loop.start(name: "server test")
    }

    /// Runs `body` on the loop and waits for its value.
    func onLoop<R: Sendable>(_ body: @escaping @Sendable () -> R) -> R {
        let result = Locked<R?>(nil)
        let gate = Gate()
        loop.post {
            let value = body()
            result.withLock { $0 = value }
            gate.open()
        }
        gate.wait()
        return result.withLock { $0! }
    }

    /// Moves the clock and lets every timer that is due run.
    func advance(seconds: Int64) {
        for _ in 0..<seconds {
            clock.withLock { $0 += 1_000_000_000 }
            // Two turns: the timer fires in the first, its jobs run in the second.
            onLoop {}
            onLoop {}
        }
    }

    /// The records of the access hook.
    var log: [AccessRecord] { onLoop { self.records.withLock { $0 } } }

    var counters: ServerCounters { onLoop { self.server.counters } }

    /// Posts to the loop until `condition` is true there. Other threads or the kernel bring it
    /// about.
    func wait(until condition: @escaping @Sendable () -> Bool) {
        while !onLoop(condition) { sched_yield() }
    }

    func stop() {
        let gate = Gate()
        server.stop { gate.open() }
        gate.wait()
        loop.stop()
        thread.join()
    }

    func connect(receiveBuffer: Int32? = nil) throws -> Client {
        try Client(address, receiveBuffer: receiveBuffer)
    }
}

/// A gate that opens once. `wait()` blocks until then, without polling.
final class Gate: @unchecked Sendable {
    // Safe to share: the mutex guards `isOpen`.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var isOpen = false

    init() {
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
        isOpen = true
        pthread_cond_broadcast(condition)
        pthread_mutex_unlock(mutex)
    }

    func wait() {
        pthread_mutex_lock(mutex)
        while !isOpen { pthread_cond_wait(condition, mutex) }
        pthread_mutex_unlock(mutex)
    }
}

/// A file with known bytes, unlinked at once.
final class TestFile: @unchecked Sendable {
    // Safe to share: constants after init.
    let descriptor: Int32
    let bytes: [UInt8]

    init(count: Int) throws {
        var path = Array("/tmp/spool-server-XXXXXX".utf8CString)
        descriptor = mkstemp(&path)
        guard descriptor >= 0 else { throw SystemError(code: errno, operation: "mkstemp") }
        unlink(path)
        // The block's length is prime, so that the bytes at two offsets a power of two apart
        // differ.
        let block = (0..<65_521).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        while bytes.count < count { bytes += block.prefix(count - bytes.count) }
        self.bytes = bytes
        var written = 0
        while written < count {
            let result = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress! + written, count - written) }
            guard result > 0 else { throw SystemError(code: errno, operation: "write") }
            written += result
        }
    }

    deinit { close(descriptor) }
}
