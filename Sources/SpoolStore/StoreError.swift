public import SpoolCore
public import SpoolSystem

/// An error of a store.
///
/// A later version may add cases. Outside this package, a `switch` needs `@unknown default` or
/// `default`.
#if compiler(>=6.3)
@nonexhaustive
#endif
public enum StoreError: Error, Hashable, Sendable {
    /// The disk or the quota is full.
    case full
    /// Another process has the store. The associated value is its process number, if known.
    case locked(by: Int32?)
    /// Stored bytes do not match their check.
    case corrupt(ResourceKey, ByteRange)
    /// A newer program wrote the store.
    case formatTooNew(found: Int, supported: Int)
    /// A build before the first release wrote the store. Nothing of it was changed.
    case formatTooOld(found: Int, supported: Int)
    /// The file system does not support a file of this size. The disk has no fault.
    case tooLarge
    /// The store was closed.
    case closed
    /// The store has released its locks, because the process will be suspended. Calls work again
    /// after `resume`.
    case suspended
    /// The store is open for reading only.
    case readOnly
    /// The store's key and the given key do not match.
    case key(KeyProblem)
    /// The app's content transform failed on bytes that were read. The transform's reader has the
    /// cause.
    case transformFailed
    /// The index failed: SQLite's extended result code and message.
    case index(code: Int32, message: String)
    /// The file system failed.
    case io(SystemError)

    /// Whether a read that failed with this error has found lost bytes.
    ///
    /// This is true for damage, an error of the disk, and a file that is missing or was replaced.
    /// It is false for temporary failures: a file of a locked device (`EPERM`), a file that can't
    /// be opened now, or a suspended store still has its bytes later.
    package var losesBytes: Bool {
        switch self {
        case .corrupt: true
        case .io(let error): error.losesBytes
        default: false
        }
    }
}

extension StoreError: CustomStringConvertible {
    /// The failure and its remedy, in one line for people.
    public var description: String {
        switch self {
        case .full: "the store has no room"
        case .tooLarge: "the file is too large for the file system of the store"
        case .locked(let process):
            "the store is locked by \(process.map { "process \($0)" } ?? "another process"); close it or use another directory"
        case .corrupt(_, let range): "stored bytes \(range) are damaged"
        case .formatTooNew(let found, let supported):
            "the store has format \(found), this program supports up to \(supported); use a newer program or another directory"
        case .formatTooOld(let found, let supported):
            "the store has format \(found) of an early build, this program reads \(supported); nothing was changed. Use another directory"
        case .closed: "the store is closed"
        case .suspended: "the cache is suspended; resume it first"
        case .readOnly: "the store is open for reading only: another process has it, or its disk is full"
        case .key(let problem): "\(problem)"
        case .transformFailed: "the content transform failed"
        case .index(let code, let message): "the index failed: \(message) (\(code))"
        case .io(let error): "\(error)"
        }
    }
}

extension KeyProblem: CustomStringConvertible {
    /// The problem and its remedy, in one line for people.
    public var description: String {
        switch self {
        case .missing: "the store is encrypted; give its key, or use another directory"
        case .wrong: "the store is encrypted with another key; nothing was changed. Give the right one, or use another directory"
        case .notEncrypted: "the store is not encrypted; encrypt it by rotateKey(to:) or spool rekey, or use another directory"
        case .unavailable(let reason): "the store's key is unavailable: \(reason)"
        }
    }
}
