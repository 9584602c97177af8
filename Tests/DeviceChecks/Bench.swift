import AVFoundation
import Foundation
import Spool
import SpoolAVFoundation
import SpoolCore
import SpoolOrigin
import SpoolSystem
import SpoolTesting

/// A fault in the double, for tests of the cases. A case that still passes could not fail.
public enum BenchFault: Sendable {
    case none
    /// The player finds a wrong byte in each answer of the cache.
    case wrongBytes
    /// Nothing plays: the player shows the first frame only.
    case nothingPlays
}

/// The surroundings of one run of a case: an origin on this machine, an empty store, and players.
@MainActor final class Bench {
    /// The way from the origin to the player.
    enum Route { case plain, spool }

    /// Whether the players are real ones.
    nonisolated static let isReal: Bool = {
        #if os(Linux)
        false
        #else
        true
        #endif
    }()
    /// The time in seconds after which a condition counts as one that never comes. Under the double
    /// it only ends a hang, because other tests may take the processor.
    nonisolated static let patience = isReal ? 15.0 : 300.0
    /// The name of the number for the time from `play()` to the first movement.
    nonisolated static let start = "start ms"
    /// The pause between two looks at a player, in nanoseconds.
    private nonisolated static let pause: UInt64 = 2_000_000
    /// The looks at the double in a second of ``wait(_:)``.
    private nonisolated static let looksPerSecond = 10.0

    let route: Route
    let origin: RawOrigin
    let samples: Samples
    let fault: BenchFault
    let time = SystemTime()
    /// The settings of the cache, until its first use.
    var configuration = Configuration()
    /// The measured numbers, by names that end with a unit.
    var numbers: [String: Double] = [:]
    /// How far numbers may exceed those of the plain player, by their names.
    var excess: [String: Double] = [:]
    /// The outcomes that have to be the same with Spool as without.
    var outcomes: [String: String] = [:]
    /// The plays of this run. Held until the run ends.
    private(set) var plays: [Playback] = []
    private let directory: URL
    private var opened: MediaCache?
    private let script = Script()
    #if os(Linux)
    /// The time of the double's players between two looks.
    private nonisolated static let playedTime = Nanoseconds.milliseconds(5)
    /// The clock of the double's players. It moves between two looks only, so that no state passes
    /// unseen while other tests have the processor.
    private let playerTime = ManualTime()
    /// The world of the double.
    let world: PlaybackWorld
    #endif

    init(_ route: Route, _ samples: Samples, _ fault: BenchFault) throws {
        self.route = route
        self.samples = samples
        self.fault = fault
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("spool-check-" + UUID().uuidString)
        #if os(Linux)
        world = PlaybackWorld(time: playerTime, random: SystemRandom())
        #endif
        let script = script
        origin = try RawOrigin(script: { request, _ in script.behaviour(of: request) })
        configuration.storage.directory = directory.path
    }

    var withSpool: Bool { route == .spool }
    /// The time in seconds after which a condition never comes. A player that plays nothing is found
    /// at once.
    var patience: Double { fault == .nothingPlays ? 0.5 : Self.patience }

    /// The cache, opened at the first use.
    var cache: MediaCache {
        get throws {
            if let opened { return opened }
            let cache = try MediaCache(configuration: configuration)
            opened = cache
            return cache
        }
    }

    /// Opens the store again, as the next launch does.
    func reopen() async {
        await opened?.close()
        opened = nil
    }

    func close() async {
        forgetPlays()
        await opened?.close()
        origin.stop()
        // The system cleans the directory of temporary files, should this fail.
        try? FileManager.default.removeItem(at: directory)
    }

    // MARK: The origin

    /// Serves a file, and returns its URL.
    func serve(
        _ kind: Sample.Kind, as path: String? = nil, _ behaviour: OriginBehaviour = .correct, type: String?? = nil,
        change: (inout VirtualResource) -> Void = { _ in }
    ) throws -> URL {
        let sample = try samples.sample(kind)
        let path = path ?? "/" + kind.rawValue
        var resource = VirtualResource(url: origin.url(path), seed: sample.content.seed, length: sample.length)
        resource.content = sample.content
        resource.contentType = type ?? kind.contentType
        change(&resource)
        origin.serve(resource)
        script.state.withLock { $0.samples[Self.plainPath(path)] = sample }
        behave(path, behaviour)
        return try url(path)
    }

    /// Serves a playlist, and its segments beside it.
    ///
    /// - Parameter bitRate: The bits in a second of each segment, which then ends with a box of
    ///   bytes that players skip. Nil leaves the segments as they are.
    func serveStream(as path: String = "/hls/list.m3u8", text: String? = nil, bitRate: Int? = nil) throws -> URL {
        let folder = path.prefix { $0 != "?" }.split(separator: "/").dropLast().map { "/" + $0 }.joined()
        for segment in samples.segments {
            let segment = bitRate.map { samples.segment(segment, bitRate: $0) } ?? segment
            var resource = VirtualResource(url: origin.url("\(folder)/\(segment.name)"), seed: segment.content.seed, length: segment.length)
            resource.content = segment.content
            origin.serve(resource)
        }
        serveText(path, text ?? samples.playlist())
        let film = try samples.sample(.film)
        script.state.withLock { $0.samples[path] = film }
        return try url(path)
    }

    func serveText(_ path: String, type: String = "application/vnd.apple.mpegurl", _ text: String) {
        behave(path, .status(200, fields: ["Content-Type": type], body: Array(text.utf8)))
    }

    /// Sets the behaviour of the origin at a path, from the next request on.
    func behave(_ path: String, _ behaviour: OriginBehaviour) { script.state.withLock { $0.behaviours[Self.plainPath(path)] = behaviour } }

    /// Answers requests before any other rule, as long as `answer` returns a behaviour.
    func answer(_ answer: @escaping @Sendable (OriginRequest) -> OriginBehaviour?) { script.state.withLock { $0.answer = answer } }

    func url(_ path: String) throws -> URL {
        guard let url = URL(string: origin.url(path)) else { throw CaseEnd.failed("no URL for \(path)") }
        return url
    }

    var requests: [OriginLog.Entry] { origin.log.entries }

    /// The body bytes that the origin sent.
    var sentBytes: Int64 { requests.reduce(0) { $0 + $1.handedOverBytes } }

    fileprivate nonisolated static func plainPath(_ path: String) -> String { String(path.prefix { $0 != "?" }) }

    // MARK: Players

    /// Returns an item: a plain one, or one of the cache.
    func item(_ url: URL, headers: [String: String] = [:]) throws -> AVPlayerItem {
        if withSpool { return try cache.playerItem(for: url, headers: headers) }
        // AVFoundation has no public option for fields. This key is the one that players use.
        return AVPlayerItem(asset: AVURLAsset(url: url, options: headers.isEmpty ? nil : ["AVURLAssetHTTPHeaderFieldsKey": headers]))
    }

    /// Attaches a player of one item, without starting it.
    func open(_ url: URL, headers: [String: String] = [:]) throws -> Playback { try open(items: [item(url, headers: headers)]) }

    /// Attaches a player of items.
    func open(items: [AVPlayerItem]) throws -> Playback {
        guard withSpool else { return watch(items.count == 1 ? AVPlayer(playerItem: items[0]) : AVQueuePlayer(items: items), nil) }
        if items.count > 1 {
            let player = try cache.queuePlayer(items: items)
            return watch(player, player.playback)
        }
        let player = AVPlayer(playerItem: items[0])
        return watch(player, PlaybackController(player: player))
    }

    /// Follows a player that the case made.
    func watch(_ player: AVPlayer, _ controller: PlaybackController?) -> Playback {
        let play = Playback(self, player, controller)
        plays.append(play)
        return play
    }

    /// Ends and drops all players.
    func forgetPlays() {
        for play in plays { play.stop() }
        plays = []
    }

    /// Starts a player of one item.
    func play(_ url: URL, headers: [String: String] = [:], rate: Float = 1) async throws -> Playback {
        let play = try open(url, headers: headers)
        try await play.start(rate: rate)
        return play
    }

    // MARK: Conditions

    /// Ends the case unless the condition holds.
    func expect(_ condition: Bool, _ words: String) throws {
        if !condition { throw CaseEnd.failed(words) }
    }

    /// The same for a time or a rate that says something about real players alone.
    func expectReal(_ condition: Bool, _ words: String) throws {
        if Self.isReal { try expect(condition, words) }
    }

    /// Waits until a condition holds.
    func until(_ words: String, within seconds: Double = Bench.patience, _ holds: () throws -> Bool) async throws {
        let end = time.now + Nanoseconds((Self.isReal ? seconds : patience) * 1e9)
        while try !holds() {
            guard time.now < end else { throw CaseEnd.failed("not within \(CaseResult.short(seconds)) s: \(words)") }
            try await pass()
        }
    }

    /// Lets a moment pass between two looks at the players.
    func pass() async throws {
        try await Task.sleep(nanoseconds: Self.pause)
        #if os(Linux)
        playerTime.advance(by: Self.playedTime)
        for play in plays { await play.settle() }
        #endif
    }

    /// Lets time pass. The double needs less of it.
    func wait(_ seconds: Double) async throws {
        if Self.isReal { return try await Task.sleep(nanoseconds: UInt64(seconds * 1e9)) }
        for _ in 0..<Int((seconds * Self.looksPerSecond).rounded(.up)) { try await pass() }
    }

    /// Fails for a breach of the loader's contract, or for a wrong byte, which the double finds.
    func checkContract() throws {
        #if os(Linux)
        world.journal.checkKept()
        if let breach = world.journal.breaches.first { throw CaseEnd.failed("\(breach)") }
        #endif
    }

    /// The file behind an item, or nil.
    nonisolated func sample(of asset: AVURLAsset?) -> Sample? {
        let url = (asset as? CachingAVURLAsset)?.originalURL ?? asset?.url
        // `URL.path` is decoded.
        guard let path = url.flatMap({ URLComponents(url: $0, resolvingAgainstBaseURL: true) })?.percentEncodedPath else { return nil }
        return script.state.withLock { $0.samples[path] }
    }
}

/// The behaviour of the origin, for its threads.
private final class Script: Sendable {
    struct State {
        var behaviours: [String: OriginBehaviour] = [:]
        var samples: [String: Sample] = [:]
        var answer: (@Sendable (OriginRequest) -> OriginBehaviour?)?
    }

    let state = Locked(State())

    func behaviour(of request: OriginRequest) -> OriginBehaviour {
        let (behaviours, answer) = state.withLock { ($0.behaviours, $0.answer) }
        if let behaviour = answer?(request) { return behaviour }
        let path = "/" + request.url.split(separator: "/", maxSplits: 2).dropFirst(2).joined(separator: "/")
        return behaviours[Bench.plainPath(path)] ?? .correct
    }
}
