#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

// The two places where errno is read; nothing else in Spool looks at it.

/// Makes a call that answers -1 and sets errno when it fails; one that a signal interrupted is made again.
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

/// Makes a call whose failure is an ordinary answer (`EAGAIN`, `EEXIST`): the result, or the errno, without an allocation.
///
/// An interrupted call is made again unless `retrying` is false.
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

/// What an attempted call answered.
package enum SystemCallOutcome<Value> {
    case success(Value)
    /// The errno.
    case failure(Int32)
}
