import Foundation
import SpoolCore
import SpoolSystem

/// The machinery behind an `AVPlayer` of the double: it reads the media of the items, advances
/// their time, stalls, ends and fails.
///
/// Its requests follow the observed patterns of the real player (``PlayerHabits``). The app's calls
/// reach it through ``PlayerMachinery``. It changes the player on the world's main mailbox. It ends
/// when it is released.
package final class SimulatedPlayer: PlayerMachinery, @unchecked Sendable {
    // Sendable for its jobs, all of which run on its mailbox.

    /// The player whose calls it carries out.
    package let player: AVPlayer
    /// The request patterns.
    package let habits: PlayerHabits
    private let world: PlaybackWorld
    private let mailbox: any Mailbox
    /// Returns the media of an item.
    private let media: @Sendable (AVPlayerItem) -> SimulatedMedia?
    /// The feeders of the items in the player's list, in its order.
    private var feeders: [MediaFeeder] = []
    /// All feeders so far, for tests.
    package private(set) var history: [MediaFeeder] = []
    private var isPlaying = false
    private var startsImmediately = false
    private var tickTimer: SpoolSystem.Timer?
    private var lastTick: MonotonicInstant
    private var unreachableTicks = 0
    /// The feeder of the last stall. Only its item may not resume by itself; a later one begins anew.
    private var stalledFeeder: Int?
    private var seekCompletion: (@Sendable (Bool) -> Void)?
    private var pendingSeek: Double?
    private var published: [Int: Published] = [:]

    // Counters for tests.
    /// The number of items that played to their end.
    package private(set) var endCount = 0
    /// The number of stalls.
    package private(set) var stallCount = 0

    /// - Parameter media: Returns the media of an item. An item without media plays nothing.
    package init(
        driving player: AVPlayer, habits: PlayerHabits, world: PlaybackWorld, media: @escaping @Sendable (AVPlayerItem) -> SimulatedMedia?
    ) {
        self.player = player
        self.habits = habits
        self.world = world
        self.media = media
        mailbox = world.mailbox("player")
        lastTick = world.time.now
        player.machinery = self
        look(after: {})
    }

    deinit {
        tickTimer?.cancel()
    }

    /// The feeder of the playing item.
    package var current: MediaFeeder? { feeders.first }

    /// Runs `body` on the mailbox that protects the player's own state.
    package func inspect(_ body: @escaping @Sendable (SimulatedPlayer) -> Void) {
        mailbox.post { [weak self] in self.map(body) }
    }

    // MARK: Calls of the app

    /// Starts or stops playing at the player's new rate.
    package func rateChanged(immediately: Bool) {
        look { [weak self] in
            guard let self, player.state.withLock({ $0.rate }) > 0 else { return }
            startsImmediately = immediately
            current?.kick()
        }
    }

    /// Follows the player's new items.
    package func itemsChanged() {
        look {}
    }

    /// Seeks in the current item.
    package func seek(to time: CMTime, completion: @escaping @Sendable (Bool) -> Void) {
        look { [weak self] in
            guard let self, let current else { return completion(false) }
            endSeek(false)
            seekCompletion = completion
            pendingSeek = min(1, max(0, time.seconds / current.media.seconds))
        }
    }

    private func look(after change: @escaping @Sendable () -> Void) {
        mailbox.post { [weak self] in
            change()
            self?.look()
        }
    }

    // MARK: Looking

    private func look() {
        followItems()
        guard let current else { return stop() }
        // First, because an item that was opened in advance needs more bytes from now on.
        current.limitBytes = nil
        current.look()
        seekIfAsked(current)
        prebuffer(after: current)
        switch current.phase {
        // The player loads an original URL by itself, always in time.
        case .ready, .direct: play(current)
        case .failed: stop()
        case .idle, .probing, .opening: break
        }
        for feeder in feeders { publish(feeder) }
    }

    /// Follows items that were inserted and removed.
    private func followItems() {
        let items = player.state.withLock { $0.items }
        let gone = feeders.filter { feeder in feeder.item.map { !items.contains($0) } ?? true }
        if gone.contains(where: { $0 === current }) {
            stop()
            endSeek(false)
        }
        for feeder in gone { feeder.detach() }
        feeders = items.compactMap { item in feeders.first { $0.item === item } ?? make(item) }
    }

    private func make(_ item: AVPlayerItem) -> MediaFeeder? {
        guard let media = media(item) else { return nil }
        let feeder = MediaFeeder(
            number: history.count + 1, item: item, media: media, habits: habits, world: world, mailbox: mailbox,
            wake: { [weak self] in self?.look() })
        history.append(feeder)
        let asset = item.mediaAsset
        asset.simulatedDuration.withLock { $0 = CMTime(seconds: media.seconds, preferredTimescale: 1000) }
        if let start = item.state.withLock({ $0.startTime }) { feeder.position = min(1, max(0, start.seconds / media.seconds)) }
        // An item whose asset was cancelled, and that a player has again, does not play.
        if asset.isLoadingCancelled.withLock({ $0 }) { feeder.fail(AVError.nsError(.operationCancelled)) }
        return feeder
    }

    /// T6: opens the next item when the current one is full.
    private func prebuffer(after current: MediaFeeder) {
        guard feeders.count > 1, habits.prebufferBytes > 0, case .ready = current.phase, current.isFull else { return }
        feeders[1].limitBytes = habits.prebufferBytes
        feeders[1].look()
    }

    private func seekIfAsked(_ current: MediaFeeder) {
        guard current.isReady else { return }
        if let target = pendingSeek {
            pendingSeek = nil
            current.seek(to: target)
            moveTime(current)
            current.look()
        }
        if seekCompletion != nil, current.isBufferedToEnd || current.aheadBytes > 0 { endSeek(true) }
    }

    private func endSeek(_ hasFinished: Bool) {
        guard let completion = seekCompletion else { return }
        seekCompletion = nil
        pendingSeek = nil
        world.main.post { completion(hasFinished) }
    }

    // MARK: Time

    private func play(_ feeder: MediaFeeder) {
        let rate = player.state.withLock { $0.rate }
        guard rate > 0, pendingSeek == nil, !feeder.hasEnded else { return stop() }
        guard !isPlaying else { return }
        let waits = player.state.withLock { $0.automaticallyWaitsToMinimizeStalling } && !startsImmediately
        let isReady = waits ? feeder.isLikelyToKeepUp || feeder.isFull : feeder.isBufferedToEnd || feeder.aheadBytes > 1
        guard isReady, !waits || stalledFeeder != feeder.number || habits.resumesByItself else { return }
        isPlaying = true
        lastTick = world.time.now
        tellPlaying()
        scheduleTick()
    }

    private func stop() {
        isPlaying = false
        tickTimer?.cancel()
        tickTimer = nil
    }

    private func scheduleTick() {
        tickTimer = world.time.after(habits.tick, on: mailbox) { [weak self] in self?.tick() }
    }

    private func tick() {
        guard isPlaying, let feeder = current else { return }
        if failsAtReceiver(feeder) { return look() }
        let rate = Double(player.state.withLock { $0.rate })
        let passed = Double(world.time.now - lastTick) / 1e9
        lastTick = world.time.now
        let wanted = feeder.position + passed * rate / feeder.media.seconds
        let possible = feeder.bufferedPosition
        feeder.position = min(wanted, possible)
        moveTime(feeder)
        if feeder.position >= 1 {
            ended(feeder)
        } else if wanted > possible {
            stalled(feeder)
        } else {
            scheduleTick()
        }
        look()
    }

    /// A1: a receiver of AirPlay fetches the bytes itself. It reaches neither a delegate nor this
    /// device's loopback, and gives up after a few seconds.
    private func failsAtReceiver(_ feeder: MediaFeeder) -> Bool {
        guard player.state.withLock({ $0.isExternalPlaybackActive }), let url = (feeder.item?.mediaAsset as? AVURLAsset)?.url else {
            unreachableTicks = 0
            return false
        }
        let isReachable = ["http", "https"].contains(url.scheme ?? "") && !["127.0.0.1", "localhost"].contains(url.host ?? "")
        unreachableTicks = isReachable ? 0 : unreachableTicks + 1
        guard unreachableTicks > Self.ticksOfReceiver else { return false }
        feeder.fail(AVError.nsError(.contentIsUnavailable))
        return true
    }

    /// The number of ticks after which a receiver gives up.
    private static let ticksOfReceiver = 4

    /// Sets the item's current time.
    private func moveTime(_ feeder: MediaFeeder) {
        let time = CMTime(seconds: feeder.position * feeder.media.seconds, preferredTimescale: 1000)
        feeder.item?.state.withLock { $0.currentTime = time }
    }

    private func ended(_ feeder: MediaFeeder) {
        stop()
        feeder.hasEnded = true
        endCount += 1
        guard let item = feeder.item else { return }
        world.main.post { [player] in
            NotificationCenter.default.post(name: .AVPlayerItemDidPlayToEndTime, object: item)
            let (first, action) = player.state.withLock { ($0.items.first, $0.actionAtItemEnd) }
            guard first === item else { return }
            switch action {
            case .advance: (player as? AVQueuePlayer)?.advanceToNextItem()
            case .pause: player.setRate(0)
            case .none: break
            }
        }
    }

    /// The buffer is empty: the player waits, or stops until the app plays again.
    private func stalled(_ feeder: MediaFeeder) {
        stop()
        stallCount += 1
        stalledFeeder = feeder.number
        startsImmediately = false
        let item = feeder.item
        let notifies = habits.notifiesStalls
        world.main.post { [player] in
            player.change([.rate, .timeControlStatus, .reasonForWaitingToPlay]) { state in
                guard state.rate > 0 else { return }
                let waits = state.automaticallyWaitsToMinimizeStalling
                state.timeControlStatus = waits ? .waitingToPlayAtSpecifiedRate : .paused
                state.reasonForWaitingToPlay = waits ? .toMinimizeStalls : nil
                if !waits { state.rate = 0 }
            }
            if let item, notifies { NotificationCenter.default.post(name: .AVPlayerItemPlaybackStalled, object: item) }
        }
    }

    private func tellPlaying() {
        world.main.post { [player] in
            player.change([.timeControlStatus, .reasonForWaitingToPlay]) { state in
                guard state.rate > 0 else { return }
                state.timeControlStatus = .playing
                state.reasonForWaitingToPlay = nil
            }
        }
    }
}

// MARK: - The state of items

extension SimulatedPlayer {
    /// The last published state of an item.
    private struct Published: Equatable {
        var status = AVPlayerItem.Status.unknown
        var isLikelyToKeepUp = false
        var isFull = false
        var isEmpty = true
    }

    private func publish(_ feeder: MediaFeeder) {
        guard let item = feeder.item else { return }
        let old = published[feeder.number] ?? Published()
        let new = state(of: feeder)
        guard old != new else { return }
        published[feeder.number] = new
        let names = Self.changed(old, new)
        let error: NSError? = if case .failed(let error) = feeder.phase { error } else { nil }
        let seconds = feeder.media.seconds
        let hasBegun = feeder.position > 0
        world.main.post {
            item.change(names) { state in
                state.status = new.status
                state.error = error
                if new.status == .readyToPlay { state.duration = CMTime(seconds: seconds, preferredTimescale: 1000) }
                state.isPlaybackLikelyToKeepUp = new.isLikelyToKeepUp
                state.isPlaybackBufferFull = new.isFull
                state.isPlaybackBufferEmpty = new.isEmpty
            }
            guard new.status == .failed, old.status == .readyToPlay || hasBegun, let error else { return }
            NotificationCenter.default.post(
                name: .AVPlayerItemFailedToPlayToEndTime, object: item,
                userInfo: [AVPlayerItemFailedToPlayToEndTimeErrorKey: error])
        }
    }

    private func state(of feeder: MediaFeeder) -> Published {
        switch feeder.phase {
        case .failed: Published(status: .failed)
        case .direct: Published(status: .readyToPlay, isLikelyToKeepUp: true, isFull: true, isEmpty: false)
        case .ready:
            Published(
                status: .readyToPlay, isLikelyToKeepUp: feeder.isLikelyToKeepUp, isFull: feeder.isFull,
                isEmpty: !feeder.isBufferedToEnd && feeder.aheadBytes <= 1)
        case .idle, .probing, .opening: Published()
        }
    }

    private static func changed(_ old: Published, _ new: Published) -> Set<AVPlayerItem.Property> {
        var names: Set<AVPlayerItem.Property> = []
        if old.status != new.status { names.formUnion([.status, .duration, .error]) }
        if old.isLikelyToKeepUp != new.isLikelyToKeepUp { names.insert(.isPlaybackLikelyToKeepUp) }
        if old.isFull != new.isFull { names.insert(.isPlaybackBufferFull) }
        if old.isEmpty != new.isEmpty { names.insert(.isPlaybackBufferEmpty) }
        return names
    }
}
