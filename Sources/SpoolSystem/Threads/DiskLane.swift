/// A mailbox with its own thread, whose jobs may block on the disk.
///
/// Jobs run one at a time, in the order in which they were posted. The queue has no bound of its
/// own; the callers bound the number of jobs (by the buffers of the pool, and one index call for
/// each session). Releasing a lane runs the posted jobs and ends the thread.
package final class DiskLane: Mailbox {
    private let queue: Monitor<JobQueue>
    /// The lane's thread.
    package let thread: SystemThread

    /// Starts the lane's thread.
    package init(name: String) {
        let queue = Monitor(JobQueue())
        self.queue = queue
        thread = SystemThread(name: name) { Self.run(queue) }
    }

    deinit {
        queue.change { $0.isClosed = true }
    }

    /// Runs `job` on the lane, after every job that was posted before. Ignored after
    /// ``shutdown()``.
    package func post(_ job: @escaping @Sendable () -> Void) {
        queue.change { queue in
            if !queue.isClosed { queue.jobs.append(job) }
        }
    }

    /// Runs the posted jobs, ends the thread, and returns when it has ended. Further calls are
    /// ignored. Must not be called on the lane itself.
    package func shutdown() {
        precondition(!isCurrent, "a lane cannot wait for itself")
        queue.change { $0.isClosed = true }
        queue.wait { $0.isFinished ? .done(()) : .change }
        thread.join()
    }

    /// Whether the caller is on the lane's own thread.
    package var isCurrent: Bool { thread.isCurrent }

    /// Takes all waiting jobs at once, so that a busy lane locks once for each batch.
    private static func run(_ queue: Monitor<JobQueue>) {
        while var batch = queue.wait({ $0.take() }) {
            batch.reverse()
            // `popLast` releases each job before the next one runs, because a job may hold the last
            // reference to a buffer.
            while let job = batch.popLast() {
                job()
            }
        }
        queue.change { $0.isFinished = true }
    }
}

private struct JobQueue: Sendable {
    var jobs: [@Sendable () -> Void] = []
    var isClosed = false
    var isFinished = false

    /// Returns all waiting jobs, or nil when the lane has to end.
    mutating func take() -> Monitor<JobQueue>.Wait<[@Sendable () -> Void]?> {
        if jobs.isEmpty { return isClosed ? .done(nil) : .change }
        defer { jobs = [] }
        return .done(jobs)
    }
}
