public import SpoolCore
public import SpoolSystem

/// What a store can't do.
public enum StoreError: Error, Hashable, Sendable {
    /// The disk or the quota has no room.
    case full
    /// Another process has the store; its process number where it is known.
    case locked(by: Int32?)
    /// Stored bytes do not match their check.
    case corrupt(ResourceKey, ByteRange)
    /// A newer program wrote the store.
    case formatTooNew(found: Int, supported: Int)
    /// The store was closed.
    case closed
    /// The store let go of its locks, because the process will be suspended; until it is resumed.
    case suspended
    /// The store is open for reading only.
    case readOnly
    /// The store's key and the one that was given do not fit.
    case key(KeyProblem)
    /// The app's content transform failed on bytes that were read; its reader says how.
    case transformFailed
    /// The index failed: SQLite's extended result code and message.
    case index(code: Int32, message: String)
    /// The file system failed.
    case io(SystemError)
}
