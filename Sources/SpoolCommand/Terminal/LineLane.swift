import SpoolCore
import SpoolSystem

/// The thread that writes the lines of a log, so that a blocked reader delays no caller.
///
/// When more than `maxWaiting` lines wait, further ones are only counted.
final class LineLane: Sendable {
    private struct Queue {
        var waiting = 0
        var dropped = 0
    }

    /// The largest number of waiting lines: about a second of output at the most verbose level, 150
    /// bytes each.
    static let maxWaiting = 4096

    private let lane: DiskLane
    private let queue = Locked(Queue())

    init(name: String) { lane = DiskLane(name: name) }

    /// Runs `write` on the thread with the number of lines that were dropped before, or drops it.
    func post(_ write: @escaping @Sendable (_ dropped: Int) -> Void) {
        let dropped = queue.withLock { queue -> Int? in
            if queue.waiting >= Self.maxWaiting {
                queue.dropped += 1
                return nil
            }
            queue.waiting += 1
            return exchange(&queue.dropped, with: 0)
        }
        guard let dropped else { return }
        lane.post { [queue] in
            write(dropped)
            queue.withLock { $0.waiting -= 1 }
        }
    }

    /// Runs a job behind the waiting lines. It is never dropped.
    func run(_ job: @escaping @Sendable () -> Void) { lane.post(job) }

    /// Writes the waiting lines, and ends the thread.
    func close() { lane.shutdown() }
}
