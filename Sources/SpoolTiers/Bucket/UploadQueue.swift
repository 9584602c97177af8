package import SpoolCore

/// The resources that wait for their upload to a bucket, and the moment of the next one.
///
/// A pure value. One upload runs at a time. After a failure no upload starts for a while, because
/// the next one would most likely fail as well.
package struct UploadQueue: Sendable {
    /// The most resources that wait. Further ones are dropped.
    package static let limit = 256
    /// The most attempts for a resource.
    package static let attempts = 6
    /// The time between the first news of a resource and the look whether it is complete. Bytes
    /// come in many parts.
    package static let settling: Nanoseconds = .seconds(2)
    /// The pause after the first failure.
    package static let firstPause: Nanoseconds = .seconds(30)
    /// The longest pause after failures.
    package static let longestPause: Nanoseconds = .seconds(1800)

    /// The next thing to do.
    package enum Next: Hashable, Sendable {
        /// Begin with this resource.
        case start(ResourceKey)
        /// Ask again at this time.
        case wait(MonotonicInstant)
        /// Nothing waits, or an upload runs.
        case idle
    }

    /// The end of an upload.
    package enum Outcome: Hashable, Sendable {
        /// It is stored, or nothing has to be stored now.
        case done
        /// The bucket failed.
        case failed
    }

    /// The consequence of news about a resource.
    package enum Reception: Hashable, Sendable {
        /// It waits now.
        case queued
        /// It waited already.
        case known
        /// There is no room for it.
        case dropped
    }

    private struct Entry: Sendable {
        var due: MonotonicInstant
        var number: UInt64
        var failures = 0
    }

    private var waiting: [ResourceKey: Entry] = [:]
    private var running: (key: ResourceKey, entry: Entry, isNewsMeanwhile: Bool)?
    private var made: UInt64 = 0
    private var rest: (until: MonotonicInstant, pause: Nanoseconds)?

    /// Creates an empty queue.
    package init() {}

    /// Notes that a resource may be complete now.
    package mutating func noted(_ key: ResourceKey, now: MonotonicInstant) -> Reception {
        if running?.key == key {
            running?.isNewsMeanwhile = true
            return .known
        }
        // Further news puts nothing off. A resource with constant news would never begin.
        if waiting[key] != nil { return .known }
        guard waiting.count < Self.limit else { return .dropped }
        made += 1
        waiting[key] = Entry(due: now + Self.settling, number: made)
        return .queued
    }

    /// Returns the resource to begin with, the one that is due for the longest time.
    package mutating func next(now: MonotonicInstant) -> Next {
        guard running == nil, let first = waiting.min(by: { ($0.value.due, $0.value.number) < ($1.value.due, $1.value.number) })
        else { return .idle }
        let due = max(first.value.due, rest?.until ?? first.value.due)
        guard now >= due else { return .wait(due) }
        waiting[first.key] = nil
        running = (first.key, first.value, false)
        return .start(first.key)
    }

    /// Notes the end of the upload that runs.
    ///
    /// - Returns: Whether the resource was given up.
    package mutating func finished(_ outcome: Outcome, now: MonotonicInstant) -> Bool {
        guard let (key, entry, isNewsMeanwhile) = running else { return false }
        running = nil
        switch outcome {
        case .done:
            rest = nil
            if isNewsMeanwhile { _ = noted(key, now: now) }
            return false
        case .failed:
            let pause = min(rest.map { 2 * $0.pause } ?? Self.firstPause, Self.longestPause)
            rest = (now + pause, pause)
            guard entry.failures + 1 < Self.attempts, waiting.count < Self.limit else { return true }
            waiting[key] = Entry(due: now, number: entry.number, failures: entry.failures + 1)
            return false
        }
    }
}
