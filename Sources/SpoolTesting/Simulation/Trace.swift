package import SpoolCore

/// One step of a simulated run: whose job ran, and when.
package struct TraceEntry: Hashable, Sendable, CustomStringConvertible {
    /// Counted from 1.
    package let step: Int
    /// The mailbox whose job ran, or `clock` when time moved.
    package let mailbox: String
    package let now: MonotonicInstant

    package var description: String { "\(step) @\(now.nanoseconds / 1000) µs \(mailbox)" }
}

/// The last steps of a run.
package struct TraceRing: Sendable {
    /// Enough to see how a failure came about, little enough to be read.
    package static let capacity = 256

    private var storage: [TraceEntry] = []
    private var oldest = 0

    package init() {}

    /// Oldest first.
    package var entries: [TraceEntry] { Array(storage[oldest...] + storage[..<oldest]) }

    package mutating func append(_ entry: TraceEntry) {
        if storage.count < Self.capacity {
            storage.append(entry)
        } else {
            storage[oldest] = entry
            oldest = (oldest + 1) % Self.capacity
        }
    }
}
