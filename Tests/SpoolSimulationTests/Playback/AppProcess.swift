#if os(Linux)
import AVFoundation
import Spool
import SpoolAVFoundation
import SpoolCore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting

/// One process of an app: a cache on a disk, a player with its controller, the user and the system.
///
/// The rules are checked whenever virtual time moves, when no job is left to do:
///
/// - The rate is above 0 only if the user's last wish was to play, and the system took the audio at
///   no time since.
/// - A player that plays has the rate of the user's last wish.
/// - A player that may play makes progress while there is a network.
/// - No lock is held at the moment of a suspension, and the listener is open when the app is back.
///
/// The player of the scenario compares each byte (rule R2 of its journal).
@MainActor final class AppProcess {
    /// The maximal number of steps. More are a livelock.
    static let maxSteps = 600_000
    /// The seconds in the background that the system grants an app that is not heard.
    static let grantedSeconds = 30
    /// The seconds to the end of an app that ignores the end of that time.
    static let secondsToKill = 5
    /// The longest time in which a player that may play makes no progress: its loader's patience,
    /// and the start of another item.
    static let patience: Nanoseconds = .seconds(180)
    /// The time after which the app plays an item again that failed.
    static let pauseAfterFailure: Nanoseconds = .seconds(3)

    let scenario: PlaybackScenario
    let script: AppScript
    private let player: AVQueuePlayer
    private var controller: PlaybackController?
    private var lifecycle: AppLifecycle?
    private let center = NotificationCenter()
    private let granted = GrantedTime()
    private let listener = MortalListener()
    /// Whether an original answers a request for its first byte.
    private let network = Locked(true)
    private var wish = AppWish()
    private var rate: Float = 1
    private var tunes: [PlaybackScenario.Tune] = []
    private var stopWatch: NSKeyValueObservation?
    private var onStop: (@MainActor (AppProcess) -> Void)?
    private var isInBackground = false
    private var grantedLeft = 0
    private var isSuspensionDue = false
    private var isOver = false
    private var isOffline = false
    private var hasReceiver = false
    private var lastMark: Mark?
    private var lastProgress: MonotonicInstant
    private var lines: [String] = []
    /// The number of stays in the background, of suspensions, and of networks that went away.
    private(set) var breaks = 0
    private let random: SeededRandom
    /// The bypasses, the rescues and the breakers of the process.
    let turns = AppTurnLog()

    private struct Mark: Equatable {
        var item: ObjectIdentifier?
        var seconds: Double
    }

    init(seed: UInt64, script: AppScript, disk: MemoryDisk?) throws {
        var plan = World.Plan()
        plan.usesDisk = true
        plan.disk = disk
        plan.windowBytes = script.windowBytes
        plan.configure = { [turns] in $0.events.append(turns) }
        self.script = script
        random = SeededRandom(seed: seed ^ 0xA11)
        scenario = try PlaybackScenario(seed: seed, habits: script.habits, plan: plan)
        let scenario = scenario
        scenario.maxSteps = Self.maxSteps
        guard let player = scenario.player else { preconditionFailure("a new scenario has a player") }
        self.player = player
        lastProgress = scenario.simulator.now
        scenario.factory = Self.factory(scenario)
        let network = network
        scenario.factory.probe = { _, report in report(network.withLock { $0 }) }
        tunes = script.resources.map { Self.serve($0, script, scenario) }
        addOrigin()
        scenario.world.cache.loopback = listener
        controller = PlaybackController(player: player, main: scenario.playback.main, center: center)
        let granted = granted
        lifecycle = AppLifecycle(
            cache: scenario.world.cache,
            center: LifecycleCenter(center: center, background: "away", foreground: "back", time: { granted.begin($0) }))
        watch()
    }

    var simulator: Simulator { scenario.simulator }
    var violations: [String] { scenario.violations }

    // MARK: The origin

    private static func factory(_ scenario: PlaybackScenario) -> CachingAssetFactory {
        let simulator = scenario.simulator
        var factory = CachingAssetFactory(cache: scenario.world.cache, keyPolicy: KeyPolicy().dropQueryItems(named: ["issued"]))
        factory.cookies = nil
        factory.startsProxy = false
        factory.makeQueue = scenario.factory.makeQueue
        factory.renewal = { [weak scenario] url, done in
            guard let scenario, let old = scenario.world.versions.first(where: { $0.key == url.absoluteString })?.value.last else { return }
            var fresh = old
            fresh.url = Self.address(String(url.absoluteString.prefix { $0 != "?" }), simulator)
            scenario.world.serve(fresh)
            guard let address = URL(string: fresh.url) else { return }
            done(.success(RenewedURL(address)))
        }
        return factory
    }

    /// Returns a URL with the time of its issue.
    private nonisolated static func address(_ url: String, _ simulator: Simulator) -> String {
        "\(url)?issued=\(simulator.wallNow.seconds)"
    }

    private static func serve(_ resource: AppScript.Resource, _ script: AppScript, _ scenario: PlaybackScenario) -> PlaybackScenario.Tune {
        let content = OriginContent(seed: resource.content)
        let part = max(1, resource.length / 16)
        let media = SimulatedMedia(
            kind: resource.kind, seconds: resource.seconds, headBytes: part, tailBytes: resource.kind == .indexAtEnd ? part : 0,
            firstDifference: { content.firstDifference(in: $0, at: $1) })
        let url = "http://origin.test/\(resource.name)"
        let served = VirtualResource(
            url: script.validSeconds == nil ? url : address(url, scenario.simulator), seed: resource.content, length: resource.length,
            contentType: "audio/mpeg")
        return scenario.serve(served, media)
    }

    private func addOrigin() {
        let (simulator, script) = (simulator, script)
        scenario.world.origin.follow { [weak simulator] request, _ in
            if let valid = script.validSeconds, let issued = request.url.split(separator: "=").last.flatMap({ Int64($0) }),
                let now = simulator?.wallNow.seconds, now - issued > valid
            {
                return .status(403)
            }
            return .slow(
                latency: .milliseconds(script.latencyMilliseconds), bytesPerSecond: script.bytesPerSecond, chunkBytes: AppScript.chunkBytes)
        }
    }

    private func makeItem(_ number: Int) -> AVPlayerItem {
        let tune = tunes[number]
        guard let valid = script.validSeconds, script.namesExpiry else { return AVPlayerItem(asset: scenario.makeAsset(tune)) }
        let date = Date(timeIntervalSince1970: Double(simulator.wallNow.seconds + valid))
        return AVPlayerItem(asset: scenario.makeAsset(tune, options: [CachingAVURLAsset.expiryDateKey: date]))
    }

    // MARK: Events

    /// Runs `body` on the main queue.
    private func later(_ delay: Nanoseconds = 0, _ body: @escaping @Sendable @MainActor (AppProcess) -> Void) {
        _ = simulator.after(delay, on: scenario.playback.main) { [weak self] in
            MainActor.assumeIsolated {
                if let self { body(self) }
            }
        }
    }

    /// Plays items that failed again, and acts in the moment in which the player stops by itself.
    private func watch() {
        stopWatch = player.observe(\.timeControlStatus) { [weak self] player, _ in
            MainActor.assumeIsolated {
                guard player.timeControlStatus != .playing, let self, let act = self.onStop else { return }
                self.onStop = nil
                act(self)
            }
        }
        _ = controller?.broadcast.follow({ [weak self] state in
            guard case .failed = state else { return }
            MainActor.assumeIsolated { self?.later(Self.pauseAfterFailure) { $0.playAgainAfterFailure() } }
        })
    }

    private func playAgainAfterFailure() {
        guard let controller, case .failed = controller.state, wish.mayPlay else { return }
        note("the app plays the failed item again")
        controller.play()
        // `play()` sets the rate 1, as that of a player does. The user may have paused just now.
        if wish.mayPlay { player.rate = rate }
        later(Self.pauseAfterFailure) { $0.playAgainAfterFailure() }
    }

    private func perform(_ event: AppEvent) {
        note("\(event)")
        switch event {
        case .play(let rate): play(rate)
        case .pause: pause()
        case .pauseAtNextStop: onStop = { $0.pause() }
        case .seek(let targets, let milliseconds):
            for (index, target) in targets.enumerated() {
                later(.milliseconds(milliseconds * Int64(index))) { $0.scenario.seek(to: target) }
            }
        case .advance: player.advanceToNextItem()
        case .append(let number): player.insert(makeItem(number), after: nil)
        case .replace(let number): player.replaceCurrentItem(with: makeItem(number))
        case .call(let milliseconds, let shouldResume, let pausesFirst):
            beginCall(pausesFirst: pausesFirst)
            later(.milliseconds(milliseconds)) { $0.endCall(shouldResume) }
        case .callAtNextStop:
            onStop = { process in
                process.beginCall(pausesFirst: true)
                process.later(.seconds(5)) { $0.endCall(false) }
            }
        case .headphonesOut(let pausesFirst): pullHeadphones(pausesFirst: pausesFirst)
        case .receiver(let milliseconds):
            setReceiver(true)
            later(.milliseconds(milliseconds)) { $0.setReceiver(false) }
        case .background(let milliseconds):
            enterBackground()
            later(.milliseconds(milliseconds)) { $0.returnToForeground() }
        case .bypass(let milliseconds):
            scenario.world.cache.isBypassed = true
            later(.milliseconds(milliseconds)) { $0.scenario.world.cache.isBypassed = false }
        case .fault:
            scenario.simulated?.inspect { player in
                player.current?.fail(AVError.nsError(.unknown))
                player.itemsChanged()
            }
        case .offline(let milliseconds, let breaks):
            setOffline(true, breaksTransfers: breaks)
            later(.milliseconds(milliseconds)) { $0.setOffline(false, breaksTransfers: false) }
        }
    }

    // MARK: The user

    private func play(_ rate: Float) {
        // A call has the audio session.
        guard !wish.isCalling else { return }
        wish.played()
        self.rate = rate
        if let controller, case .failed = controller.state { controller.play() }
        // The user may have paused in the moment in which the item was made again.
        if wish.mayPlay { player.rate = rate }
    }

    private func pause() {
        note("the user pauses")
        wish.paused()
        random.chance(1, in: 2) ? controller?.pause() : player.pause()
    }

    // MARK: The system

    private func beginCall(pausesFirst: Bool) {
        guard !wish.isCalling else { return }
        note("a call begins")
        wish.callBegan()
        takeAudio(
            pausesFirst: pausesFirst, .audioSessionInterrupted, AudioNotices.interruption,
            [AudioNotices.interruptionTypeKey: AudioNotices.began])
    }

    private func endCall(_ shouldResume: Bool) {
        guard wish.isCalling, wish.callEnded(shouldResume: shouldResume) else { return }
        note("the app plays after the call")
        play(rate)
    }

    private func pullHeadphones(pausesFirst: Bool) {
        guard !hasReceiver else { return }
        wish.silenced("the headphones are out")
        takeAudio(
            pausesFirst: pausesFirst, .setRateCalled, AudioNotices.routeChange,
            [AudioNotices.routeChangeReasonKey: AudioNotices.oldDeviceUnavailable])
    }

    /// The system pauses a player that plays, and does not see one that waits for the bytes of a
    /// loader.
    private func takeAudio(
        pausesFirst: Bool, _ reason: AVPlayer.RateDidChangeReason, _ name: Notification.Name, _ info: [String: UInt]
    ) {
        let isSeen = player.timeControlStatus == .playing || !isCached
        if isSeen, pausesFirst { player.pauseBySystem(reason) }
        center.post(name: name, object: nil, userInfo: info)
        if isSeen, !pausesFirst { player.pauseBySystem(reason) }
    }

    /// Whether the current item comes from the cache. Without an item, the next one does.
    private var isCached: Bool {
        guard let item = player.currentItem else { return true }
        return item.cachedAsset?.route == .cache
    }

    private func setReceiver(_ isActive: Bool) {
        hasReceiver = isActive
        player.change([.isExternalPlaybackActive]) { $0.isExternalPlaybackActive = isActive }
    }

    private func setOffline(_ isOffline: Bool, breaksTransfers: Bool) {
        if breaksTransfers { breaks += 1 }
        self.isOffline = isOffline
        network.withLock { $0 = !isOffline }
        scenario.world.origin.setOffline(isOffline, breaksTransfers: breaksTransfers)
    }

    private func enterBackground() {
        guard !isInBackground else { return }
        isInBackground = true
        breaks += 1
        grantedLeft = Self.grantedSeconds
        if !script.playsInBackground, !hasReceiver, player.rate > 0 {
            wish.silenced("the app is in the background")
            player.pauseBySystem(.appBackgrounded)
        }
        center.post(name: Notification.Name("away"), object: nil)
        later(.seconds(1)) { $0.lookAtBackground() }
    }

    private func returnToForeground() {
        guard isInBackground else { return }
        isInBackground = false
        note("the app is back")
        center.post(name: Notification.Name("back"), object: nil)
        if !listener.isAlive { scenario.violated("the listener is closed in the foreground") }
    }

    /// The system's look at an app in the background, once a second: one that is not heard has its
    /// granted time, and is suspended then.
    private func lookAtBackground() {
        guard isInBackground else { return }
        later(.seconds(1)) { $0.lookAtBackground() }
        if hasReceiver || player.timeControlStatus == .playing { return }
        guard granted.isRunning else { return isSuspensionDue = true }
        grantedLeft -= 1
        if grantedLeft == 0 { granted.expire() }
        if grantedLeft < -Self.secondsToKill { scenario.violated("the app did not end its time in the background") }
    }

    /// Suspends the process: no job runs, and its sockets and listeners die.
    private func suspend() {
        isSuspensionDue = false
        let locks = scenario.world.disk.lockCount
        if locks > 0 { scenario.violated("\(locks) locks are held in suspension") }
        let time = Nanoseconds.seconds(random.number(in: random.pick([1...10, 60...7200])))
        note("suspended for \(time / 1_000_000_000) s")
        simulator.standStill(for: time)
        scenario.playback.wasSuspended(for: time)
        listener.die()
        breaks += 1
        scenario.world.origin.setOffline(true, breaksTransfers: true)
        scenario.world.origin.setOffline(isOffline)
        lastProgress = simulator.now
        // The user plays from the lock screen, or comes back.
        if script.playsInBackground, random.chance(1, in: 2), !wish.isCalling {
            grantedLeft = Self.grantedSeconds
            later { $0.perform(.play(rate: 1)) }
        } else {
            later { $0.returnToForeground() }
        }
    }

    // MARK: Running

    private func note(_ words: String) {
        lines.append("\((simulator.now.nanoseconds - 1_000_000_000) / 1_000_000) ms: \(words)")
    }

    /// Plays the events of a process, and stops in the middle of everything.
    func live(_ process: AppScript.Process) {
        for number in process.queue { player.insert(makeItem(number), after: nil) }
        later { $0.perform(.play(rate: 1)) }
        follow(process.events[...], from: 0)
        run("the events") { self.isOver }
    }

    /// Performs the events, one after the other. A suspension delays those that come after it.
    private func follow(_ events: ArraySlice<AppScript.TimedEvent>, from milliseconds: Int64) {
        let next = events.first?.milliseconds ?? AppScript.milliseconds.upperBound
        later(.milliseconds(next - milliseconds)) { process in
            guard let event = events.first?.event else { return process.isOver = true }
            process.perform(event)
            process.follow(events.dropFirst(), from: next)
        }
    }

    /// Ends every trouble, and plays to the end of the queue.
    func finish() {
        later { process in
            process.note("every trouble ends")
            process.onStop = nil
            process.endCall(false)
            process.setReceiver(false)
            process.setOffline(false, breaksTransfers: false)
            process.returnToForeground()
            // In a turn of its own, because a call may have begun in this one.
            process.later(.milliseconds(1)) { $0.play(1) }
        }
        run("the end") { self.wish.mayPlay && self.player.state.withLock { $0.items.isEmpty } }
        guard violations.isEmpty else { return }
        wish.paused()
        player.pause()
        windUp()
    }

    private func windUp() {
        stopWatch = nil
        controller = nil
        scenario.checkEnd()
        guard violations.isEmpty else { return }
        lifecycle = nil
        scenario.world.run()
        if scenario.world.disk.openHandleCount > 0 { scenario.violated("\(scenario.world.disk.openHandleCount) files stay open") }
        for violation in scenario.world.violations { scenario.violated(violation) }
    }

    private func run(_ what: String, until isMet: () -> Bool) {
        while violations.isEmpty, !isMet() {
            guard simulator.stepCount < Self.maxSteps else { return scenario.violated("no end of \(what)") }
            let before = simulator.now
            guard simulator.step() else { return scenario.violated("the world stands still before \(what)") }
            if simulator.now > before { checkInstant() }
            if isSuspensionDue { suspend() }
            for violation in scenario.world.cache.catalog.violations { scenario.violated(violation) }
        }
        for breach in scenario.playback.journal.breaches { scenario.violated("\(breach)") }
    }

    // MARK: The rules

    private func checkInstant() {
        let rate = player.state.withLock { $0.rate }
        if rate > 0, wish.mayPlay, rate != self.rate { scenario.violated("the rate is \(rate), and the user chose \(self.rate)") }
        if rate > 0, !wish.mayPlay { scenario.violated("the player has the rate \(rate), but \(wish.reason)") }
        let mark = Mark(item: player.currentItem.map(ObjectIdentifier.init), seconds: player.currentTime().seconds)
        let waits = wish.mayPlay && !isOffline && !hasReceiver && mark.item != nil && rate > 0
        if mark != lastMark || !waits {
            (lastMark, lastProgress) = (mark, simulator.now)
        } else if simulator.now - lastProgress > Self.patience {
            scenario.violated("the player makes no progress: \(controller.map { "\($0.state)" } ?? "")")
        }
    }

    /// The bytes that the player got in this process, by the resource.
    var deliveredBytes: Int64 {
        var delivered: [String: ByteRangeSet] = [:]
        for feeder in feeders { delivered[feeder.media.label, default: ByteRangeSet()].formUnion(feeder.delivered) }
        return delivered.values.reduce(0) { $0 + $1.totalBytes }
    }

    /// The number of requests and items that came to an early end.
    var ends: Int64 { Int64(feeders.reduce(0) { $0 + 1 + $1.cancelCount + $1.droppedCount }) }

    private var feeders: [MediaFeeder] { scenario.feeders + (scenario.simulated?.history ?? []) }

    /// The events and the player's requests, for a report.
    var story: String {
        let transcripts = feeders.map { "\($0.media.label) \($0.media.kind), \($0.length ?? -1) bytes, \($0.phase)\n\($0.transcript.text)" }
        let requests = scenario.requests.map { "\($0.request.url) \($0.range ?? "whole") \($0.status ?? 0) \($0.handedOverBytes)" }
        let end = """
            \(player.timeControlStatus), rate \(player.rate), waits: \(player.automaticallyWaitsToMinimizeStalling), \
            \(controller.map { "\($0.state)" } ?? "no controller"), the user wants to play: \(wish.mayPlay)
            """
        return simulator.report((violations + lines + [end] + transcripts + requests + ["\(script)"]).joined(separator: "\n"))
    }
}
#endif
