import Spool
package import SpoolCore
import SpoolProxy
import SpoolSystem

/// The state that all assets of a cache share, for as long as the cache lives.
package final class DoorState: PlayerDoor {
    /// The largest number of remembered fallbacks, and of remembered file extensions. The oldest
    /// are dropped. Each takes a few hundred bytes.
    static let maxRemembered = 256

    fileprivate struct State {
        var fallbacks = Remembered<FallbackReason>()
        var extensions = Remembered<String>()
        var hasReadTypes = false
        var hungry: Set<ObjectIdentifier> = []
        var loading: [ObjectIdentifier: any LoadingParty] = [:]
        var downloading: [ObjectIdentifier: any LoadingParty] = [:]
        var observers: Set<ObjectIdentifier> = []
        var playing: Set<ObjectIdentifier> = []
        var queueLooks: [ObjectIdentifier: @Sendable () -> Void] = [:]
        var onIdle: (@Sendable () -> Void)?
        var onUse: (@Sendable () -> Void)?
        var onWake: (@Sendable () -> Void)?
        var isHeld = false
        var holdNumber = 0
        weak var background: BackgroundCore?
    }

    private let state = Locked(State())
    /// The proxy that playlists started.
    private let proxy = Locked<ProxyServer?>(nil)
    private let reach = Locked<Reach?>(nil)
    /// Counts the rescues of the process.
    let breaker = Locked(RescueBreaker())
    /// Watches the starts of the app's processes, or nil where nothing records them.
    let starts = Locked<StartWatch?>(nil)

    /// The host by which players reach a proxy, as long as the network stays the same.
    private struct Reach {
        weak var server: ProxyServer?
        var network: Int
        var host: String?
    }

    /// Follows the app to the background and back.
    private let lifecycle = Locked<AppLifecycle?>(nil)

    /// Creates the state of a cache whose players remember nothing.
    package init() {}

    /// Returns the state of a cache. The first call reads the types of the stored resources, and
    /// begins to follow the app.
    static func of(_ cache: MediaCache) -> DoorState {
        let door = cache.playerDoor(make: DoorState.init)
        guard door.beginsToLearn() else { return door }
        StoredTypes(cache: cache).read(into: door)
        door.watchStarts(of: cache)
        #if os(iOS) || os(tvOS) || os(visionOS)
        if cache.configuration.storage.followsAppLifecycle {
            let lifecycle = AppLifecycle(cache: cache, door: door, center: LifecycleCenter())
            door.lifecycle.withLock { $0 = lifecycle }
        }
        #endif
        return door
    }

    // MARK: The proxy

    /// Returns the proxy of the cache's playlists, and starts it at the first call.
    ///
    /// - Returns: Nil when it cannot listen. The reason is an event, and the next call tries again.
    func proxy(of cache: MediaCache, host: String) -> ProxyServer? {
        if let running = proxy.withLock({ $0 }) { return running }
        var options = ProxyOptions()
        options.host = host
        let started: ProxyServer
        do {
            started = try ProxyServer(cache: cache, options: options)
            try started.start()
        } catch {
            cache.record(.storeTrouble("no proxy for playlists: \(error.message)"))
            return nil
        }
        let kept = proxy.withLock { proxy in
            if proxy == nil { proxy = started }
            return proxy
        }
        guard kept === started else {
            started.stop()
            return kept
        }
        cache.loopback = started
        return started
    }

    /// Returns the host by which players reach a proxy, or nil when they do not. Checked once for
    /// each state of the network.
    func host(of server: ProxyServer, _ rules: LoopbackRules) -> String? {
        let (known, network) = (reach.withLock { $0 }, rules.network())
        if let known, known.server === server, known.network == network { return known.host }
        let host = rules.host(of: server)
        reach.withLock { $0 = Reach(server: server, network: network, host: host) }
        return host
    }

    package func cacheCloses() {
        proxy.decide { proxy, then in
            if let running = proxy { then { running.stop() } }
            proxy = nil
        }
    }

    // MARK: Bypass

    package func bypassChanged() {
        state.decide { state, then in for loader in state.loading.values { then { loader.bypassSoon() } } }
    }

    // MARK: Fallbacks

    /// Returns the reason for which the resource's last asset was sent to the original URL, or nil.
    func fallback(of key: ResourceKey) -> FallbackReason? { state.withLock { $0.fallbacks.values[key] } }

    func remember(_ reason: FallbackReason, for key: ResourceKey) { state.withLock { $0.fallbacks.note(reason, key) } }

    /// Lets the resource be tried through the cache again.
    func forgetFallback(of key: ResourceKey) { state.withLock { $0.fallbacks.forget(key) } }

    /// Lets the next asset of a body without length use the loader, once the body is stored as a
    /// whole and so has a length.
    func forgetOpenEndedIfComplete(_ key: ResourceKey, in cache: MediaCache) {
        cache.status(of: key) { [weak self] result in
            guard case .success(let status?) = result, status.isComplete else { return }
            self?.state.withLock { state in
                if state.fallbacks.values[key] == .openEnded { state.fallbacks.forget(key) }
            }
        }
    }

    // MARK: File extensions

    /// Returns the file extension for the discovered type of the resource, or nil.
    package func fileExtension(of key: ResourceKey) -> String? { state.withLock { $0.extensions.values[key] } }

    /// Returns true at the first call.
    private func beginsToLearn() -> Bool {
        state.withLock { state in
            defer { state.hasReadTypes = true }
            return !state.hasReadTypes
        }
    }

    func learn(fileExtension: String, of key: ResourceKey) { state.withLock { $0.extensions.note(fileExtension, key) } }

    // MARK: Waiting loaders

    /// Records whether the item of a loader plays and waits for bytes.
    func note(_ loader: AnyObject, isHungry: Bool) {
        let id = ObjectIdentifier(loader)
        state.withLock { state in
            if isHungry { state.hungry.insert(id) } else { state.hungry.remove(id) }
        }
    }

    /// Records whether a loader has open requests.
    func note(_ loader: any LoadingParty, isLoading: Bool) {
        let id = ObjectIdentifier(loader)
        change { state, _ in state.loading[id] = isLoading ? loader : nil }
    }

    /// Records whether a download runs.
    func note(_ download: any LoadingParty, isDownloading: Bool) {
        let id = ObjectIdentifier(download)
        change { state, then in
            let old = state.downloading.removeValue(forKey: id)
            if isDownloading { state.downloading[id] = download }
            guard !isDownloading, let key = old?.downloadKey, let background = state.background else { return }
            if !state.downloading.values.contains(where: { $0.downloadKey == key }) { then { background.abandoned(key) } }
        }
    }

    /// Records whether the player of an observer plays, in the background as well: with sound only,
    /// in a picture, or on a receiver. Nil means that the observer is gone.
    func note(_ observer: ObjectIdentifier, isPlaying: Bool?) {
        change { state, _ in
            if isPlaying == nil {
                state.observers.remove(observer)
                state.queueLooks[observer] = nil
            } else {
                state.observers.insert(observer)
            }
            if isPlaying == true { state.playing.insert(observer) } else { state.playing.remove(observer) }
        }
    }

    /// Sets the closure that an observer has for the first request of an asset. It may be that of
    /// an item which was inserted into the observer's queue: the list itself cannot be observed.
    func onFirstRequest(of observer: ObjectIdentifier, _ look: @escaping @Sendable () -> Void) {
        state.withLock { $0.queueLooks[observer] = look }
    }

    /// Notes the first request of an asset.
    func assetBegan() {
        state.decide { state, then in for look in state.queueLooks.values { then(look) } }
    }

    /// Sets the closure that is called when the app needs the cache no more (`isInUse`).
    func onIdle(_ job: (@Sendable () -> Void)?) { state.withLock { $0.onIdle = job } }

    /// Sets the closure that is called when the system woke the app in the background.
    func onWake(_ job: (@Sendable () -> Void)?) { state.withLock { $0.onWake = job } }

    /// Sets the closure that is called when the app needs the cache again.
    func onUse(_ job: (@Sendable () -> Void)?) { state.withLock { $0.onUse = job } }

    /// Changes the state, and reports that the app needs the cache again, or no more.
    private func change(_ body: (inout State, inout Afterwards) -> Void) {
        state.decide { state, then in
            let wasInUse = state.isInUse
            body(&state, &then)
            guard wasInUse != state.isInUse, let job = wasInUse ? state.onIdle : state.onUse else { return }
            then(job)
        }
    }

    /// Whether the app uses the cache in the background: a download runs, or a player plays.
    /// Without any observer, a player with an open request may be playing.
    var isInUse: Bool { state.withLock { $0.isInUse } }

    /// The number of assets with open requests.
    var loadingCount: Int { state.withLock { $0.loading.count } }

    /// Lets all loaders with open requests retry at once.
    func tryAgain() {
        state.decide { state, then in for loader in state.loading.values { then { loader.tryAgainSoon() } } }
    }

    /// Whether the store is suspended, or about to be, so that a loader with a new request waits.
    var isHeld: Bool { state.withLock { $0.isHeld } }

    /// The number of the latest `hold`.
    var holdNumber: Int { state.withLock { $0.holdNumber } }

    /// Lets every loader and download release its readers, and calls `done` when all have.
    func hold(_ done: @escaping @Sendable () -> Void) {
        state.decide { state, then in
            state.isHeld = true
            state.holdNumber += 1
            let parties = state.parties
            guard !parties.isEmpty else { return then(done) }
            let open = Countdown(parties.count, done)
            for party in parties { then { party.holdSoon { open.tick() } } }
        }
    }

    /// Lets every loader and download go on after a `hold`, except the downloads that the system
    /// continues. A later `hold` stays: the app went to the background again.
    func release(hold number: Int) {
        state.decide { state, then in
            guard state.holdNumber == number else { return }
            state.isHeld = false
            for party in state.parties {
                then { [background = state.background] in
                    if let key = party.downloadKey, background?.keeps(key) == true { return }
                    party.releaseSoon()
                }
            }
        }
    }

    // MARK: Downloads in the background

    /// Sets the object that passes downloads to the system.
    func setBackground(_ keeper: BackgroundCore) { state.withLock { $0.background = keeper } }

    /// Whether the system continues the download of this resource.
    func isInBackground(_ key: ResourceKey) -> Bool { state.withLock { $0.background }?.keeps(key) == true }

    /// Passes the running downloads to the system while the app is still in the foreground. Those
    /// that it does not take go on, and so do those whose bytes a player fetches as well.
    func handOverSoon() {
        state.decide { state, then in
            guard let background = state.background, !state.isHeld else { return }
            let loaders = Array(state.loading.values)
            for party in state.downloading.values {
                guard let key = party.downloadKey, !background.keeps(key), !loaders.contains(where: { $0.loads(key) }) else { continue }
                then { [self] in
                    party.holdSoon { [self] in
                        background.take(party.handOver.map { [$0] } ?? [])
                        if background.keeps(key) { restIfIdle() } else { party.releaseSoon() }
                    }
                }
            }
        }
    }

    /// Passes the waiting downloads to the system. Called when the store is suspended.
    func handOver() {
        state.decide { state, then in
            let (downloads, background) = (Array(state.downloading.values), state.background)
            then { background?.take(downloads.compactMap(\.handOver).sorted { $0.key.string < $1.key.string }) }
        }
    }

    /// Lets the downloads of a resource go on, because the system continues them no more.
    func release(_ key: ResourceKey) {
        state.decide { state, then in
            guard !state.isHeld else { return }
            for download in state.downloading.values where download.downloadKey == key { then { download.releaseSoon() } }
        }
    }

    /// Takes the cache out of its suspension in the background, for a file of the system.
    func wake() { state.withLock { $0.onUse }?() }

    /// Notes that the system woke or launched the app in the background.
    func woken() { state.withLock { $0.onWake }?() }

    /// Suspends the cache of an app in the background, if nothing needs it.
    func restIfIdle() { state.withLock { $0.isInUse ? nil : $0.onIdle }?() }

    /// Whether any item that plays waits for bytes. Later items then yield.
    var isAnyoneHungry: Bool { state.withLock { !$0.hungry.isEmpty } }
}

/// A loader with open requests, or a download. It is retained only while it has work.
protocol LoadingParty: AnyObject, Sendable {
    /// Retries at once. May be called from any thread.
    func tryAgainSoon()
    /// Sends the player to the original, if it has no information and the cache is bypassed. May be
    /// called from any thread.
    func bypassSoon()
    /// Releases every reader, and calls `done`. May be called from any thread.
    func holdSoon(_ done: @escaping @Sendable () -> Void)
    /// Goes on after `holdSoon`. May be called from any thread.
    func releaseSoon()
    /// Whether a player gets the bytes of this resource.
    func loads(_ key: ResourceKey) -> Bool
    /// The key of the resource, for a download.
    var downloadKey: ResourceKey? { get }
    /// The rest of a download, as the system can continue it, or nil.
    var handOver: HandOver? { get }
}

extension LoadingParty {
    func bypassSoon() {}
    func loads(_ key: ResourceKey) -> Bool { false }
    var downloadKey: ResourceKey? { nil }
    var handOver: HandOver? { nil }
}

extension DoorState.State {
    /// The loaders with open requests, and the downloads.
    fileprivate var parties: [any LoadingParty] { Array(loading.values) + Array(downloading.values) }

    /// Whether the system continues a download.
    private func isWithSystem(_ download: any LoadingParty) -> Bool {
        download.downloadKey.map { background?.keeps($0) == true } == true
    }

    fileprivate var isInUse: Bool {
        downloading.values.contains { !isWithSystem($0) } || !playing.isEmpty || (observers.isEmpty && !loading.isEmpty)
    }
}

/// Facts about resources. The oldest are dropped beyond a limit.
private struct Remembered<Fact> {
    private(set) var values: [ResourceKey: Fact] = [:]
    private var order: [ResourceKey] = []

    mutating func note(_ fact: Fact, _ key: ResourceKey) {
        if values.updateValue(fact, forKey: key) == nil { order.append(key) }
        if order.count > DoorState.maxRemembered { values[order.removeFirst()] = nil }
    }

    mutating func forget(_ key: ResourceKey) {
        if values.removeValue(forKey: key) != nil { order.removeAll { $0 == key } }
    }
}
