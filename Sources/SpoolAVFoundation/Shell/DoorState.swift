package import Spool
package import SpoolCore
import SpoolSystem

/// The state that all assets of a cache share, for as long as the cache lives.
///
/// Its parts share no state: the proxy of playlists, the facts about resources, and the use of the
/// cache by players and downloads.
package final class DoorState: PlayerDoor {
    /// The proxy that playlists started.
    let proxy = PlaylistProxy()
    /// The facts about resources that the next asset needs.
    package let resources = KnownResources()
    /// The loaders, downloads and players that need the cache.
    package let use = CacheUse()
    /// Counts the rescues of the process.
    let breaker = Locked(RescueBreaker())
    /// Watches the starts of the app's processes, or nil where nothing records them.
    let starts = Locked<StartWatch?>(nil)

    private let isKnown = Locked(false)
    /// The loaders whose items play and wait for bytes.
    private let hungry = Locked<Set<ObjectIdentifier>>([])
    /// Follows the app to the background and back.
    private let lifecycle = Locked<AppLifecycle?>(nil)

    /// Creates the state of a cache whose players remember nothing.
    package init() {}

    /// Returns the state of a cache. The first call reads the types of the stored resources, and
    /// begins to follow the app.
    package static func of(_ cache: MediaCache) -> DoorState {
        let door = cache.playerDoor(make: DoorState.init)
        guard door.isFirstCall() else { return door }
        StoredTypes(cache: cache).read(into: door.resources)
        cache.reportDownloads(to: door)
        door.watchStarts(of: cache)
        #if os(iOS) || os(tvOS) || os(visionOS)
        if cache.configuration.storage.followsAppLifecycle {
            let lifecycle = AppLifecycle(cache: cache, use: door.use, center: LifecycleCenter())
            door.lifecycle.withLock { $0 = lifecycle }
        }
        #endif
        return door
    }

    /// Returns true once.
    private func isFirstCall() -> Bool { isKnown.withLock { !exchange(&$0, with: true) } }

    package func cacheCloses() { proxy.stop() }

    package func bypassChanged() { use.bypassChanged() }

    package func downloadBegan(_ transfer: ListedTransfer) -> Bool { use.downloadBegan(transfer) }

    package func downloadEnded(_ key: ResourceKey) { use.downloadEnded(key) }

    /// Records whether the item of a loader plays and waits for bytes.
    func note(_ loader: LoaderCore, isHungry: Bool) {
        let id = ObjectIdentifier(loader)
        hungry.withLock { hungry in
            if isHungry { hungry.insert(id) } else { hungry.remove(id) }
        }
    }

    /// Whether any item that plays waits for bytes. Later items then yield.
    var isAnyoneHungry: Bool { hungry.withLock { !$0.isEmpty } }
}
