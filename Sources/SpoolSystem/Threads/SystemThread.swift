import CSpoolSystem
import SpoolLibc

/// A thread for a lane, an event loop or the timers.
///
/// Spool never uses the cooperative pool of Swift's concurrency for them: that pool is as wide as
/// the number of cores and must not block.
package final class SystemThread: Sendable {
    private let identity: Locked<Identity>

    private struct Identity {
        /// Nil after it was joined.
        var thread: pthread_t?
        /// Whether the thread's body has returned. The system's calls would take an ended thread
        /// for the calling one, or fail.
        var hasEnded = false
        /// The core that the thread may not use.
        var avoidedCore: Int32?
    }

    /// Starts a thread that runs `body` once.
    ///
    /// - Parameter name: shown by debuggers and `top`. Linux keeps the first 15 bytes.
    package init(name: String, _ body: @escaping @Sendable () -> Void) {
        let identity = Locked(Identity())
        self.identity = identity
        let start = ThreadStart(name: name) {
            body()
            identity.withLock { $0.hasEnded = true }
        }
        // A process that can't start the few threads that it is built on can't continue. There is
        // no fallback.
        guard let thread = Self.create(Unmanaged.passRetained(start)) else { fatalError("cannot start the thread \(name)") }
        identity.withLock { $0.thread = thread }
    }

    deinit {
        // The thread was never joined, so it frees its resources itself.
        if let thread = identity.withLock({ $0.thread }) { pthread_detach(thread) }
    }

    /// Waits until `body` has returned. Only the first call waits. Must not be called on the thread
    /// itself.
    package func join() {
        let thread = identity.withLock { $0.thread.take() }
        guard let thread else { return }
        precondition(pthread_equal(thread, pthread_self()) == 0, "a thread cannot wait for itself")
        pthread_join(thread, nil)
    }

    /// Whether the calling thread is this thread. False after it was joined.
    package var isCurrent: Bool {
        identity.withLock { $0.thread.map { pthread_equal($0, pthread_self()) != 0 } == true }
    }

    /// Keeps the thread off one core of the machine, until a later call names another core, or nil.
    /// Ignored if the thread may run on no other core.
    ///
    /// Ignored after the thread has ended, and on systems that place threads by themselves
    /// (Darwin). May be called on any thread.
    package func avoid(core: Int32?) {
        identity.withLock { identity in
            guard let thread = identity.thread, !identity.hasEnded, core != identity.avoidedCore else { return }
            let isAvoided = spool_avoid_core(thread, identity.avoidedCore ?? noCore, core ?? noCore) != 0
            identity.avoidedCore = isAvoided ? core : nil
        }
    }

    /// The core on which the calling thread runs at this moment, or nil when the system does not
    /// report it (Darwin).
    package static var currentCore: Int32? {
        let core = spool_current_core()
        return core < 0 ? nil : core
    }

    /// Asks the scheduler to run the calling thread as soon as it wakes, for a short while at a
    /// time. Older kernels and other systems ignore the request.
    package static func askShortTurns() {
        _ = spool_ask_short_turns(shortTurn)
    }

    /// A tenth of a millisecond, the minimum that Linux accepts.
    private static let shortTurn: UInt64 = 100_000

    /// Blocks SIGPIPE on the calling thread. Writing to a connection that the other side closed is
    /// then an error instead of a signal that ends the process; `sendfile` has no `MSG_NOSIGNAL`.
    /// Other threads of the process are not affected.
    package static func blockBrokenPipeSignal() {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    private static func create(_ start: Unmanaged<ThreadStart>) -> pthread_t? {
        #if canImport(Darwin)
        var thread: pthread_t?
        let code = pthread_create(&thread, nil, { runThread($0) }, start.toOpaque())
        return code == 0 ? thread : nil
        #else
        var thread = pthread_t()
        let code = pthread_create(&thread, nil, { runThread($0) }, start.toOpaque())
        return code == 0 ? thread : nil
        #endif
    }
}

/// The number that means "no core" in the C functions.
private let noCore: Int32 = -1

/// The name and the body of a new thread.
private final class ThreadStart: Sendable {
    let name: String
    let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
    }
}

private func runThread(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument else { return nil }
    let start = Unmanaged<ThreadStart>.fromOpaque(argument).takeRetainedValue()
    spool_name_this_thread(start.name)
    SystemThread.blockBrokenPipeSignal()
    #if canImport(Darwin)
    // Players wait for each of these threads. Without a class the system would run them behind the
    // user interface, and they would delay the queues of the players, which have this one.
    pthread_set_qos_class_self_np(QOS_CLASS_USER_INITIATED, 0)
    #endif
    start.body()
    return nil
}
