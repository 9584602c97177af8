import SpoolSystem

/// The asynchronous work of pages and commands, on one lane.
///
/// The threads of the system's pool may all wait for a page, as those of tests do. On Apple's
/// systems, the pool runs the work: a lane for tasks needs iOS 18 or macOS 15.
enum LaneTasks {
    #if os(Linux)
    private final class Executor: TaskExecutor {
        private let lane = DiskLane(name: "spool-pages")

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            lane.post { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }

    private static let executor = Executor()
    #endif

    /// Begins work.
    @discardableResult static func begin<Value: Sendable>(
        _ work: @escaping @Sendable () async -> Value
    ) -> Task<Value, Never> {
        #if os(Linux)
        Task(executorPreference: executor) { await work() }
        #else
        Task { await work() }
        #endif
    }
}
