/// A queue of jobs that one thread at a time runs in order. It is the only way in which work
/// crosses threads.
///
/// `post` never runs the job inline. It may be called on any thread, but never under a lock. The
/// implementations are an event loop, the transport's loop, a disk lane, a dispatch queue and the
/// simulator.
package protocol Mailbox: AnyObject, Sendable {
    /// Runs `job` later, after every job that was posted before it.
    func post(_ job: @escaping @Sendable () -> Void)
}
