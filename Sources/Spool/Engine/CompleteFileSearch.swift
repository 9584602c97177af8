import SpoolCore
import SpoolStore

/// The search for the file of a complete resource.
struct CompleteFileSearch {
    let engine: Engine

    /// Finds the file of a complete resource. Calls `done` on a lane.
    func find(_ key: ResourceKey, _ done: @escaping Completion<CompleteFile?>) {
        guard engine.configuration.contentTransform == nil else { return done(.success(nil)) }
        let pin = TemporaryPin(key: key, pins: engine.temporaryPins)
        findFile(key, pin) { [self] found in
            guard case .success(let file?) = found, file.needsVerification else { return done(found.map { $0?.file }) }
            ResourceInspector(engine: engine).verify(key, isRepairing: engine.store.isWritable, progress: { _ in }) { [self] verified in
                verified.or(done) { verification in
                    guard verification?.isSound == true else { return done(.success(nil)) }
                    // Looked up again, because another version may have come, or a damaged byte have
                    // gone.
                    findFile(key, pin) { done($0.map { $0?.file }) }
                }
            }
        }
    }

    private struct FoundFile: Sendable {
        var file: CompleteFile
        var needsVerification: Bool
    }

    private func findFile(_ key: ResourceKey, _ pin: TemporaryPin, _ done: @escaping Completion<FoundFile?>) {
        engine.onIndexLane(key, done) { [self] () throws(StoreError) in
            // Bytes that were received just now are on their way to the index.
            engine.liveSession(of: key)?.writes.enterWritten(isEnforcing: true)
            guard let found = try engine.store.lookup(key), let length = found.representation.length, length > 0,
                found.spans.totalBytes == length, let path = engine.store.filePath(of: found)
            else { return nil }
            let file = CompleteFile(key: key, path: path, representation: found.representation, pin: pin)
            return FoundFile(file: file, needsVerification: !found.unverified.isEmpty)
        }
    }
}
