package import SpoolCore

/// One step of a simulated run: its mailbox and its time.
package struct TraceEntry: Hashable, Sendable, CustomStringConvertible {
    /// The number of the step, counted from 1.
    package let step: Int
    /// The mailbox whose job ran, or `clock` if time moved.
    package let mailbox: String
    /// The time of the step.
    package let now: MonotonicInstant

    /// The step as a line of a report.
    package var description: String { "\(step) @\(now.nanoseconds / 1000) µs \(mailbox)" }
}

/// The last steps of a run.
package struct TraceRing: Sendable {
    /// The number of steps that are kept: enough to see the cause of a failure, and few enough to
    /// read.
    package static let capacity = 256

    private var storage: [TraceEntry] = []
    private var oldest = 0

    /// Creates an empty ring.
    package init() {}

    /// The steps, oldest first.
    package var entries: [TraceEntry] { Array(storage[oldest...] + storage[..<oldest]) }

    /// Adds a step, and drops the oldest one if the ring is full.
    package mutating func append(_ entry: TraceEntry) {
        if storage.count < Self.capacity {
            storage.append(entry)
        } else {
            storage[oldest] = entry
            oldest = (oldest + 1) % Self.capacity
        }
    }
}
