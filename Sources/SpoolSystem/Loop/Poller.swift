/// The events for which a descriptor is watched.
package struct PollInterest: OptionSet, Hashable, Sendable {
    /// The bits of the set, as C uses them.
    package let rawValue: UInt32

    /// Creates a set from its bits.
    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// Bytes, a connection or the end can be read.
    package static let read = PollInterest(rawValue: 1)
    /// Bytes can be written.
    package static let write = PollInterest(rawValue: 2)
    /// The peer closed its sending side, even if there are bytes left to read.
    package static let peerClosed = PollInterest(rawValue: 4)

    // Both are constants, because a literal of several options is built by a loop at each use.

    /// Reading, and the end of the peer's sending side.
    package static let readOrPeerClosed = PollInterest(rawValue: read.rawValue | peerClosed.rawValue)
    /// Writing, and the end of the peer's sending side.
    package static let writeOrPeerClosed = PollInterest(rawValue: write.rawValue | peerClosed.rawValue)
}

/// The events that a descriptor reported.
package struct PollEvents: OptionSet, Hashable, Sendable {
    /// The bits of the set, as C uses them.
    package let rawValue: UInt32

    /// Creates a set from its bits.
    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// Bytes, a connection or the end can be read.
    package static let readable = PollEvents(rawValue: 1)
    /// Bytes can be written.
    package static let writable = PollEvents(rawValue: 2)
    /// The peer closed its sending side.
    package static let peerClosed = PollEvents(rawValue: 4)
    /// The descriptor has an error, or both directions are closed. Reported for every interest.
    package static let failed = PollEvents(rawValue: 8)
}

/// The limits of a poller.
enum PollerLimit {
    /// The maximum number of events in one call: enough to spread the cost of the call, and few
    /// enough for posted jobs to run soon.
    static let eventsPerWait = 256
    /// The token of the poller's own wake-up. No registration has it.
    static let wakeToken = UInt64.max
}
