import Spool
import SpoolCore
import SpoolJSON
import SpoolSystem

/// The commands that take time. One request begins a job; further ones show it, pause it or stop it.
///
/// A program waits for one job, and reads its outcome once. The page reads the list of those that
/// it can begin itself. Ended jobs stay in the list until newer ones need their place.
final class ControlJobs: Sendable {
    /// The result of a job: a sentence for the page, and members for a program.
    struct Outcome {
        var text: String
        var members: [(String, JSON)]
    }

    private enum State {
        case running
        case paused
        case ended(Result<Outcome, CacheError>)

        var isOver: Bool { if case .ended = self { true } else { false } }

        var name: String {
            switch self {
            case .running: "running"
            case .paused: "paused"
            case .ended(.success): "done"
            case .ended(.failure): "failed"
            }
        }

        var text: String? {
            switch self {
            case .running, .paused: nil
            case .ended(.success(let outcome)): outcome.text
            case .ended(.failure(let error)): error.code == .cancelled ? "cancelled; what was fetched stays" : error.message
            }
        }
    }

    /// A program that waits for progress beyond a number of bytes.
    private struct Waiter {
        var beyond: Int64
        var done: ControlAnswer.Done
    }

    private struct Job {
        var id: Int64
        /// The command that began it.
        var verb: String
        var key: ResourceKey?
        var state = State.running
        /// The bytes that the job itself has counted. A preload counts its own.
        var doneBytes: Int64 = 0
        /// The running preload, or nil for another job and after the end.
        var preload: Preload?
        /// Stops the job, or nil for one that can't stop.
        var cancel: (@Sendable () -> Void)?
        var waiter: Waiter?

        /// The answer to a program that has seen `beyond` bytes, or nil while it has to wait.
        func answer(beyond: Int64) -> ControlAnswer? {
            switch state {
            case .ended(let result): ControlAnswer(result) { [("running", .integer(0)), ("done", .integer(doneBytes))] + $0.members }
            case .running, .paused:
                doneBytes.subtractingSaturated(beyond) < ControlJobs.stepBytes
                    ? nil : .object([("running", .integer(1)), ("done", .integer(doneBytes))])
            }
        }
    }

    private struct Table {
        var jobs: [Job] = []
        var last: Int64 = 0
        /// The number of changes so far.
        var changes: Int64 = 0
    }

    /// The largest number of jobs that run at once.
    static let runningLimit = 16
    /// The largest number of jobs in the list.
    static let listLimit = 32
    /// The progress, in bytes, that an answer waits for. It gives some tens of answers a second at
    /// the speed of a disk.
    private static let stepBytes: Int64 = 8 << 20

    private let table = Locked(Table())

    /// Enters a job and returns its number.
    ///
    /// - Throws: `ControlRefusal` while too many jobs run.
    func begin(_ verb: String, _ key: ResourceKey?) throws(ControlRefusal) -> Int64 {
        let id = table.withLock { table -> Int64? in
            guard table.jobs.filter({ !$0.state.isOver }).count < Self.runningLimit else { return nil }
            if table.jobs.count >= Self.listLimit, let oldest = table.jobs.firstIndex(where: { $0.state.isOver }) {
                table.jobs.remove(at: oldest)
            }
            table.last += 1
            table.changes += 1
            table.jobs.append(Job(id: table.last, verb: verb, key: key))
            return table.last
        }
        guard let id else {
            throw ControlRefusal(code: .tooMany, text: "\(Self.runningLimit) actions run already; wait for one of them, or cancel it")
        }
        return id
    }

    /// Takes the closure that stops a job, and keeps its preload for as long as it runs.
    func follow(_ id: Int64, _ preload: Preload? = nil, cancel: @escaping @Sendable () -> Void) {
        change(id) { job in
            if !job.state.isOver { (job.preload, job.cancel) = (preload, cancel) }
        }
    }

    /// Adds bytes to the progress of a job.
    func moved(_ bytes: Int64, _ id: Int64) { change(id) { $0.doneBytes = $0.doneBytes.addingSaturated(bytes) } }

    /// Sets the progress of a job, which never goes back.
    func reached(_ bytes: Int64, _ id: Int64) { change(id) { $0.doneBytes = max($0.doneBytes, bytes) } }

    /// Ends a job.
    func end(_ id: Int64, _ result: Result<Outcome, CacheError>) {
        change(id) { job in
            // Releasing a preload that has ended has no effect.
            (job.preload, job.cancel) = (nil, nil)
            job.state = .ended(result)
        }
    }

    /// Pauses a job or lets it go on.
    ///
    /// - Throws: `ControlRefusal` for a job that can't pause.
    func setPaused(_ isPaused: Bool, _ id: Int64) throws(ControlRefusal) {
        let preload = change(id) { job -> Preload? in
            if job.preload != nil { job.state = isPaused ? .paused : .running }
            return job.preload
        }
        guard let preload = preload ?? nil else {
            throw ControlRefusal(code: .unknownJob, text: "there is no such action, or it can't pause")
        }
        if isPaused { preload.pause() } else { preload.resume() }
    }

    /// Stops a job.
    ///
    /// - Throws: `ControlRefusal` for a job that can't stop.
    func cancel(_ id: Int64) throws(ControlRefusal) {
        guard let cancel = table.withLock({ $0.jobs.first { $0.id == id }?.cancel }) else {
            throw ControlRefusal(code: .unknownJob, text: "there is no such action, or it can't stop")
        }
        cancel()
    }

    /// Answers once the job has moved one step beyond `beyond` bytes, or has ended. A job has one
    /// waiting request at a time: a new one makes the earlier one fail.
    func wait(for id: Int64, beyond: Int64, _ done: @escaping ControlAnswer.Done) {
        let previous = change(id) { exchange(&$0.waiter, with: Waiter(beyond: beyond, done: done)) }
        let refused = ControlAnswer.refused(.unknownJob, "there is no such job, or another request waits for it")
        switch previous {
        case nil: done(refused)
        case .some(let waiter): waiter?.done(refused)
        }
    }

    /// The number of changes of the list so far.
    var changes: Int64 { table.withLock { $0.changes } }

    /// Returns the jobs of some commands, the newest first.
    func json(of isListed: (_ verb: String) -> Bool) -> JSON {
        let jobs = table.withLock { $0.jobs }.filter { isListed($0.verb) }
        return .array(
            jobs.reversed().map { job in
                let progress = job.preload?.currentProgress
                return .object([
                    ("id", .integer(job.id)), ("action", .string(job.verb)), ("key", JSON(job.key?.string)),
                    ("state", .string(job.state.name)), ("doneBytes", .integer(progress?.doneBytes ?? job.doneBytes)),
                    ("totalBytes", JSON(progress?.totalBytes)), ("text", JSON(job.state.text)), ("canPause", .bool(job.preload != nil)),
                ])
            })
    }

    /// Changes a job, and answers its waiting request if there is something to report. A program
    /// that has read the outcome of a job needs it no more.
    ///
    /// - Returns: The result of `body`, or nil without such a job.
    @discardableResult private func change<Value>(_ id: Int64, _ body: (inout Job) -> Value) -> Value? {
        let changed = table.withLock { table -> (value: Value, old: Job, waiter: Waiter?, answer: ControlAnswer?)? in
            guard let index = table.jobs.firstIndex(where: { $0.id == id }) else { return nil }
            let old = table.jobs[index]
            let value = body(&table.jobs[index])
            table.changes += 1
            guard let waiter = table.jobs[index].waiter, let answer = table.jobs[index].answer(beyond: waiter.beyond) else {
                return (value, old, nil, nil)
            }
            table.jobs[index].waiter = nil
            if table.jobs[index].state.isOver { table.jobs.remove(at: index) }
            return (value, old, waiter, answer)
        }
        guard let changed else { return nil }
        if let answer = changed.answer { changed.waiter?.done(answer) }
        // A released preload runs its deinitialiser outside of the lock.
        return withExtendedLifetime(changed.old) { changed.value }
    }
}
