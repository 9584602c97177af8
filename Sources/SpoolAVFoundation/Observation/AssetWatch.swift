#if !os(watchOS)
package import Spool
package import SpoolCore
package import SpoolSystem

/// Polls the stored ranges of one resource while the broadcast has followers.
package final class AssetWatch: Sendable {
    /// The time between two polls. Twice a second moves a bar smoothly enough and costs one lock.
    static let interval: Nanoseconds = .milliseconds(500)

    private let cache: MediaCache
    private let key: ResourceKey
    private let report: LoaderReport
    private let mailbox: any Mailbox
    /// The number of polling rounds so far. The timer of an earlier round stops by itself.
    private let round = Locked<(number: Int, isWanted: Bool)>((0, false))
    private let broadcast: Locked<Broadcast<AssetProgress>?> = Locked(nil)

    /// Creates a watch of one resource.
    package init(cache: MediaCache, key: ResourceKey, report: LoaderReport, mailbox: any Mailbox) {
        self.cache = cache
        self.key = key
        self.report = report
        self.mailbox = mailbox
    }

    deinit { broadcast.withLock { $0 }?.finish() }

    /// The broadcast of the resource's progress, created at its first use.
    package var progress: Broadcast<AssetProgress> {
        let made = Broadcast(AssetProgress()) { [weak self] isWanted in self?.interest(isWanted) }
        return broadcast.withLock { existing in
            if let existing { return existing }
            existing = made
            return made
        }
    }

    private func interest(_ isWanted: Bool) {
        let number = round.withLock { round in
            round.isWanted = isWanted
            round.number += 1
            return round.number
        }
        if isWanted { mailbox.post { [weak self] in self?.look(number) } }
    }

    private func look(_ number: Int) {
        guard round.withLock({ $0.isWanted && $0.number == number }) else { return }
        cache.status(of: key) { [weak self] result in self?.tell(result) }
        _ = cache.environment.time.after(Self.interval, on: mailbox) { [weak self] in self?.look(number) }
    }

    private func tell(_ result: Result<ResourceStatus?, CacheError>) {
        var progress = AssetProgress()
        switch result {
        case .success(let status):
            progress.cached = status?.stored ?? ByteRangeSet()
            progress.length = status?.representation.length
        case .failure:
            // A closed cache reports the error to its readers. A progress bar keeps its last state.
            return
        }
        (progress.bytesFromCache, progress.bytesFromOrigin) = report.bytes
        self.progress.send(progress)
    }
}

extension CachingAVURLAsset {
    /// The stored ranges of the resource and the source of the player's bytes: now, and at each
    /// change, at most twice a second.
    ///
    /// The stream ends with the asset. An asset of a stored file (`route` is `.file`) is complete, and
    /// its stream ends with this one value. That of a plain asset, and of a playlist that goes through
    /// a loopback endpoint, ends at once; `MediaCache.presentations` has the status of a playlist.
    public var progress: AsyncStream<AssetProgress> {
        broadcast?.stream()
            ?? AsyncStream { [kept] continuation in
                if let file = kept as? CompleteFile { continuation.yield(AssetProgress(of: file)) }
                continuation.finish()
            }
    }

    /// The broadcast behind `progress`, or nil for an asset without a loader.
    package var broadcast: Broadcast<AssetProgress>? { watch?.progress }
}
#endif
