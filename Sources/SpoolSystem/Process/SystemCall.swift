import SpoolLibc

// System calls with their errno. Most calls of Spool go through these two functions; the few others
// read errno right after their call.

/// Makes a call that returns -1 and sets errno when it fails. Repeats a call that a signal
/// interrupted.
///
/// `subject` is evaluated only for the error.
@inline(__always)
package func systemCall<Result: FixedWidthInteger & SignedInteger>(
    _ operation: StaticString, on subject: @autoclosure () -> String = "", _ call: () -> Result
) throws(SystemError) -> Result {
    while true {
        let result = call()
        if result != -1 { return result }
        let code = errno
        if code != EINTR { throw SystemError(code: code, operation: "\(operation)", subject: subject()) }
    }
}

/// Makes a call whose failure is an expected result (`EAGAIN`, `EEXIST`). Returns the result or the
/// errno, without an allocation.
///
/// Repeats an interrupted call unless `retrying` is false.
@inline(__always)
package func attemptSystemCall<Result: FixedWidthInteger & SignedInteger>(
    retrying: Bool = true, _ call: () -> Result
) -> SystemCallOutcome<Result> {
    while true {
        let result = call()
        if result != -1 { return .success(result) }
        let code = errno
        if code != EINTR || !retrying { return .failure(code) }
    }
}

/// The result of an attempted call.
package enum SystemCallOutcome<Value> {
    /// The result of the call.
    case success(Value)
    /// The errno.
    case failure(Int32)
}
