import CSpoolSystem

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// A descriptor that has exactly one owner, and is closed when the owner lets go of it.
///
/// Not copyable, so that it cannot be closed twice: a number closed twice may belong to somebody else by then.
package struct FileDescriptor: ~Copyable, Sendable {
    /// The number, borrowed: valid as long as this value lives.
    package let rawValue: Int32

    /// Takes over a descriptor that nobody else closes.
    package init(owning rawValue: Int32) {
        precondition(rawValue >= 0, "a descriptor is not negative: \(rawValue)")
        self.rawValue = rawValue
    }

    deinit {
        Self.closeOnce(rawValue)
    }

    /// Closes now and reports what the system says about data that it could not write.
    ///
    /// The descriptor is gone even when this throws.
    package consuming func close() throws(SystemError) {
        let number = rawValue
        discard self
        if let code = Self.closeOnce(number) { throw SystemError(code: code, operation: "close", subject: "descriptor \(number)") }
    }

    /// Hands the number to a new owner, who closes it.
    package consuming func release() -> Int32 {
        let number = rawValue
        discard self
        return number
    }

    /// Closes, and gives the errno when data could not be written.
    ///
    /// Not retried: after EINTR the descriptor is closed on Linux and in an unknown state on Darwin; a second close could hit
    /// a descriptor that another thread has just opened. So an interruption counts as done.
    @discardableResult
    private static func closeOnce(_ number: Int32) -> Int32? {
        switch attemptSystemCall(retrying: false, { spool_close(number) }) {
        case .success, .failure(EINTR): nil
        case .failure(let code): code
        }
    }
}
