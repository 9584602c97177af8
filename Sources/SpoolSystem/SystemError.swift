import CSpoolSystem

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// A system call that failed: which one, on what, and with which errno.
public struct SystemError: Error, Hashable, Sendable {
    /// The error number (`errno`).
    public var code: Int32
    /// The call, for example `"open"`.
    public var operation: String
    /// The path or address that the call was about, or an empty string.
    public var subject: String

    public init(code: Int32, operation: String, subject: String = "") {
        self.code = code
        self.operation = operation
        self.subject = subject
    }
}

extension SystemError: CustomStringConvertible {
    /// What failed, on what, the text of the errno, and what to do about it where something can be done.
    public var description: String {
        let target = subject.isEmpty ? "" : " on \(subject)"
        let what = "\(operation)\(target) failed: \(text) (errno \(code))"
        guard let advice else { return what }
        return "\(what); \(advice)"
    }

    /// The system's text for the errno.
    package var text: String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
            guard let start = buffer.baseAddress else { return "" }
            spool_error_text(code, start, buffer.count)
            return String(cString: start)
        }
    }

    /// Whether another program has the address.
    package var meansAddressInUse: Bool { code == EADDRINUSE }
    /// Whether the disk could not read or write: what is on it there is lost.
    package var meansBrokenDisk: Bool { code == EIO }

    private var advice: String? {
        switch code {
        case ENOSPC: "free some space on the disk or lower the quota"
        case EDQUOT: "raise the disk quota of this user or lower the quota of the cache"
        case EMFILE: "this process has too many files open; raise its limit (ulimit -n)"
        case ENFILE: "the system has too many files open; close some programs or raise the system's limit"
        case EACCES, EPERM: "give this user the right to it or use another directory"
        case EROFS: "the file system is read-only; remount it or use another directory"
        case EADDRINUSE: "another program listens there; stop it or use another port"
        default: nil
        }
    }
}
