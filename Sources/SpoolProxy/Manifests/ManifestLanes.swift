import SpoolSystem

/// The lanes on which manifests are read and rewritten. Their jobs do no I/O.
///
/// A job goes to the lane with the fewest jobs, so that a new version of a manifest does not wait
/// behind an old one. Safe to use from any thread.
final class ManifestLanes: Sendable {
    private let lanes: [any Mailbox]
    /// The jobs of each lane that have not ended.
    private let counts: Locked<[Int]>

    /// Creates the lanes over some mailboxes.
    init(_ lanes: [any Mailbox]) {
        precondition(!lanes.isEmpty, "manifests need a lane")
        self.lanes = lanes
        counts = Locked([Int](repeating: 0, count: lanes.count))
    }

    /// Runs a job on the lane with the fewest jobs.
    func post(_ job: @escaping @Sendable () -> Void) {
        let index = counts.withLock { counts in
            let index = counts.indices.min { counts[$0] < counts[$1] } ?? 0
            counts[index] += 1
            return index
        }
        lanes[index].post { [counts] in
            job()
            counts.withLock { $0[index] -= 1 }
        }
    }
}
