import SpoolCore
import SpoolProxy
import SpoolSystem

/// The long-running commands. One request begins a job, and further requests show its progress or
/// stop it.
///
/// A client polls a job. Each answer waits until there is progress to report. The outcome of a job
/// is reported once.
final class AdminJobs: Sendable {
    typealias Outcome = Result<[(String, JSON)], CacheError>

    private struct Waiter {
        var beyond: Int64
        var answer: @Sendable (AdminAPI.Answer) -> Void
    }

    private struct Job {
        var bytes: Int64 = 0
        var outcome: Outcome?
        var waiter: Waiter?
        var cancel: @Sendable () -> Void
    }

    private struct State {
        var jobs: [Int64: Job] = [:]
        var last: Int64 = 0
    }

    private let state = Locked(State())

    /// The largest number of jobs that run, or have ended without their outcome being read. Beyond
    /// it, the oldest ended job is removed.
    private static let limit = 16
    /// The progress, in bytes, that an answer waits for. It gives some tens of answers a second at
    /// the speed of a disk.
    private static let stepBytes: Int64 = 8 << 20

    /// Begins a job.
    ///
    /// - Returns: Its id, or nil when too many jobs run.
    func begin(cancel: @escaping @Sendable () -> Void) -> Int64? {
        state.withLock { state in
            if state.jobs.count >= Self.limit {
                guard let oldest = state.jobs.filter({ $0.value.outcome != nil }).keys.min() else { return nil }
                state.jobs[oldest] = nil
            }
            state.last += 1
            state.jobs[state.last] = Job(cancel: cancel)
            return state.last
        }
    }

    /// Adds `bytes` to the progress of a job.
    func moved(_ bytes: Int64, of id: Int64) {
        tell(id) { $0.bytes += bytes }
    }

    func end(_ id: Int64, _ outcome: Outcome) {
        tell(id) { $0.outcome = outcome }
    }

    /// Answers once the job has moved one step beyond `beyond` bytes, or has ended. A job has one
    /// waiting request at a time: a new one makes the earlier one fail.
    func wait(for id: Int64, beyond: Int64, _ answer: @escaping @Sendable (AdminAPI.Answer) -> Void) {
        let previous = state.withLock { state -> Waiter? in
            let previous = state.jobs[id]?.waiter
            state.jobs[id]?.waiter = Waiter(beyond: beyond, answer: answer)
            return state.jobs[id] == nil ? Waiter(beyond: 0, answer: answer) : previous
        }
        previous?.answer(.failed(status: 404, "there is no such job, or another request waits for it"))
        tell(id) { _ in }
    }

    /// Asks a job to stop.
    ///
    /// - Returns: False when there is no such job.
    func cancel(_ id: Int64) -> Bool {
        guard let cancel = state.withLock({ $0.jobs[id]?.cancel }) else { return false }
        cancel()
        return true
    }

    /// Changes a job, and answers its waiting request if there is progress to report.
    private func tell(_ id: Int64, _ change: (inout Job) -> Void) {
        let told = state.withLock { state -> (Waiter, Int64, Outcome?)? in
            guard var job = state.jobs[id] else { return nil }
            change(&job)
            defer { state.jobs[id] = job }
            guard let waiter = job.waiter, job.outcome != nil || job.bytes >= waiter.beyond + Self.stepBytes else { return nil }
            job.waiter = nil
            return (waiter, job.bytes, job.outcome)
        }
        guard let (waiter, bytes, outcome) = told else { return }
        switch outcome {
        case nil: waiter.answer(.object([("running", .integer(1)), ("done", .integer(bytes))]))
        case .success(let members):
            forget(id)
            waiter.answer(.object([("running", .integer(0)), ("done", .integer(bytes))] + members))
        case .failure(let error):
            forget(id)
            waiter.answer(AdminAPI.Answer(error))
        }
    }

    private func forget(_ id: Int64) { state.withLock { $0.jobs[id] = nil } }
}

extension AdminAPI.Answer {
    static var tooManyJobs: AdminAPI.Answer { .failed(status: 503, "too many commands run at once; try again when one has ended") }
}
