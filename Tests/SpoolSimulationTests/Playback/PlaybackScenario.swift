#if os(Linux)
import AVFoundation
import Spool
import SpoolAVFoundation
import SpoolCore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting

/// A cache, an origin, the AVFoundation door and a simulated player on one simulated machine, and
/// the actions of an app.
///
/// Everything follows from the seed. Each broken rule is recorded in ``violations``.
final class PlaybackScenario: @unchecked Sendable {
    // Sendable for the simulator's jobs, all of which run on the test's thread.

    /// The maximal number of steps of a whole scenario. A longer scenario is a livelock and fails
    /// with its seed.
    var maxSteps = 400_000
    /// The maximal number of items that may fail one after the other. More failures are a livelock
    /// of the scenario itself; no scenario has so many.
    static let maxFailures = 100
    /// The bytes that readers fetch ahead in these worlds, plus those that a transport may have in
    /// transit.
    static let windowBytes: Int64 = (256 << 10) + (64 << 10)
    /// The most positions of an item at which bytes are under way: its tracks may be apart.
    static let positionsAtOnce: Int64 = 2

    /// A resource to play, and its media.
    struct Tune {
        let resource: VirtualResource
        let media: SimulatedMedia

        var url: URL { URL(string: resource.url).unsafelyUnwrapped }
    }

    let world: World
    let playback: PlaybackWorld
    var factory: CachingAssetFactory
    let habits: PlayerHabits
    /// The player, or nil once everything was released.
    private(set) var player: AVQueuePlayer?
    private(set) var simulated: SimulatedPlayer?
    private var tunes: [String: Tune] = [:]
    private var assets: [WeakAsset] = []
    private(set) var violations: [String] = []
    /// Whether the network was away for a while.
    var lostNetwork = false

    init(seed: UInt64, habits: PlayerHabits = .modest, plan: World.Plan = World.Plan()) throws {
        world = try World(seed: seed, plan: plan)
        self.habits = habits
        let simulator = world.simulator
        playback = PlaybackWorld(
            time: simulator, random: simulator, main: simulator.mailbox("main"), mailbox: { simulator.mailbox($0) })
        factory = CachingAssetFactory(cache: world.cache)
        // The cookies of the user who runs the tests stay out of them.
        factory.cookies = nil
        factory.makeQueue = { LoaderQueue(queue: DispatchQueue(label: "unused"), mailbox: simulator.mailbox("asset")) }
        openPlayer()
    }

    deinit { world.shutdown() }

    var simulator: Simulator { world.simulator }
    var requests: [OriginLog.Entry] { world.origin.log.entries }
    /// All feeders of a player in this scenario.
    private(set) var feeders: [MediaFeeder] = []

    func violated(_ words: String) {
        if violations.count < 10 { violations.append(words) }
    }

    // MARK: Resources

    /// Serves a resource, and records the media that a player finds in it.
    @discardableResult
    func serve(_ resource: VirtualResource, _ media: SimulatedMedia) -> Tune {
        var media = media
        media.label = resource.url
        let tune = Tune(resource: resource, media: media)
        world.serve(resource)
        tunes[resource.url] = tune
        return tune
    }

    /// Serves a tune of a certain kind and length with bytes from a seed.
    func serve(_ kind: SimulatedMedia.Kind = .mp3, length: Int64, name: String = "song.mp3", seconds: Double = 20) -> Tune {
        let resource = VirtualResource(url: "http://origin.test/\(name)", seed: 7, length: length, contentType: nil)
        let content = resource.content
        return serve(
            resource,
            SimulatedMedia(
                kind: kind, seconds: seconds, headBytes: min(length, 30_000), tailBytes: kind == .indexAtEnd ? min(length, 20_000) : 0,
                firstDifference: { content.firstDifference(in: $0, at: $1) }))
    }

    func makeAsset(_ tune: Tune, options: [String: any Sendable]? = nil) -> CachingAVURLAsset {
        let asset = factory.asset(for: tune.url, options: options)
        assets.append(WeakAsset(asset: asset))
        return asset
    }

    func makeItem(_ tune: Tune) -> AVPlayerItem { AVPlayerItem(asset: makeAsset(tune)) }

    // MARK: The app

    private func openPlayer() {
        let player = AVQueuePlayer(items: [])
        self.player = player
        simulated = SimulatedPlayer(driving: player, habits: habits, world: playback) { [weak self] item in
            (item.mediaAsset as? CachingAVURLAsset).flatMap { self?.tunes[$0.originalURL.absoluteString]?.media }
        }
    }

    func append(_ tune: Tune) { player?.insert(makeItem(tune), after: nil) }

    /// Performs an action of the app after `delay`, on its main queue.
    func app(after delay: Nanoseconds = 0, _ body: @escaping @Sendable (PlaybackScenario) -> Void) {
        _ = simulator.after(delay, on: playback.main) { [weak self] in self.map(body) }
    }

    func seek(to seconds: Double) { player?.seek(to: CMTime(seconds: seconds, preferredTimescale: 1000)) }

    /// Releases the player and everything that it played.
    func dropPlayer() {
        if let simulated { feeders += simulated.history }
        player?.replaceCurrentItem(with: nil)
        while player?.state.withLock({ !$0.items.isEmpty }) == true { player?.advanceToNextItem() }
        simulated = nil
        player = nil
    }

    // MARK: Running

    private var stepsLeft: Int { max(0, maxSteps - simulator.stepCount) }

    /// Runs until the condition is met, or until no work is left if it is nil.
    @discardableResult
    func run(_ what: String, until isMet: (() -> Bool)? = nil) -> Bool {
        while simulator.stepCount < maxSteps {
            if isMet?() ?? false { return true }
            guard violations.isEmpty else { return false }
            guard simulator.step() else {
                if isMet != nil { violated("the world stands still before \(what)") }
                return isMet == nil
            }
            for violation in world.cache.catalog.violations { violated(violation) }
        }
        violated("no end of \(what) after \(maxSteps) steps")
        return false
    }

    func pass(_ time: Nanoseconds) {
        if !simulator.advance(by: time, maxSteps: stepsLeft) { violated("no end of \(time) ns after \(maxSteps) steps") }
    }

    /// Plays the queue to its end. Returns false if an item failed on the way.
    @discardableResult
    func playToEnd() -> Bool {
        app { $0.player?.setRate(1) }
        run("playing") { self.player?.state.withLock { $0.items.isEmpty } ?? true || self.failedFeeder != nil }
        return failedFeeder == nil
    }

    /// The feeder of a current item that failed, or nil once the player has released the item.
    var failedFeeder: MediaFeeder? {
        guard let current = simulated?.current, case .failed = current.phase else { return nil }
        // A released item belongs to no player, even where the player has no item either.
        guard let item = current.item else { return nil }
        return player?.state.withLock { $0.items.first === item } == true ? current : nil
    }

    // MARK: Checks at the end

    /// Releases everything and checks for leaked objects.
    func checkEnd() {
        dropPlayer()
        // A running job may keep an object until it ends, and a fetch lingers for a second.
        pass(.seconds(3))
        run("winding up")
        playback.journal.checkKept()
        for breach in playback.journal.breaches { violated("\(breach)") }
        for (index, asset) in assets.enumerated() where asset.asset != nil { violated("asset \(index) lives on") }
        for feeder in feeders where feeder.openAskCount > 0 { violated("requests stay open:\n\(feeder.transcript.text)") }
        for url in tunes.keys.sorted() { checkIdle(url) }
    }

    /// Checks that a resource has no readers and no fetches.
    private func checkIdle(_ url: String) {
        let status = Locked<ResourceStatus?>(nil)
        world.cache.status(of: ResourceKey(normalized: url)) { result in
            if case .success(let found) = result { status.withLock { $0 = found } }
        }
        simulator.runUntilIdle(maxSteps: stepsLeft)
        guard let status = status.withLock({ $0 }) else { return }
        if status.readers > 0 { violated("\(status.readers) readers of \(url) are left") }
        if status.fetches > 0 { violated("\(status.fetches) fetches of \(url) are left") }
    }

    /// Checks that every fetched byte was delivered, except bytes in transit when a request was
    /// cancelled or an item released. Windows that are under way then arrive to their end.
    func checkFetched() {
        var delivered: Int64 = 0, ends: Int64 = 0, total: Int64 = 0
        for url in tunes.keys.sorted() {
            let played = feeders.filter { $0.media.label == url }
            delivered += played.reduce(into: ByteRangeSet()) { $0.formUnion($1.delivered) }.totalBytes
            ends += Int64(played.reduce(0) { $0 + 1 + $1.cancelCount + $1.droppedCount })
            total += tunes[url]?.resource.length ?? 0
        }
        let fetched = world.cache.statistics.fetchedBytes
        if fetched < delivered { violated("fetched \(fetched), delivered \(delivered)") }
        if fetched > total { violated("fetched \(fetched) of \(total) bytes") }
        if fetched > delivered + ends * Self.positionsAtOnce * Self.windowBytes {
            violated("fetched \(fetched), delivered \(delivered), with \(ends) requests and items that came to an early end")
        }
    }

    /// Plays every tune from end to end, so that it is stored, then again: the second time causes
    /// no origin request.
    func checkSecondRun() {
        for url in tunes.keys.sorted() { playAlone(url) }
        pass(.seconds(3))
        let before = requests.count
        for url in tunes.keys.sorted() { playAlone(url) }
        if requests.count > before {
            violated("the second run asked the origin: \(requests[before...].map { "\($0.request.url) \($0.range ?? "whole")" })")
        }
    }

    private func playAlone(_ url: String) {
        guard violations.isEmpty, let tune = tunes[url], tune.resource.length > 0 else { return }
        openPlayer()
        append(tune)
        if !playToEnd() { violated("\(url) does not play alone: \(failedFeeder?.lastError.map { "\($0)" } ?? "")") }
        dropPlayer()
    }
}

/// A weak reference to an asset.
private struct WeakAsset {
    weak var asset: CachingAVURLAsset?
}

extension PlayerHabits {
    /// Habits in proportion to media of a megabyte.
    static var modest: PlayerHabits {
        var habits = PlayerHabits()
        habits.highWaterBytes = 200_000
        habits.lowWaterBytes = 100_000
        return habits
    }
}
#endif
