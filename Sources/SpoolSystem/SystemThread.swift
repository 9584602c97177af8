import CSpoolSystem

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// A thread of our own: lanes, the event loop, the timers.
///
/// Never the cooperative pool of Swift's concurrency, which is as wide as the cores and must not block.
package final class SystemThread: Sendable {
    private let identity: Locked<Identity>

    private struct Identity {
        /// Nil once it was joined.
        var thread: pthread_t?
        /// Its body has returned: the system's calls take such a thread for the one that calls them, or for none.
        var hasEnded = false
        /// The core that was taken from it.
        var avoidedCore: Int32?
    }

    /// Starts a thread that runs `body` once.
    ///
    /// - Parameter name: shown by debuggers and `top`; Linux keeps the first 15 bytes.
    package init(name: String, _ body: @escaping @Sendable () -> Void) {
        let identity = Locked(Identity())
        self.identity = identity
        let start = ThreadStart(name: name) {
            body()
            identity.withLock { $0.hasEnded = true }
        }
        // A process that cannot have the handful of threads it was built on can't go on; nothing useful could be tried instead.
        guard let thread = Self.create(Unmanaged.passRetained(start)) else { fatalError("cannot start the thread \(name)") }
        identity.withLock { $0.thread = thread }
    }

    deinit {
        // Nobody joined: the thread cleans up after itself.
        if let thread = identity.withLock({ $0.thread }) { pthread_detach(thread) }
    }

    /// Waits until `body` has returned. Only the first call waits; never from the thread itself.
    package func join() {
        let thread = identity.withLock { (identity: inout Identity) -> pthread_t? in
            defer { identity.thread = nil }
            return identity.thread
        }
        guard let thread else { return }
        precondition(pthread_equal(thread, pthread_self()) == 0, "a thread cannot wait for itself")
        pthread_join(thread, nil)
    }

    /// True on the thread itself; false after it was joined.
    package var isCurrent: Bool {
        identity.withLock { $0.thread.map { pthread_equal($0, pthread_self()) != 0 } ?? false }
    }

    /// Keeps the thread off one core of the machine, until it is to keep off another or, with nil, off none. Where it may run on no other core, it stays.
    ///
    /// Does nothing once the thread has ended, and on systems that place threads by themselves (Darwin). From any thread.
    package func avoid(core: Int32?) {
        identity.withLock { identity in
            guard let thread = identity.thread, !identity.hasEnded, core != identity.avoidedCore else { return }
            let isAvoided = spool_avoid_core(thread, identity.avoidedCore ?? noCore, core ?? noCore) != 0
            identity.avoidedCore = isAvoided ? core : nil
        }
    }

    /// The core on which the calling thread runs at this moment; nil where the system does not say (Darwin).
    package static var currentCore: Int32? {
        let core = spool_current_core()
        return core < 0 ? nil : core
    }

    /// Asks the scheduler to let the calling thread run as soon as it wakes, for a short while at a time; a wish, which older kernels and other
    /// systems leave unheard.
    package static func askShortTurns() {
        _ = spool_ask_short_turns(shortTurn)
    }

    /// A tenth of a millisecond, the least that Linux takes.
    private static let shortTurn: UInt64 = 100_000

    /// Makes writing to a connection that the other side closed an error on the calling thread, not a signal that ends the process:
    /// `sendfile` has no `MSG_NOSIGNAL`. The rest of the process keeps its own ways.
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

/// Stands for no core where C asks for one.
private let noCore: Int32 = -1

/// What a new thread needs to know.
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
    start.body()
    return nil
}
