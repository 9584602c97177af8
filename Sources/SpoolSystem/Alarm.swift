#if os(Linux)
import CSpoolSystem
import Glibc

/// Wakes a thread that polls descriptors (eventfd(2)): readable from `ring` until `take`.
///
/// `ring` is safe from any thread; a thread that is about to poll finds the alarm rung.
package final class Alarm: Sendable {
    /// What to poll for reading; closed with the object.
    package let descriptor: Int32

    /// Fails when the process has no descriptors left.
    package init() throws(SystemError) {
        descriptor = spool_alarm_open()
        guard descriptor >= 0 else { throw SystemError(code: -descriptor, operation: "eventfd") }
    }

    deinit { close(descriptor) }

    package func ring() {
        let result = spool_wake(descriptor)
        // EAGAIN: the counter is full, so it is rung already.
        assert(result == 0 || result == -EAGAIN, "eventfd refused a wake-up with error \(-result)")
    }

    /// On the thread that polls.
    package func take() {
        let result = spool_alarm_take(descriptor)
        assert(result == 0 || result == -EAGAIN, "eventfd can't be read, error \(-result)")
    }
}
#endif
