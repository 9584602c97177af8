public import SpoolCore
public import SpoolSystem

/// Something that a store found damaged or missing, and what it did about it. Nothing in it needs the caller's help.
public enum RecoveryNote: Hashable, Sendable {
    /// The index could not be read: it was set aside at `path`, and the store begins empty.
    case indexSetAside(path: String, reason: String)
    /// The index contradicts itself; the next opening sets it aside.
    case indexDamaged(reason: String)
    /// The machine went down: what no durable point covered was dropped from this many generations.
    case unsyncedDropped(generations: Int)
    /// The data file of a resource is gone: nothing of it is stored any more.
    case dataFileMissing(ResourceKey)
    /// The data file of a resource ends early: what lay beyond is not stored any more.
    case dataFileTruncated(ResourceKey, size: Int64)
    /// A row of the index does not match its check, or of an encrypted one does not open: it was changed, and counts as not there.
    case rowUnreadable
    /// The store got another key, and not everything is sealed by it yet: `rotateKey` goes on.
    case rotationUnfinished
    /// Evicted bytes of a generation still occupy the disk, and why.
    case notPunched(GenerationID, String)
    /// A file that nothing names any more could not be unlinked.
    case fileLeftBehind(path: String, SystemError)
}
