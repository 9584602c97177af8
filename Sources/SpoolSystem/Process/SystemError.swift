import CSpoolSystem
import SpoolLibc

/// A failed system call: its name, its subject and its errno.
public struct SystemError: Error, Hashable, Sendable {
    /// The error number (`errno`).
    public var code: Int32
    /// The call, for example `"open"`.
    public var operation: String
    /// The path or address of the call, or an empty string.
    public var subject: String

    /// Creates an error.
    public init(code: Int32, operation: String, subject: String = "") {
        self.code = code
        self.operation = operation
        self.subject = subject
    }
}

extension SystemError: CustomStringConvertible {
    /// The call, its subject, the text of the errno, and a remedy if there is one.
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

    /// Whether another program uses the address.
    package var meansAddressInUse: Bool { code == EADDRINUSE }
    /// Whether the disk could not read or write, so that the bytes there are lost.
    package var meansBrokenDisk: Bool { code == EIO }

    private var advice: String? {
        switch code {
        case ENOSPC: "free some space on that disk"
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
