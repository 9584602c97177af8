public import SpoolCore
public import SpoolStore

// Another key for a store, or its first one.

extension MediaCache {
    /// Gives the store another key, and seals all stored bytes with it. Encrypts a plain store.
    ///
    /// 1. One transaction seals the index with the new key. Before it, the store opens with the old
    ///    key only, or without one if it is plain; after it, with the new key only, even if the
    ///    process is killed the moment after. The index of a plain store is then rewritten, which
    ///    takes as much memory as the index has bytes.
    /// 2. The bytes of each resource are opened and sealed with new nonces into the file of a new
    ///    generation. That file is made durable and takes the place of the old one, which is
    ///    unlinked. Until the last resource is done, the index keeps what is derived from the old
    ///    key, sealed with the new key.
    ///
    /// Readers and fetches go on meanwhile. A resource in use is sealed when its readers, its
    /// `CompleteFile`s and its temporary pins are gone, and the call waits for that. The disk needs
    /// room for a second copy of the largest resource, which the quota does not count. Bytes that do
    /// not open, or do not match their checks, are removed from the index and reported
    /// (`CacheEvent.damageFound`).
    ///
    /// A rotation may stop in the middle, by cancellation of its task, an error or a kill. Nothing
    /// is lost then: all bytes stay readable, and the same call with the same key goes on from
    /// there. A call with a third key finishes the started rotation first. Each opening reports the
    /// bytes of media that are still plain (`CacheEvent.storeTrouble`).
    ///
    /// - Parameters:
    ///   - provider: The new key. A passphrase gets a new salt.
    ///   - algorithm: The cipher for media from now on, or nil for the current cipher of the store.
    ///   - progress: Called after each few megabytes, on a thread of the cache.
    /// - Throws: `.key` for a provider without a key, and for an own store; `.configuration` for a
    ///   cache with a bucket; `.storeLocked` if another process writes the store or a rotation runs
    ///   already; `.store`, for example for a full disk; `.closed`, also if the task was cancelled.
    public func rotateKey(
        to provider: any KeyProvider, algorithm: CipherAlgorithm? = nil,
        progress: @escaping @Sendable (KeyRotationProgress) -> Void = { _ in }
    ) async throws(CacheError) {
        let cancellation = TransferCancellation(), engine = engine
        let cancel: @Sendable () -> Void = {
            cancellation.cancel()
            engine.resumeRotation()
        }
        try await result(onCancel: cancel) { done in
            engine.rotateKey(
                to: EncryptionOptions(keyProvider: provider), algorithm: algorithm, isCancelled: { cancellation.isCancelled },
                progress: progress, done)
        }
    }
}
