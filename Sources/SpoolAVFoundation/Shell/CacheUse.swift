import Spool
package import SpoolCore
import SpoolSystem

/// The loaders, downloads and players that need a cache, and its suspension in the background.
///
/// Safe to use from any thread. Loaders and closures are called outside the lock.
package final class CacheUse: Sendable {
    /// Follows the use of the cache by an app in the background.
    struct Follower: Sendable {
        /// Called when the app needs the cache no more.
        var becameIdle: @Sendable () -> Void
        /// Called when the app needs the cache again.
        var used: @Sendable () -> Void
        /// Called when the system woke the app in the background.
        var woken: @Sendable () -> Void
    }

    struct State {
        /// The loaders with open requests, which are retained as long as they have some.
        var loading: [ObjectIdentifier: LoaderCore] = [:]
        /// The running transfers of the list of downloads.
        var downloading: [ResourceKey: ListedTransfer] = [:]
        /// The resources of which a file of the system is being stored.
        var storing: Set<ResourceKey> = []
        /// The loaders of the items in the lists of controllers, and of items that left them.
        var controlled: Set<ObjectIdentifier> = []
        var playing: Set<ObjectIdentifier> = []
        var queueLooks: [ObjectIdentifier: @Sendable () -> Void] = [:]
        var follower: Follower?
        var isHeld = false
        var holdNumber = 0
        weak var background: (any BackgroundKeeper)?

        /// Whether the app uses the cache in the background: a download runs that the system does
        /// not continue, or a player plays. A player without a controller may be playing when it has
        /// an open request.
        var isInUse: Bool {
            let isDownloading = !storing.isEmpty || downloading.keys.contains { background?.keeps($0) != true }
            return isDownloading || !playing.isEmpty || loading.keys.contains { !controlled.contains($0) }
        }
    }

    let state = Locked(State())

    /// Whether the app uses the cache in the background.
    var isInUse: Bool { state.withLock { $0.isInUse } }
    /// The number of assets with open requests.
    var loadingCount: Int { state.withLock { $0.loading.count } }

    func follow(_ follower: Follower?) { state.withLock { $0.follower = follower } }

    /// Changes the state, and reports that the app needs the cache again, or no more.
    private func change(_ body: (inout State, inout Afterwards) -> Void) {
        state.decide { state, then in
            let wasInUse = state.isInUse
            body(&state, &then)
            guard wasInUse != state.isInUse, let job = wasInUse ? state.follower?.becameIdle : state.follower?.used else { return }
            then(job)
        }
    }

    // MARK: Loaders and downloads

    /// Records whether a controller decides about the items of a loader.
    func note(_ loader: LoaderCore, isControlled: Bool) {
        let id = ObjectIdentifier(loader)
        change { state, _ in if isControlled { state.controlled.insert(id) } else { state.controlled.remove(id) } }
    }

    /// Records whether a loader has open requests.
    func note(_ loader: LoaderCore, isLoading: Bool) {
        let id = ObjectIdentifier(loader)
        change { state, _ in state.loading[id] = isLoading ? loader : nil }
    }

    /// Notes that a transfer of the list of downloads begins.
    ///
    /// - Returns: Whether the system fetches its bytes.
    func downloadBegan(_ transfer: ListedTransfer) -> Bool {
        change { state, _ in state.downloading[transfer.key] = transfer }
        return isInBackground(transfer.key)
    }

    /// Notes that the transfer of a resource has ended.
    func downloadEnded(_ key: ResourceKey) {
        change { state, then in
            guard state.downloading.removeValue(forKey: key) != nil, let background = state.background else { return }
            then { background.abandoned(key) }
        }
    }

    /// Records whether a file of the system is being stored.
    package func note(_ key: ResourceKey, isStoring: Bool) {
        change { state, _ in if isStoring { state.storing.insert(key) } else { state.storing.remove(key) } }
    }

    /// Lets all loaders with open requests retry at once.
    func tryAgain() {
        state.decide { state, then in for loader in state.loading.values { then { loader.tryAgainSoon() } } }
    }

    /// Sends players without information to the original, if the cache is bypassed.
    func bypassChanged() {
        state.decide { state, then in for loader in state.loading.values { then { loader.bypassSoon() } } }
    }

    // MARK: Players

    /// Records whether the player of a controller plays, in the background as well: with sound only,
    /// in a picture, or on a receiver. Nil means that the controller is gone.
    func note(_ controller: ObjectIdentifier, isPlaying: Bool?) {
        change { state, _ in
            if isPlaying == nil { state.queueLooks[controller] = nil }
            if isPlaying == true { state.playing.insert(controller) } else { state.playing.remove(controller) }
        }
    }

    /// Sets the closure that a controller has for the first request of an asset. It may be that of
    /// an item which was inserted into the controller's queue: the list itself cannot be observed.
    func onFirstRequest(of controller: ObjectIdentifier, _ look: @escaping @Sendable () -> Void) {
        state.withLock { $0.queueLooks[controller] = look }
    }

    /// Notes the first request of an asset. Until its next one, an item of a controller may have
    /// made it.
    func assetBegan(_ loader: LoaderCore) {
        let id = ObjectIdentifier(loader)
        state.decide { state, then in
            if !state.queueLooks.isEmpty { state.controlled.insert(id) }
            for look in state.queueLooks.values { then(look) }
        }
    }
}
