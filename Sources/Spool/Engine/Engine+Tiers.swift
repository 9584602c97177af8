import SpoolCore

// The engine as its tiers see it.
extension Engine: TierHost {
    var servesPlayers: Bool { limiter.servesPlayers }

    func onDataLane(of generation: GenerationID, _ job: @escaping @Sendable () -> Void) {
        environment.dataLane(for: generation).post(job)
    }

    func enterWritten(of key: ResourceKey) -> Bool {
        guard let session = liveSession(of: key) else { return true }
        // A resource that is still on its way needs no commit now.
        let live = session.liveStatus
        if let length = live.representation?.length, let stored = live.stored, stored.totalBytes < length { return false }
        session.writes.enterWritten(isEnforcing: false)
        return true
    }

    func temporaryPin(of key: ResourceKey) -> TemporaryPin { TemporaryPin(key: key, pins: temporaryPins) }
}
