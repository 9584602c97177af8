/// What a descriptor is watched for.
package struct PollInterest: OptionSet, Hashable, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// Bytes, a connection or the end can be read.
    package static let read = PollInterest(rawValue: 1)
    /// Bytes can be written.
    package static let write = PollInterest(rawValue: 2)
    /// The peer closed its sending side, whether or not there are bytes left to read.
    package static let peerClosed = PollInterest(rawValue: 4)

    // Made here: a literal of several is put together anew, through a loop, wherever it stands.
    package static let readOrPeerClosed = PollInterest(rawValue: read.rawValue | peerClosed.rawValue)
    package static let writeOrPeerClosed = PollInterest(rawValue: write.rawValue | peerClosed.rawValue)
}

/// What a descriptor reported.
package struct PollEvents: OptionSet, Hashable, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    package static let readable = PollEvents(rawValue: 1)
    package static let writable = PollEvents(rawValue: 2)
    package static let peerClosed = PollEvents(rawValue: 4)
    /// The descriptor has an error, or both directions are closed; comes whether it was asked for or not.
    package static let failed = PollEvents(rawValue: 8)
}

/// Limits of a poller.
enum PollerLimit {
    /// Events taken in one call: enough to spread the call's cost, few enough to stay fair to posted jobs.
    static let eventsPerWait = 256
    /// The token of the poller's own wake-up; registrations never have it.
    static let wakeToken = UInt64.max
}
