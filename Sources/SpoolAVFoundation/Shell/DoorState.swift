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
        weak var background: (any BackgroundKeeper)?
    }

    private let state = Locked(State())
    /// The proxy that playlists started.
    private let proxy = Locked<ProxyServer?>(nil)
    private let reach = Locked<Reach?>(nil)

    /// The host by which players reach a proxy, as long as the network stays the same.
    private struct Reach {
        weak var server: ProxyServer?
        var network: Int
        var host: String?
    }

    /// Creates the state of a cache whose players remember nothing.
    package init() {}

    // MARK: The proxy

    /// Returns the proxy of the cache's playlists, and starts it at the first call.
    ///
    /// - Returns: Nil when it cannot listen. The reason is an event, and the next call tries again.
    func proxy(of cache: MediaCache, host: String) -> ProxyServer? {
        if let running = proxy.withLock({ $0 }) { return running }
        let random = cache.environment.random
        var options = ProxyOptions()
        options.host = host
        options.token = random.word()
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
        let running = proxy.withLock { proxy in
            defer { proxy = nil }
            return proxy
        }
        running?.stop()
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
    func beginsToLearn() -> Bool {
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
        change { $0.loading[id] = isLoading ? loader : nil }
    }

    /// Records whether a download runs.
    func note(_ download: any LoadingParty, isDownloading: Bool) {
        let id = ObjectIdentifier(download)
        var ended: (key: ResourceKey, background: any BackgroundKeeper)?
        change { state in
            let old = state.downloading.removeValue(forKey: id)
            if isDownloading { state.downloading[id] = download }
            guard !isDownloading, let key = old?.downloadKey, let background = state.background else { return }
            if !state.downloading.values.contains(where: { $0.downloadKey == key }) { ended = (key, background) }
        }
        if let ended { ended.background.abandoned(ended.key) }
    }

    /// Records whether the player of an observer plays, in the background as well: with sound only,
    /// in a picture, or on a receiver. Nil means that the observer is gone.
    func note(_ observer: ObjectIdentifier, isPlaying: Bool?) {
        change { state in
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
        for look in state.withLock({ Array($0.queueLooks.values) }) { look() }
    }

    /// Sets the closure that is called when the app needs the cache no more (`isInUse`).
    func onIdle(_ job: (@Sendable () -> Void)?) { state.withLock { $0.onIdle = job } }

    /// Sets the closure that is called when the system woke the app in the background.
    func onWake(_ job: (@Sendable () -> Void)?) { state.withLock { $0.onWake = job } }

    /// Sets the closure that is called when the app needs the cache again.
    func onUse(_ job: (@Sendable () -> Void)?) { state.withLock { $0.onUse = job } }

    private func change(_ body: (inout State) -> Void) {
        let job = state.withLock { state -> (@Sendable () -> Void)? in
            let wasInUse = state.isInUse
            body(&state)
            guard wasInUse != state.isInUse else { return nil }
            return wasInUse ? state.onIdle : state.onUse
        }
        job?()
    }

    /// Whether the app uses the cache in the background: a download runs, or a player plays.
    /// Without any observer, a player with an open request may be playing.
    var isInUse: Bool { state.withLock { $0.isInUse } }

    /// The number of assets with open requests.
    var loadingCount: Int { state.withLock { $0.loading.count } }

    /// Lets all loaders with open requests retry at once.
    func tryAgain() {
        for loader in state.withLock({ Array($0.loading.values) }) { loader.tryAgainSoon() }
    }

    /// Whether the store is suspended, or about to be, so that a loader with a new request waits.
    var isHeld: Bool { state.withLock { $0.isHeld } }

    /// The number of the latest `hold`.
    var holdNumber: Int { state.withLock { $0.holdNumber } }

    /// Lets every loader and download release its readers, and calls `done` when all have.
    func hold(_ done: @escaping @Sendable () -> Void) {
        let parties = state.withLock { state in
            state.isHeld = true
            state.holdNumber += 1
            return Array(state.loading.values) + Array(state.downloading.values)
        }
        let open = Locked(parties.count + 1)
        let one: @Sendable () -> Void = {
            let isLast = open.withLock { count in
                count -= 1
                return count == 0
            }
            if isLast { done() }
        }
        for party in parties { party.holdSoon(one) }
        one()
    }

    /// Lets every loader and download go on after a `hold`, except the downloads that the system
    /// continues. A later `hold` stays: the app went to the background again.
    func release(hold number: Int) {
        let (parties, background) = state.withLock { state in
            guard state.holdNumber == number else { return ([any LoadingParty](), nil as (any BackgroundKeeper)?) }
            state.isHeld = false
            return (Array(state.loading.values) + Array(state.downloading.values), state.background)
        }
        for party in parties where party.downloadKey.map({ background?.keeps($0) != true }) ?? true { party.releaseSoon() }
    }

    // MARK: Downloads in the background

    /// Sets the object that passes downloads to the system.
    func setBackground(_ keeper: any BackgroundKeeper) { state.withLock { $0.background = keeper } }

    /// Whether the system continues the download of this resource.
    func isInBackground(_ key: ResourceKey) -> Bool { state.withLock { $0.background }?.keeps(key) == true }

    /// Passes the waiting downloads to the system. Called when the store is suspended.
    func handOver() {
        let (downloads, background) = state.withLock { (Array($0.downloading.values), $0.background) }
        background?.take(downloads.compactMap(\.handOver).sorted { $0.key.string < $1.key.string })
    }

    /// Lets the downloads of a resource go on, because the system continues them no more.
    func release(_ key: ResourceKey) {
        let (downloads, isHeld) = state.withLock { (Array($0.downloading.values), $0.isHeld) }
        if !isHeld { for download in downloads where download.downloadKey == key { download.releaseSoon() } }
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
    /// Releases every reader, and calls `done`. May be called from any thread.
    func holdSoon(_ done: @escaping @Sendable () -> Void)
    /// Goes on after `holdSoon`. May be called from any thread.
    func releaseSoon()
    /// The key of the resource, for a download.
    var downloadKey: ResourceKey? { get }
    /// The rest of a download, as the system can continue it, or nil.
    var handOver: HandOver? { get }
}

extension LoadingParty {
    var downloadKey: ResourceKey? { nil }
    var handOver: HandOver? { nil }
}

extension DoorState.State {
    fileprivate var isInUse: Bool {
        !downloading.isEmpty || !playing.isEmpty || (observers.isEmpty && !loading.isEmpty)
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
