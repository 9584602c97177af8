import SpoolSystem

/// The lanes on which manifests are read and rewritten. Their jobs do no I/O.
///
/// A lane takes the next job of each client in turn, so that a client with many large manifests
/// delays those of another one by a job. A job goes to the lane with the fewest jobs, so that a
/// new version of a manifest does not wait behind an old one. Safe to use from any thread.
final class ManifestLanes: Sendable {
    private typealias Job = @Sendable () -> Void

    /// The jobs of one lane.
    private struct Line {
        /// The number of jobs that have not ended.
        var count = 0
        /// The jobs that wait, by the name of the client.
        var waiting: [[UInt8]?: [Job]] = [:]
        /// The clients with a job that waits, the next one first.
        var turns: [[UInt8]?] = []

        mutating func add(_ job: @escaping Job, for client: [UInt8]?) {
            count += 1
            if waiting[client] == nil { turns.append(client) }
            waiting[client, default: []].append(job)
        }

        mutating func takeNext() -> Job? {
            guard let client = turns.first, let job = waiting[client]?.removeFirst() else { return nil }
            turns.removeFirst()
            if waiting[client]?.isEmpty == true { waiting[client] = nil } else { turns.append(client) }
            return job
        }
    }

    private let lanes: [any Mailbox]
    private let lines: Locked<[Line]>

    /// Creates the lanes over some mailboxes.
    init(_ lanes: [any Mailbox]) {
        precondition(!lanes.isEmpty, "manifests need a lane")
        self.lanes = lanes
        lines = Locked([Line](repeating: Line(), count: lanes.count))
    }

    /// Runs a job on a lane.
    ///
    /// - Parameter client: The name of the client, or nil for the programs of this machine.
    func post(for client: [UInt8]?, _ job: @escaping @Sendable () -> Void) {
        let index = lines.withLock { lines in
            let index = lines.indices.min { lines[$0].count < lines[$1].count } ?? 0
            lines[index].add(job, for: client)
            return index
        }
        lanes[index].post { [lines] in
            lines.withLock { $0[index].takeNext() }?()
            lines.withLock { $0[index].count -= 1 }
        }
    }
}
