import Spool
import SpoolCore
import SpoolSystem

/// The actions of the page that take time: fetches, preloads and verifications.
///
/// A browser asks for the list as long as one of them runs. Ended ones stay in the list until newer
/// ones need their place.
final class PageJobs: Sendable {
    /// An error that names the reason why a job can't begin or change.
    struct Refusal: Error {
        var code: RefusalCode
        var text: String
    }

    private enum State {
        case running
        case paused
        /// The text for the user.
        case done(String)
        case failed(String)

        var isOver: Bool {
            switch self {
            case .running, .paused: false
            case .done, .failed: true
            }
        }

        var name: String {
            switch self {
            case .running: "running"
            case .paused: "paused"
            case .done: "done"
            case .failed: "failed"
            }
        }

        var text: String? {
            switch self {
            case .running, .paused: nil
            case .done(let text), .failed(let text): text
            }
        }
    }

    private struct Job {
        var id: Int64
        /// The verb that began it.
        var action: String
        var key: ResourceKey
        var state = State.running
        /// The bytes that a verification has compared.
        var doneBytes: Int64 = 0
        /// The running preload, or nil for a verification and after the end.
        var preload: Preload?
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

    private let table = Locked(Table())

    /// Enters a job and returns its number.
    ///
    /// - Throws: `Refusal` while too many jobs run.
    func begin(_ action: String, _ key: ResourceKey) throws(Refusal) -> Int64 {
        let id = table.withLock { table -> Int64? in
            guard table.jobs.filter({ !$0.state.isOver }).count < Self.runningLimit else { return nil }
            if table.jobs.count >= Self.listLimit, let oldest = table.jobs.firstIndex(where: { $0.state.isOver }) {
                table.jobs.remove(at: oldest)
            }
            table.last += 1
            table.changes += 1
            table.jobs.append(Job(id: table.last, action: action, key: key))
            return table.last
        }
        guard let id else {
            throw Refusal(code: .tooMany, text: "\(Self.runningLimit) actions run already; wait for one of them, or cancel it")
        }
        return id
    }

    /// Keeps a preload for as long as it runs.
    func follow(_ preload: Preload, _ id: Int64) { change(id) { if !$0.state.isOver { $0.preload = preload } } }

    /// Adds compared bytes to a verification.
    func moved(_ bytes: Int64, _ id: Int64) { change(id) { $0.doneBytes += bytes } }

    /// Ends a job with a text for the user.
    func end(_ id: Int64, _ result: Result<String, CacheError>) {
        change(id) { job in
            // Releasing a preload that has ended has no effect.
            job.preload = nil
            switch result {
            case .success(let text): job.state = .done(text)
            case .failure(let error): job.state = .failed(error.code == .cancelled ? "cancelled; what was fetched stays" : error.message)
            }
        }
    }

    /// Pauses a job or lets it go on.
    ///
    /// - Throws: `Refusal` for a job that can't pause.
    func setPaused(_ isPaused: Bool, _ id: Int64) throws(Refusal) {
        let preload = table.withLock { table -> Preload? in
            guard let index = table.jobs.firstIndex(where: { $0.id == id }), let preload = table.jobs[index].preload else { return nil }
            table.jobs[index].state = isPaused ? .paused : .running
            table.changes += 1
            return preload
        }
        guard let preload else { throw Refusal(code: .unknownJob, text: "there is no such action, or it can't pause") }
        if isPaused { preload.pause() } else { preload.resume() }
    }

    /// Stops a job.
    ///
    /// - Throws: `Refusal` for a job that can't stop.
    func cancel(_ id: Int64) throws(Refusal) {
        guard let preload = table.withLock({ $0.jobs.first { $0.id == id }?.preload }) else {
            throw Refusal(code: .unknownJob, text: "there is no such action, or it can't stop")
        }
        preload.cancel()
    }

    /// The number of changes of the list so far.
    var changes: Int64 { table.withLock { $0.changes } }

    /// The jobs, the newest first.
    var json: JSON {
        .array(
            table.withLock { $0.jobs }.reversed().map { job in
                let progress = job.preload?.currentProgress
                return .object([
                    ("id", .integer(job.id)), ("action", .string(job.action)), ("key", .string(job.key.string)),
                    ("state", .string(job.state.name)), ("doneBytes", .integer(progress?.doneBytes ?? job.doneBytes)),
                    ("totalBytes", progress?.totalBytes.map(JSON.integer) ?? .null), ("text", job.state.text.map(JSON.string) ?? .null),
                    ("canPause", .bool(job.preload != nil)),
                ])
            })
    }

    private func change(_ id: Int64, _ body: (inout Job) -> Void) {
        // A released preload runs its deinitialiser outside of the lock.
        let released = table.withLock { table -> Preload? in
            guard let index = table.jobs.firstIndex(where: { $0.id == id }) else { return nil }
            let before = table.jobs[index].preload
            body(&table.jobs[index])
            table.changes += 1
            return before
        }
        withExtendedLifetime(released) {}
    }
}
