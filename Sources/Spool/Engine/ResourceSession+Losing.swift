import SpoolCore
import SpoolStore

// Stored bytes are gone: the disk can't read them any more, or they do not match their checks.

extension ResourceSession {
    /// Reads of stored bytes that fail for good before a session stores nothing more. A disk that takes bytes and never gives them back would
    /// have the same ones fetched and stored without end.
    static let lossLimit = 32

    /// Passes the version on from now on. The next session tries to store again, unless the whole store rests by then.
    func stopStoring(_ generation: GenerationID, because error: StoreError) {
        let reason = PassReason.storeTrouble("\(Self.lossLimit) reads of stored bytes failed, the last one: \(error)")
        run { state, effects in
            apply(state.machine.storeFailed(generation, reason, now: now), &state, &effects)
        }
        shared.makeStale(key)
        shared.storeFailed()
    }
}
