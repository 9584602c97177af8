#if !os(watchOS)
import AVFoundation
import Spool
import SpoolCore
import SpoolSystem

/// Performs the actions of a rescue for the current item of one player: looks, asks the original,
/// and replaces the item.
@MainActor final class PlaybackRescue {
    /// A plain item that replaced one of the cache, until it is ready or fails.
    private struct Original {
        let item: ObjectIdentifier
        let asset: CachingAVURLAsset
    }

    private let main: any Mailbox
    private let limits = RescueLimits()
    private let replace: @MainActor (_ old: AVPlayerItem, _ new: AVPlayerItem) -> Void
    private let decided: @MainActor () -> Void
    private var machine = RescueStateMachine()
    private weak var item: AVPlayerItem?
    /// The number of the item. A look or an answer of an earlier one is ignored.
    private var number = 0
    private var hasOpened = false
    private var startWatch: StartWatch?
    private var original: Original?

    /// - Parameters:
    ///   - main: The mailbox of the main queue.
    ///   - replace: Puts an item in the place of another one.
    ///   - decided: Called when an item that failed is not rescued.
    init(
        main: any Mailbox, replace: @escaping @MainActor (_ old: AVPlayerItem, _ new: AVPlayerItem) -> Void,
        decided: @escaping @MainActor () -> Void
    ) {
        (self.main, self.replace, self.decided) = (main, replace, decided)
    }

    /// Whether an item that failed may yet be replaced.
    var isDeciding: Bool { machine.decidesAboutFailure }

    /// Follows the current item.
    ///
    /// - Parameter isAlone: Whether no other item of the player has the same media. The items of a
    ///   looper are left alone.
    func follow(_ item: AVPlayerItem, _ condition: RescueStateMachine.Condition, isAlone: Bool) {
        noteOriginal(item)
        if item !== self.item { left() }
        self.item = item
        guard let asset = item.cachedAsset, Self.canBeRescued(item, asset) else { return }
        noteStart(of: asset, condition)
        guard isAlone, !leavesAlone(asset, condition) else { return }
        perform(machine.became(condition), asset)
    }

    /// Whether an item plays its original already, so that nothing can be known of its bytes. Only a
    /// failure counts then.
    private func leavesAlone(_ asset: CachingAVURLAsset, _ condition: RescueStateMachine.Condition) -> Bool {
        guard asset.loader?.report.playsOriginal == true else { return false }
        if case .failed = condition { return false }
        // A rescue that was in progress before the redirect ends.
        _ = machine.became(.well)
        return true
    }

    /// Ends with the item: its looks and answers are ignored, and it leaves no mark.
    func left() {
        startWatch?.itemIsGone()
        startWatch = nil
        (item, machine, hasOpened) = (nil, RescueStateMachine(limits: limits), false)
        number += 1
    }

    deinit { startWatch?.itemIsGone() }

    /// Whether the original could take the place of an item. An app may have replaced the delegate
    /// of an asset, or have restricted the networks since.
    private static func canBeRescued(_ item: AVPlayerItem, _ asset: CachingAVURLAsset) -> Bool {
        guard let sources = asset.sources, sources.original.asPlainAsset else { return false }
        switch asset.route {
        case .cache: return AssetLoader.of(item) != nil
        // The delegate of the app answers for keys, and the original has none.
        case .file, .loopback: return asset.resourceLoader.delegate == nil
        case .original: return false
        }
    }

    // MARK: Actions

    private func perform(_ actions: [RescueStateMachine.Action], _ asset: CachingAVURLAsset) {
        for action in actions {
            switch action {
            case .lookLater: lookLater(asset)
            case .ask: ask(asset)
            case .replace(let reason): replace(asset, because: reason)
            }
        }
    }

    private func lookLater(_ asset: CachingAVURLAsset) {
        guard let time = asset.sources?.factory.cache.environment.time else { return }
        let number = number
        _ = time.after(limits.interval, on: main) { [weak self] in
            MainActor.assumeIsolated {
                self?.answered(number) { machine, asset in machine.looked(asset.movement) }
            }
        }
    }

    private func ask(_ asset: CachingAVURLAsset) {
        guard let sources = asset.sources else { return }
        sources.factory.probe(sources.firstByte(at: asset.presentURL)) { [weak self, main, number] isThere in
            main.post { [weak self] in
                MainActor.assumeIsolated {
                    self?.answered(number) { machine, asset in machine.answered(isThere, movement: asset.movement) }
                }
            }
        }
    }

    /// Takes an answer for the item, unless the player has another one.
    private func answered(_ number: Int, _ body: (inout RescueStateMachine, CachingAVURLAsset) -> [RescueStateMachine.Action]) {
        guard number == self.number, let asset = item?.cachedAsset else { return }
        let wasDeciding = isDeciding
        if !wasDeciding { _ = leavesAlone(asset, .well) }
        perform(body(&machine, asset), asset)
        if wasDeciding, !isDeciding { decided() }
    }

    private func replace(_ asset: CachingAVURLAsset, because reason: RescueReason) {
        guard let item, let sources = asset.sources else { return }
        let plain = sources.original(at: asset.presentURL, key: asset.key, because: reason)
        if let key = asset.key { sources.factory.cache.record(.degradedToPassthrough(key, reason: "rescued: \(reason.words)")) }
        let new = AVPlayerItem(asset: plain)
        // A network that was gone for a moment is no fault of the cache.
        let isOfNetwork = reason == .failed && asset.lastError?.code == .originUnreachable
        original = isOfNetwork ? nil : Original(item: ObjectIdentifier(new), asset: plain)
        replace(item, new)
    }

    // MARK: Breakers

    private func noteStart(of asset: CachingAVURLAsset, _ condition: RescueStateMachine.Condition) {
        guard let door = asset.sources?.factory.door, !hasOpened else { return }
        startWatch = door.starts.withLock { $0 }
        switch condition {
        case .needs(.opening): startWatch?.itemOpens()
        case .failed: startWatch?.itemIsGone()
        case .needs(.stalled), .well:
            hasOpened = true
            door.itemOpened()
            startWatch?.itemIsReady()
        }
    }

    /// Counts a rescue once its original is ready.
    private func noteOriginal(_ item: AVPlayerItem) {
        guard let original else { return }
        let isCurrent = original.item == ObjectIdentifier(item)
        guard !isCurrent || item.status != .unknown else { return }
        self.original = nil
        guard isCurrent, let factory = original.asset.sources?.factory else { return }
        factory.door.originalEnded(isPlaying: item.status == .readyToPlay, of: original.asset.key, in: factory.cache)
    }
}

extension CachingAVURLAsset {
    /// The URL of the next requests: the app's, or the last fresh one.
    var presentURL: URL { loader?.report.freshURL ?? originalURL }

    /// The bytes of the asset so far. Those of an asset at the proxy are not counted by asset, so
    /// the bytes of the cache stand for them.
    fileprivate var movement: RescueMovement {
        guard let cache = sources?.factory.cache else { return RescueMovement() }
        guard let loader, let key, loader.report.isServing else {
            let counts = cache.statistics
            return RescueMovement(delivered: counts.bytesFromStore, fetched: counts.bytesFromOrigin)
        }
        return RescueMovement(delivered: loader.report.knownBytes, fetched: cache.storedNow(of: key)?.totalBytes ?? 0)
    }
}

extension DoorState {
    /// Notes that an item of the cache became ready by itself.
    func itemOpened() { breaker.withLock { $0.itemOpened() } }

    /// Counts a rescue, once its original is ready or has failed as well. Several rescues bypass
    /// the cache until the process ends.
    func originalEnded(isPlaying: Bool, of key: ResourceKey?, in cache: MediaCache) {
        guard isPlaying else { return breaker.withLock { $0.originalFailed() } }
        if let key { resources.remember(.rescued, for: key) }
        guard breaker.withLock({ $0.originalPlayed() }) else { return }
        cache.bypass.change("originals played where items of the cache had failed") { $0.insert(.rescues) }
    }
}

extension PlaybackController {
    /// Replaces an item of the cache that failed, or does not move, by its original.
    func followRescue(_ player: AVPlayer, _ item: AVPlayerItem) {
        guard rescuesItems else { return }
        let condition = condition(of: item, player)
        if case .failed = condition {} else { stalls.wantedRate = stalls.intendedRate(of: player) }
        let others = (player as? AVQueuePlayer)?.items().filter { $0 !== item } ?? []
        rescue.follow(item, condition, isAlone: !others.contains { $0.asset === item.asset || AssetLoader.shared($0, item) })
    }

    private func condition(of item: AVPlayerItem, _ player: AVPlayer) -> RescueStateMachine.Condition {
        if item.status == .failed || failure != nil {
            let cause = AssetLoader.of(item)?.report.lastError
            return .failed(mayPlayFromOriginal: cause.map { $0.mayPlayFromOriginal || $0.code == .originUnreachable } ?? true)
        }
        if item.status == .unknown { return .needs(.opening) }
        // A player also waits for others, in a coordinated play, and for the end of an interstitial.
        let needsBytes = [.toMinimizeStalls, .evaluatingBufferingRate, nil].contains(player.reasonForWaitingToPlay)
        let isWaiting = player.timeControlStatus == .waitingToPlayAtSpecifiedRate && needsBytes
        return stalls.isWaiting || isWaiting ? .needs(.stalled) : .well
    }

    /// Puts the original in the place of an item that failed or does not move. A pause since then
    /// counts.
    func putOriginal(_ new: AVPlayerItem, inPlaceOf old: AVPlayerItem) {
        guard let player, player.currentItem === old else { return }
        reporter.rescued()
        swapper.replace(old, with: new, in: player, rate: stalls.wantedRate)
    }
}

extension AssetLoader {
    /// Whether two items have one loader, as the copies of a looper's item do.
    @MainActor fileprivate static func shared(_ a: AVPlayerItem, _ b: AVPlayerItem) -> Bool {
        guard let loader = of(a) else { return false }
        return loader === of(b)
    }
}
#endif
