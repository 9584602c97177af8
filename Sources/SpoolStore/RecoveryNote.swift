package import SpoolCore
package import SpoolSystem

/// A damaged or missing part of a store that it recovered from by itself. The caller has nothing to
/// do.
package enum RecoveryNote: Hashable, Sendable {
    /// The index could not be read. It was set aside at `path`, and the store begins empty.
    case indexSetAside(path: String, reason: String)
    /// The index contradicts itself. The next opening sets it aside.
    case indexDamaged(reason: String)
    /// The machine went down. The bytes of this many generations that no durable point covered were
    /// removed from the index.
    case unsyncedDropped(generations: Int)
    /// The data file of a resource is missing. Nothing of the resource is stored any more.
    case dataFileMissing(ResourceKey)
    /// The data file of a resource is too short. The bytes beyond its end are not stored any more.
    case dataFileTruncated(ResourceKey, size: Int64)
    /// A row of the index does not match its check, or is sealed and does not open. It counts as
    /// missing.
    case rowUnreadable
    /// The store got a key, and not everything is sealed with it yet. `rotateKey` continues. The
    /// bytes are those of files that are still plain.
    case rotationUnfinished(plainBytes: Int64)
    /// Evicted bytes of a generation still occupy the disk, for the given reason.
    case notPunched(GenerationID, String)
    /// The index's log could not be moved into the database, for the given reason. The next change
    /// of the index tries again.
    case logKept(reason: String)
    /// The disk is too full to open the index for writing. The store serves its contents and stores
    /// nothing more.
    case diskFull
    /// A file without an entry in the index could not be unlinked.
    case fileLeftBehind(path: String, SystemError)
}

extension RecoveryNote: CustomStringConvertible {
    /// The damage and the store's reaction to it, in one line for people.
    package var description: String {
        switch self {
        case .indexSetAside(let path, let reason): "the index can't be read (\(reason)); it is kept at \(path), and the store begins empty"
        case .indexDamaged(let reason): "the index contradicts itself (\(reason)); the next start sets it aside"
        case .unsyncedDropped(let generations):
            "the machine lost power; bytes that were not yet on the disk were dropped from \(generations) resource"
                + (generations == 1 ? "" : "s")
        case .dataFileMissing(let key): "the data file of \(key.forLog) is gone; its bytes are fetched again"
        case .dataFileTruncated(let key, let size):
            "the data file of \(key.forLog) ends after \(size) bytes; the missing ones are fetched again"
        case .rowUnreadable: "a damaged row of the index was dropped; its bytes are fetched again"
        case .rotationUnfinished(plainBytes: 0): "the change of the key is unfinished; run 'spool rekey' to continue"
        case .rotationUnfinished(let plain):
            "the encryption is unfinished, and \(plain) bytes of media are not encrypted yet; run 'spool rekey' to continue"
        case .notPunched(let generation, let why): "evicted bytes of \(generation) still occupy the disk: \(why)"
        case .logKept(let reason): "the index's log could not be moved into the database: \(reason); the next change tries again"
        case .diskFull: "the disk is full: stored bytes are served, and new ones are not stored; free some space on the disk"
        case .fileLeftBehind(let path, let error): "\(path) could not be deleted: \(error)"
        }
    }
}
