#if !canImport(Darwin)
import CSpoolSystem
import SpoolCore
import SpoolLibc

/// Readiness of descriptors by epoll, level-triggered.
///
/// All methods except `wake` belong to one thread.
final class Poller: @unchecked Sendable {
    // Safe to share: other threads only call `wake`, which reads two constants.
    private let descriptor: Int32
    private let wakeDescriptor: Int32
    private let events: UnsafeMutablePointer<spool_event>

    /// Creates a poller. Throws when the process is out of descriptors.
    init() throws(SystemError) {
        descriptor = spool_poll_open()
        guard descriptor >= 0 else { throw SystemError(code: -descriptor, operation: "epoll_create1") }
        wakeDescriptor = spool_wake_open(descriptor, PollerLimit.wakeToken)
        guard wakeDescriptor >= 0 else {
            close(descriptor)
            throw SystemError(code: -wakeDescriptor, operation: "eventfd")
        }
        events = .allocate(capacity: PollerLimit.eventsPerWait)
        events.initialize(repeating: spool_event(), count: PollerLimit.eventsPerWait)
    }

    deinit {
        events.deallocate()
        close(wakeDescriptor)
        close(descriptor)
    }

    /// Watches `file` and reports it with `token`.
    func add(_ file: Int32, _ interest: PollInterest, token: UInt64) throws(SystemError) {
        let result = spool_poll_add(descriptor, file, interest.rawValue, token)
        guard result == 0 else { throw SystemError(code: -result, operation: "epoll_ctl", subject: "descriptor \(file)") }
    }

    /// Changes the events for which `file` is watched.
    func change(_ file: Int32, from old: PollInterest, to new: PollInterest, token: UInt64) throws(SystemError) {
        let result = spool_poll_change(descriptor, file, new.rawValue, token)
        guard result == 0 else { throw SystemError(code: -result, operation: "epoll_ctl", subject: "descriptor \(file)") }
    }

    /// Stops watching `file`, which must still be open.
    func remove(_ file: Int32, _ interest: PollInterest) {
        let result = spool_poll_remove(descriptor, file)
        assert(result == 0, "descriptor \(file) was closed before it was deregistered")
    }

    /// Waits for at most `timeout` nanoseconds (nil: without a limit). Returns the number of events
    /// of `event(_:)`.
    func wait(timeout: Nanoseconds?) -> Int {
        let result = spool_poll_wait(descriptor, events, Int32(PollerLimit.eventsPerWait), Self.milliseconds(timeout))
        precondition(result >= 0 || result == -EINTR, "epoll_wait failed with error \(-result)")
        return max(0, Int(result))
    }

    /// Returns an event of the last `wait`, or nil for the wake-up.
    func event(_ index: Int) -> (token: UInt64, events: PollEvents)? {
        let event = events[index]
        return event.token == PollerLimit.wakeToken ? nil : (event.token, PollEvents(rawValue: event.flags))
    }

    /// Makes `wait` return. May be called on any thread.
    func wake() {
        let result = spool_wake(wakeDescriptor)
        // EAGAIN: the counter is full, so a wake-up is already pending.
        assert(result == 0 || result == -EAGAIN, "eventfd refused a wake-up with error \(-result)")
    }

    /// Converts a timeout to milliseconds, rounded up. A poll that returns before the timer is due
    /// would only cause another turn.
    private static func milliseconds(_ timeout: Nanoseconds?) -> Int32 {
        guard let timeout else { return -1 }
        let longest: Nanoseconds = .seconds(3600)
        return Int32((min(max(0, timeout), longest) + 999_999) / 1_000_000)
    }
}
#endif
