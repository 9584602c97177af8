public import SpoolCore
public import SpoolStore
import SpoolSystem

// Another key for an encrypted store.

extension MediaCache {
    /// Gives the encrypted store another key, and seals all stored bytes with it.
    ///
    /// 1. One transaction seals the index with the new key. Before it, the store opens with the old
    ///    key only; after it, with the new key only, even if the process is killed the moment
    ///    after. At no moment do both keys open the store, or neither.
    /// 2. The bytes of each resource are opened and sealed with new nonces into the file of a new
    ///    generation. That file is made durable and takes the place of the old one, which is
    ///    unlinked. Until the last resource is done, the index keeps what is derived from the old
    ///    key, sealed with the new key.
    ///
    /// Readers and fetches go on meanwhile. A resource in use is sealed when its readers have left,
    /// and the call waits for that. The disk needs room for a second copy of the largest resource,
    /// which the quota does not count. Bytes that do not open are removed from the index and
    /// reported (`CacheEvent.damageFound`).
    ///
    /// A rotation may stop in the middle, by cancellation of its task, an error or a kill. Nothing
    /// is lost then: all bytes stay readable, and the same call with the same key goes on from
    /// there. A call with a third key finishes the started rotation first.
    ///
    /// - Parameters:
    ///   - provider: The new key. A passphrase gets a new salt.
    ///   - algorithm: The cipher for media from now on, or nil for the current cipher of the store.
    ///   - progress: Called after each few megabytes, on a thread of the cache.
    /// - Throws: `.key` for a plain store or a provider without a key; `.storeLocked` if another
    ///   process writes the store or a rotation runs already; `.store`, for example for a full
    ///   disk; `.closed`, also if the task was cancelled.
    public func rotateKey(
        to provider: any KeyProvider, algorithm: CipherAlgorithm? = nil,
        progress: @escaping @Sendable (KeyRotationProgress) -> Void = { _ in }
    ) async throws(CacheError) {
        let isCancelled = Locked(false)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Result<Void, CacheError>, Never>) in
                engine.rotateKey(
                    to: EncryptionOptions(keyProvider: provider), algorithm: algorithm, isCancelled: { isCancelled.withLock { $0 } },
                    progress: progress
                ) { continuation.resume(returning: $0) }
            }
        } onCancel: {
            isCancelled.withLock { $0 = true }
            engine.resumeRotation()
        }
        try result.get()
    }
}
