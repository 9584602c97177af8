import SpoolCore
import SpoolSystem

/// Commands that take a while: begun by one request, followed by others, so that a client can show how far they are, and stop them.
///
/// A client asks for a job again and again; each answer waits until there is something new to tell. How a job ended is told once.
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

    /// Jobs that run, or have ended and nobody has asked how; beyond, the oldest of the ended go.
    private static let limit = 16
    /// An answer waits for so many bytes: some tens of answers a second at a disk's pace.
    private static let stepBytes: Int64 = 8 << 20

    /// Begins a job; nil when too many run.
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

    /// So many bytes more are done.
    func moved(_ bytes: Int64, of id: Int64) {
        tell(id) { $0.bytes += bytes }
    }

    func end(_ id: Int64, _ outcome: Outcome) {
        tell(id) { $0.outcome = outcome }
    }

    /// Answers once the job has done more than so many bytes and a step, or is over. One asks at a time; who asked before is answered now.
    func wait(for id: Int64, beyond: Int64, _ answer: @escaping @Sendable (AdminAPI.Answer) -> Void) {
        let previous = state.withLock { state -> Waiter? in
            let previous = state.jobs[id]?.waiter
            state.jobs[id]?.waiter = Waiter(beyond: beyond, answer: answer)
            return state.jobs[id] == nil ? Waiter(beyond: 0, answer: answer) : previous
        }
        previous?.answer(.failed(status: 404, "there is no such job, or somebody else asks for it"))
        tell(id) { _ in }
    }

    /// Asks a job to stop; false when there is none.
    func cancel(_ id: Int64) -> Bool {
        guard let cancel = state.withLock({ $0.jobs[id]?.cancel }) else { return false }
        cancel()
        return true
    }

    /// Changes a job, and answers who waits for it if there is something to tell.
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
