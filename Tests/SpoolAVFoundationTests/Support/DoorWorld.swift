import AVFoundation
import Spool
import SpoolAVFoundation
import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// A cache, an origin and AVFoundation's double on one simulated machine.
final class DoorWorld: @unchecked Sendable {
    // Sendable for the simulator's jobs, all of which run on the test's thread.
    static let url = "http://origin.test/album/song.mp3"

    let world: World
    let playback: PlaybackWorld
    private(set) var factory: CachingAssetFactory
    private var loads: [Load] = []
    private var options: [String: any Sendable]?
    private var kept: [any Sendable] = []
    private let probed = Locked<(requests: [URLRequest], waiting: [@Sendable (Bool) -> Void])>(([], []))

    init(seed: UInt64 = 1, length: Int64 = 1_000_000, contentType: String? = "audio/mpeg", plan: World.Plan = World.Plan()) throws {
        world = try World(seed: seed, plan: plan)
        let simulator = world.simulator
        playback = PlaybackWorld(
            time: simulator, random: simulator, main: simulator.mailbox("main"), mailbox: { simulator.mailbox($0) })
        factory = CachingAssetFactory(cache: world.cache)
        // The storage of the user who runs the tests stays out of them.
        factory.cookies = nil
        // A simulation has no sockets.
        factory.startsProxy = false
        factory.makeQueue = { LoaderQueue(queue: DispatchQueue(label: "unused"), mailbox: simulator.mailbox("asset")) }
        world.serve(VirtualResource(url: Self.url, seed: 7, length: length, contentType: contentType))
    }

    deinit { world.shutdown() }

    var url: URL { URL(string: Self.url).unsafelyUnwrapped }
    var requests: [OriginLog.Entry] { world.origin.log.entries }
    var simulator: Simulator { world.simulator }

    /// Whether another process could take the store's lock, so that the system may suspend this
    /// one. Only for a world with a disk.
    var isSuspended: Bool {
        guard let lock = try? world.disk.open("/cache/lock", .readWrite) else { return false }
        guard let isFree = try? lock.lock(.exclusive), isFree else { return false }
        return (try? lock.lock(.none)) ?? false
    }

    func limit(_ change: (inout LoadingLimits) -> Void) { change(&factory.limits) }

    func challenge(_ handler: @escaping @Sendable (URLAuthenticationChallenge) -> Bool) { factory.onChallenge = handler }

    func renew(_ handler: @escaping @Sendable (URL) -> RenewedURL) { factory.renewal = { url, done in done(.success(handler(url))) } }

    func cookies(_ handler: @escaping @Sendable (URL) -> [HTTPCookie]) { factory.cookies = handler }

    func asset() -> CachingAVURLAsset { factory.asset(for: url, options: options) }

    /// Returns an item of the resource.
    @MainActor func item() -> AVPlayerItem { AVPlayerItem(asset: asset()) }

    /// Names the type of the resource for its next assets.
    func hint(_ type: String) { options = [CachingAVURLAsset.contentTypeKey: type] }

    /// Keeps an object as long as the world.
    func keep(_ object: any Sendable) { kept.append(object) }

    // MARK: Probes of the original

    /// The probes so far.
    var probes: [URLRequest] { probed.withLock { $0.requests } }

    /// Answers each probe of the original at once.
    func answerProbes(_ isThere: Bool) {
        let probed = probed
        factory.probe = { request, report in
            probed.withLock { $0.requests.append(request) }
            report(isThere)
        }
    }

    /// Lets the probes wait for `answerHeldProbes`.
    func holdProbes() {
        let probed = probed
        factory.probe = { request, report in
            probed.withLock { probed in
                probed.requests.append(request)
                probed.waiting.append(report)
            }
        }
    }

    func answerHeldProbes(_ isThere: Bool) {
        for report in probed.withLock({ $0.waiting }) { report(isThere) }
    }

    // MARK: Requests

    /// One loading request of an asset, and its outcome.
    final class Load: @unchecked Sendable {
        // Sendable for the simulator's jobs.
        var transaction: LoadingTransaction?
        fileprivate(set) var bytes: [UInt8] = []
        fileprivate(set) var pieces: [Int] = []
        fileprivate(set) var information: ContentInformation?
        fileprivate(set) var isFinished = false
        fileprivate(set) var redirect: URLRequest?
        fileprivate(set) var error: NSError?
        fileprivate(set) var isCancelled = false
        /// Whether the delegate did not accept the request.
        fileprivate(set) var isRefused = false
        var isOver: Bool { isFinished || isRefused || redirect != nil || error != nil || isCancelled }
    }

    /// Makes the request of a player: information, bytes `[offset, offset + length)`, or both.
    @discardableResult
    func load(
        _ asset: AVURLAsset, information: Bool = false, _ offset: Int64? = nil, _ length: Int = .max, toEnd: Bool = false,
        allowed: [String]? = nil, fields: [String: String] = [:]
    ) -> Load {
        load(asset.url, of: asset, information: information, offset, length, toEnd: toEnd, allowed: allowed, fields: fields)
    }

    /// Makes the request for another URL than the asset's, such as that of a key.
    @discardableResult
    func load(
        _ url: URL, of asset: AVURLAsset, information: Bool = false, _ offset: Int64? = nil, _ length: Int = .max, toEnd: Bool = false,
        allowed: [String]? = nil, fields: [String: String] = [:]
    ) -> Load {
        let load = Load()
        var ask = AVFoundation.LoadingAsk(
            url: url, wantsInformation: information,
            data: offset.map { AVFoundation.LoadingAsk.Data(offset: $0, length: length, toEnd: toEnd) })
        ask.allowedContentTypes = allowed
        for (name, value) in fields { ask.request.setValue(value, forHTTPHeaderField: name) }
        // The asset has the length from its first answer.
        if !information { ask.knownLength = world.versions[Self.url]?.last?.length }
        load.transaction = asset.resourceLoader.begin(ask, for: asset, world: playback, on: simulator.mailbox("player")) { event in
            switch event {
            case .accepted, .unanswered: break
            case .refused: load.isRefused = true
            case .data(let data, _):
                load.bytes += data
                load.pieces.append(data.count)
            case .finished(let information):
                load.information = information
                load.isFinished = true
            case .redirected(let request): load.redirect = request
            case .failed(let error): load.error = error
            case .cancelled: load.isCancelled = true
            }
        }
        loads.append(load)
        return load
    }

    /// Makes the probe with which every player begins.
    @discardableResult
    func probe(_ asset: AVURLAsset) -> Load { load(asset, information: true, 0, 2) }

    func cancel(_ load: Load, of asset: AVURLAsset) {
        load.isCancelled = true
        if let transaction = load.transaction { asset.resourceLoader.cancel(transaction) }
    }

    // MARK: Running

    /// Runs until the condition is true, within a bound of steps.
    func run(until condition: () -> Bool) -> Bool { simulator.run(until: condition, maxSteps: 200_000) }

    /// Runs until every request is over.
    func runToEnd() -> Bool { run { self.loads.allSatisfy(\.isOver) } }

    /// Lets virtual time pass.
    func pass(_ time: Nanoseconds) { simulator.advance(by: time) }

    /// The breaches of AVFoundation's contract so far, in words.
    var breaches: [String] {
        playback.journal.checkKept()
        return playback.journal.breaches.map(\.description)
    }

    /// The offset of the first wrong byte of a load that began at `offset`, or nil.
    func difference(_ load: Load, at offset: Int64) -> Int? {
        let resource = world.versions[Self.url]?.last
        return load.bytes.withUnsafeBytes { resource?.content.firstDifference(in: $0, at: offset) }
    }
}
