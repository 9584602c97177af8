/// A queue of jobs that one thread at a time works off in order: the only way in which work crosses threads.
///
/// `post` never runs the job inline and may be called from any thread, but never under a lock.
/// Backed by an event loop, the transport's loop, a disk lane, a dispatch queue or the simulator.
package protocol Mailbox: AnyObject, Sendable {
    /// Runs `job` later, after every job that was posted before it.
    func post(_ job: @escaping @Sendable () -> Void)
}
