public import SpoolCore
import SpoolStore

// Complete resources as files in the store.

extension MediaCache {
    /// Returns the file in the store that contains every byte of a resource, without a copy.
    ///
    /// Bytes that an earlier run stored are compared with their checks first, which takes about a
    /// second for each GiB. Bytes that do not match become a gap.
    ///
    /// - Parameter name: The resource, by its URL or key.
    /// - Returns: The file, or nil if bytes are missing or damaged. Also nil if no file contains
    ///   the bytes as readers get them: in an encrypted store, with a content transform, or for an
    ///   empty resource.
    /// - Throws: `.store`, `.closed`, `.unsupportedURL`.
    public func completeFile(for name: some ResourceName) async throws(CacheError) -> CompleteFile? {
        let key = try name.key(in: self)
        return try await withCheckedContinuation { continuation in
            completeFile(for: key) { continuation.resume(returning: $0) }
        }.get()
    }

    /// Finds the file of a complete resource. Calls `done` on a lane.
    package func completeFile(
        for key: ResourceKey, _ done: @escaping @Sendable (Result<CompleteFile?, CacheError>) -> Void
    ) {
        guard configuration.contentTransform == nil else { return done(.success(nil)) }
        let pin = temporaryPin(key)
        findFile(key, pin) { [self] found in
            guard case .success(let file?) = found, file.needsVerification else { return done(found.map { $0?.file }) }
            verify(key, isRepairing: store.isWritable, progress: { _ in }) { [self] verified in
                switch verified {
                case .failure(let error): done(.failure(error))
                // Looked up again, because another version may have come, or a damaged byte have
                // gone.
                case .success(let verification):
                    guard verification?.isSound == true else { return done(.success(nil)) }
                    findFile(key, pin) { done($0.map { $0?.file }) }
                }
            }
        }
    }

    private struct FoundFile: Sendable {
        var file: CompleteFile
        var needsVerification: Bool
    }

    private func findFile(
        _ key: ResourceKey, _ pin: TemporaryPin, _ done: @escaping @Sendable (Result<FoundFile?, CacheError>) -> Void
    ) {
        onIndexLane(key, done) { [self] () throws(StoreError) in
            // Bytes that were received just now are on their way to the index.
            liveSession(of: key)?.enterWritten(isEnforcing: true)
            guard let found = try store.lookup(key), let length = found.representation.length, length > 0,
                found.spans.totalBytes == length, let path = store.filePath(of: found)
            else { return nil }
            let file = CompleteFile(key: key, path: path, representation: found.representation, pin: pin)
            return FoundFile(file: file, needsVerification: !found.unverified.isEmpty)
        }
    }
}
