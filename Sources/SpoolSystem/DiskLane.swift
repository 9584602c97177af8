/// A mailbox with a thread of its own, on which calls may block on the disk.
///
/// Jobs run one at a time in the order of their posting. The queue has no bound of its own: what is posted is bounded by
/// those who post (the buffers of the pool, one index call per session). Letting go of a lane runs what was posted and ends the thread.
package final class DiskLane: Mailbox {
    private let queue: Monitor<JobQueue>
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

    /// Runs `job` on the lane, after every job that was posted before. Does nothing after ``shutdown()``.
    package func post(_ job: @escaping @Sendable () -> Void) {
        queue.change { queue in
            if !queue.isClosed { queue.jobs.append(job) }
        }
    }

    /// Runs what was posted so far, ends the thread and returns when it has ended. Idempotent; never from the lane itself.
    package func shutdown() {
        precondition(!isCurrent, "a lane cannot wait for itself")
        queue.change { $0.isClosed = true }
        queue.wait { $0.isFinished ? .done(()) : .change }
        thread.join()
    }

    /// True on the lane's own thread.
    package var isCurrent: Bool { thread.isCurrent }

    /// Takes everything that waits in one go, so that a busy lane locks once per batch.
    private static func run(_ queue: Monitor<JobQueue>) {
        while var batch = queue.wait({ $0.take() }) {
            batch.reverse()
            // popLast lets go of each job before the next runs: it may be the last holder of a buffer.
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

    /// All that waits; nil when the lane is to end.
    mutating func take() -> Monitor<JobQueue>.Wait<[@Sendable () -> Void]?> {
        if jobs.isEmpty { return isClosed ? .done(nil) : .change }
        defer { jobs = [] }
        return .done(jobs)
    }
}
