package import Spool
package import SpoolCore
import SpoolSystem

// The suspension of the store, and the downloads that the system continues meanwhile.

/// Continues downloads while the app is suspended. Called on any thread.
package protocol BackgroundKeeper: AnyObject, Sendable {
    /// Whether the system continues the download of this resource, or its file is being stored.
    func keeps(_ key: ResourceKey) -> Bool
    /// Passes downloads to the system, as far as it takes them.
    func take(_ downloads: [ListedTransfer])
    /// Called when the app's download of this resource has ended or is paused.
    func abandoned(_ key: ResourceKey)
}

extension CacheUse {
    /// Whether the store is suspended, or about to be, so that a loader with a new request waits.
    package var isHeld: Bool { state.withLock { $0.isHeld } }
    /// The number of the latest `hold`.
    var holdNumber: Int { state.withLock { $0.holdNumber } }

    /// Lets every loader release its readers, and calls `done` when all have. The suspension of the
    /// store holds the downloads.
    func hold(_ done: @escaping @Sendable () -> Void) {
        state.decide { state, then in
            state.isHeld = true
            state.holdNumber += 1
            let loaders = state.loading.values
            guard !loaders.isEmpty else { return then(done) }
            let open = Countdown(loaders.count, done)
            for loader in loaders { then { loader.holdSoon { open.tick() } } }
        }
    }

    /// Lets every loader go on after a `hold`. A later `hold` stays: the app went to the background
    /// again.
    func release(hold number: Int) {
        state.decide { state, then in
            guard state.holdNumber == number else { return }
            state.isHeld = false
            for loader in state.loading.values { then { loader.releaseSoon() } }
        }
    }

    // MARK: Downloads that the system continues

    /// Lets the downloads wait that the system continues since an earlier process.
    package func holdDownloads(keptBy background: any BackgroundKeeper) {
        for (key, download) in state.withLock({ $0.downloading }) where background.keeps(key) { download.hold() }
    }

    /// Sets the object that passes downloads to the system.
    package func setBackground(_ keeper: any BackgroundKeeper) { state.withLock { $0.background = keeper } }

    /// Whether the system continues the download of this resource.
    func isInBackground(_ key: ResourceKey) -> Bool { state.withLock { $0.background }?.keeps(key) == true }

    /// Passes the running downloads to the system while the app is still in the foreground. Those
    /// that it does not take go on, and so do those whose bytes a player fetches as well.
    func handOverSoon() {
        state.decide { state, then in
            guard let background = state.background, !state.isHeld else { return }
            let loaders = Array(state.loading.values)
            let downloads = state.downloading.filter { key, _ in !loaders.contains { $0.key == key } }
            then { [self] in
                take(downloads, background)
                restIfIdle()
            }
        }
    }

    /// Passes the waiting downloads to the system. Called when the store is suspended.
    func handOver() {
        state.decide { state, then in
            let downloads = state.downloading
            if let background = state.background { then { [self] in take(downloads, background) } }
        }
    }

    /// Passes downloads to the system. Those that it does not take go on.
    private func take(_ downloads: [ResourceKey: ListedTransfer], _ background: any BackgroundKeeper) {
        let downloads = downloads.values.filter { !background.keeps($0.key) }.sorted { $0.key < $1.key }
        for download in downloads { download.hold() }
        background.take(downloads)
        for download in downloads where !background.keeps(download.key) { download.release() }
    }

    /// Lets the downloads of a resource go on, because the system continues them no more.
    package func release(_ key: ResourceKey) { state.withLock { $0.downloading[key] }?.release() }

    /// Takes the cache out of its suspension in the background, for a file of the system.
    package func wake() { state.withLock { $0.follower }?.used() }

    /// Notes that the system woke or launched the app in the background.
    package func woken() { state.withLock { $0.follower }?.woken() }

    /// Suspends the cache of an app in the background, if nothing needs it.
    package func restIfIdle() { state.withLock { $0.isInUse ? nil : $0.follower }?.becameIdle() }
}
