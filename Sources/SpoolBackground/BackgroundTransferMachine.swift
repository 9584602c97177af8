#if !os(watchOS)
package import SpoolCore

/// Decides what happens to downloads that the system continues in the background.
///
/// A pure value without I/O. A resource is in one of these states:
///
/// ```
/// nothing ──► running ──► storing ──► nothing
/// running ──► nothing
/// ```
package struct BackgroundTransferMachine: Sendable {
    /// The work for the shell.
    package enum Action: Hashable, Sendable {
        /// Starts a task of the system.
        case start(HandOver)
        /// Cancels a task whose label is not readable, that is a second one of its resource, or
        /// whose download the app cancelled.
        case cancel(task: Int)
        /// Takes the cache out of its suspension, and stores the file of a task.
        case store(HandOver)
        /// Reports the reason why the file of a task is not used. The file is deleted.
        case drop(HandOver?, reason: String)
        /// Lets the app's own download go on.
        case release(ResourceKey)
        /// Calls the system's completion handler: every event is handled.
        case finishEvents
    }

    private enum State: Hashable {
        /// A task of the system runs. `failures` of its kind ended before. The number of a task
        /// that was only asked for is nil.
        case running(task: Int?, failures: Int)
        /// The file of a task is being stored.
        case storing
    }

    /// The most tasks at once. Further downloads wait in the app.
    package static let maxTasks = 64
    /// The most tasks of one resource that may fail before its download waits for the app.
    package static let maxFailures = 3

    private var states: [ResourceKey: State] = [:]
    /// Whether the system waits for its completion handler to be called.
    private var owesFinish = false
    private var allDelivered = false

    /// Creates a machine without tasks.
    package init() {}

    /// Whether the system continues the download of a resource, or its file is being stored.
    package func keeps(_ key: ResourceKey) -> Bool { states[key] != nil }

    /// Handles the suspension of the app: its downloads continue as tasks.
    package mutating func suspended(_ downloads: [HandOver]) -> [Action] {
        var actions: [Action] = []
        for download in downloads where states[download.key] == nil && states.count < Self.maxTasks {
            states[download.key] = .running(task: nil, failures: 0)
            actions.append(.start(download))
        }
        return actions
    }

    /// Notes the number of a task that was started.
    package mutating func started(_ task: Int, _ key: ResourceKey) {
        guard case .running(nil, let failures) = states[key] else { return }
        states[key] = .running(task: task, failures: failures)
    }

    /// Handles the tasks that the system still has from an earlier process.
    package mutating func found(_ tasks: [(task: Int, download: HandOver?)]) -> [Action] {
        var actions: [Action] = []
        for (task, download) in tasks {
            guard let download else {
                actions.append(.cancel(task: task))
                continue
            }
            switch states[download.key] {
            case nil: states[download.key] = .running(task: task, failures: 0)
            case .running(let known?, _) where known != task: actions.append(.cancel(task: task))
            case .running(nil, let failures): states[download.key] = .running(task: task, failures: failures)
            case .running, .storing: break
            }
        }
        return actions
    }

    /// Handles the file of a task. `refusal` is the reason why it must not be used, or nil.
    package mutating func arrived(_ download: HandOver?, refusal: String?) -> [Action] {
        guard let download else { return [.drop(nil, reason: "its label is not readable")] + finishIfDue() }
        guard states[download.key] != .storing else { return [.drop(download, reason: "another file of it is being stored")] }
        if let refusal {
            states[download.key] = nil
            return [.drop(download, reason: refusal), .release(download.key)] + finishIfDue()
        }
        states[download.key] = .storing
        return [.store(download)]
    }

    /// Handles a task that ended without a file. In the background it is started again, from the
    /// same byte, because nothing of it was stored.
    package mutating func failed(_ download: HandOver?, isInBackground: Bool) -> [Action] {
        guard let download, case .running(_, let failures) = states[download.key] else { return finishIfDue() }
        guard isInBackground, failures + 1 < Self.maxFailures else {
            states[download.key] = nil
            return [.release(download.key)] + finishIfDue()
        }
        states[download.key] = .running(task: nil, failures: failures + 1)
        return [.start(download)]
    }

    /// Handles the end of the app's last download of a resource: its task is useless.
    package mutating func abandoned(_ key: ResourceKey) -> [Action] {
        guard case .running(let task, _) = states[key] else { return [] }
        states[key] = nil
        return task.map { [.cancel(task: $0)] } ?? []
    }

    /// Handles the end of the storing of a file.
    package mutating func stored(_ key: ResourceKey) -> [Action] {
        guard states[key] == .storing else { return [] }
        states[key] = nil
        return [.release(key)] + finishIfDue()
    }

    /// Handles the wake-up of the app for events of its tasks.
    package mutating func woken() -> [Action] {
        owesFinish = true
        return finishIfDue()
    }

    /// Handles the end of the events of a wake-up. It may come before `woken`, when the session is
    /// created first.
    package mutating func eventsDelivered() -> [Action] {
        allDelivered = true
        return finishIfDue()
    }

    private mutating func finishIfDue() -> [Action] {
        guard owesFinish, allDelivered, !states.values.contains(.storing) else { return [] }
        (owesFinish, allDelivered) = (false, false)
        return [.finishEvents]
    }
}
#endif
