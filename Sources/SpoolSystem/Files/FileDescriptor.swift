import CSpoolSystem
import SpoolLibc

/// A descriptor with exactly one owner, closed when the owner's lifetime ends.
///
/// The type is not copyable, so that a descriptor can't be closed twice. After a first close, the
/// number may belong to another file.
package struct FileDescriptor: ~Copyable, Sendable {
    /// The number of the descriptor. It is valid during the lifetime of this value.
    package let rawValue: Int32

    /// Takes over a descriptor that no other code closes.
    package init(owning rawValue: Int32) {
        precondition(rawValue >= 0, "a descriptor is not negative: \(rawValue)")
        self.rawValue = rawValue
    }

    deinit {
        Self.closeOnce(rawValue)
    }

    /// Closes the descriptor now, and reports the system's error for data that it could not write.
    ///
    /// The descriptor is closed even when this throws.
    package consuming func close() throws(SystemError) {
        let number = rawValue
        discard self
        if let code = Self.closeOnce(number) { throw SystemError(code: code, operation: "close", subject: "descriptor \(number)") }
    }

    /// Passes the number to a new owner, which closes it.
    package consuming func release() -> Int32 {
        let number = rawValue
        discard self
        return number
    }

    /// Closes a descriptor, and returns the errno when data could not be written.
    ///
    /// The call is not retried. After EINTR the descriptor is closed on Linux and in an unknown
    /// state on Darwin. A second close could then close a descriptor that another thread has just
    /// opened. An interruption therefore counts as success.
    @discardableResult
    private static func closeOnce(_ number: Int32) -> Int32? {
        switch attemptSystemCall(retrying: false, { spool_close(number) }) {
        case .success, .failure(EINTR): nil
        case .failure(let code): code
        }
    }
}
