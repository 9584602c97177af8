import Spool
import SpoolProxy

/// The traffic of the last hour in equal steps, the oldest first.
package struct RecentTraffic: Sendable {
    /// The traffic of one step.
    package struct Step: Hashable, Sendable {
        /// The bytes that readers got.
        package var servedBytes: Int64
        /// The bytes that origins sent for them.
        package var fetchedBytes: Int64

        /// Creates a step.
        package init(servedBytes: Int64, fetchedBytes: Int64) {
            self.servedBytes = servedBytes
            self.fetchedBytes = fetchedBytes
        }
    }

    /// The length of a step in seconds.
    package static let stepSeconds = ProxyPlace.turnSeconds
    /// The largest number of steps: an hour.
    package static let stepLimit = 360

    /// The steps that have ended.
    package private(set) var steps: [Step] = []
    /// The sums since the cache was opened, at the end of the last step.
    private var sums: Step?

    /// Creates an hour without traffic.
    package init() {}

    /// Ends a step. The first call begins one only.
    ///
    /// - Parameter sums: The sums since the cache was opened.
    package mutating func end(_ sums: Step) {
        defer { self.sums = sums }
        guard let last = self.sums else { return }
        if steps.count == Self.stepLimit { steps.removeFirst() }
        steps.append(
            Step(
                servedBytes: max(0, sums.servedBytes - last.servedBytes), fetchedBytes: max(0, sums.fetchedBytes - last.fetchedBytes)))
    }
}

extension RecentTraffic {
    /// Ends a step with the counts of the cache.
    mutating func end(_ statistics: Statistics) {
        end(Step(servedBytes: statistics.bytesFromStore + statistics.bytesFromOrigin, fetchedBytes: statistics.fetchedBytes))
    }
}
