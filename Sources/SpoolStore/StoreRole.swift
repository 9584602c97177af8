import SpoolCore

/// Whether this process writes, with the lock and keys that it has. Changes only between two
/// index calls.
struct StoreRole {
    /// Nil for a process that reads.
    var lock: StoreLock?
    /// The lock of a process that reads, and keeps others out because the disk is too full for the
    /// memory that they would share.
    var aloneLock: StoreLock?
    /// The keys of an encrypted store.
    var keys: StoreKeys?
    /// Generations up to this one are sealed with a key that the store no longer has. Nothing
    /// more of them may be committed.
    var lastOutdated: GenerationID?
    /// Whether everything is released until `resume`.
    var isSuspended = false
}
