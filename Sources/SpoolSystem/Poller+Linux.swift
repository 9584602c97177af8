#if !canImport(Darwin)
import CSpoolSystem
import Glibc
import SpoolCore

/// Readiness of descriptors through epoll, level-triggered.
///
/// Everything but `wake` belongs to one thread.
final class Poller: @unchecked Sendable {
    // Safe to share: other threads only call `wake`, which reads two constants.
    private let descriptor: Int32
    private let wakeDescriptor: Int32
    private let events: UnsafeMutablePointer<spool_event>

    /// Opens a poller. Fails when the process has no descriptors left.
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

    /// Changes what `file` is watched for.
    func change(_ file: Int32, from old: PollInterest, to new: PollInterest, token: UInt64) throws(SystemError) {
        let result = spool_poll_change(descriptor, file, new.rawValue, token)
        guard result == 0 else { throw SystemError(code: -result, operation: "epoll_ctl", subject: "descriptor \(file)") }
    }

    /// Stops watching `file`, which must still be open.
    func remove(_ file: Int32, _ interest: PollInterest) {
        let result = spool_poll_remove(descriptor, file)
        assert(result == 0, "descriptor \(file) was closed before it was deregistered")
    }

    /// Waits at most `timeout` nanoseconds (nil: for ever) and answers how many events `event(_:)` has.
    func wait(timeout: Nanoseconds?) -> Int {
        let result = spool_poll_wait(descriptor, events, Int32(PollerLimit.eventsPerWait), Self.milliseconds(timeout))
        precondition(result >= 0 || result == -EINTR, "epoll_wait failed with error \(-result)")
        return max(0, Int(result))
    }

    /// An event of the last `wait`; nil when it was only the wake-up.
    func event(_ index: Int) -> (token: UInt64, events: PollEvents)? {
        let event = events[index]
        return event.token == PollerLimit.wakeToken ? nil : (event.token, PollEvents(rawValue: event.flags))
    }

    /// Makes `wait` return. From any thread.
    func wake() {
        let result = spool_wake(wakeDescriptor)
        // EAGAIN: the counter is full, so the wake-up is already there.
        assert(result == 0 || result == -EAGAIN, "eventfd refused a wake-up with error \(-result)")
    }

    /// Rounded up: a poll that returns before the timer is due would only turn once more.
    private static func milliseconds(_ timeout: Nanoseconds?) -> Int32 {
        guard let timeout else { return -1 }
        let longest: Nanoseconds = .seconds(3600)
        return Int32((min(max(0, timeout), longest) + 999_999) / 1_000_000)
    }
}
#endif
