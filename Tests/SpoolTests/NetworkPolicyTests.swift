import Spool
import SpoolCore
import SpoolOrigin
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// The network policy of a cache, under conditions that a monitor of the test reports.
@Suite(.timeLimit(.minutes(20))) struct NetworkPolicyTests {
    /// Reports what the test sets.
    private final class Monitor: NetworkMonitor {
        private let state = Locked<(@Sendable (NetworkConditions) -> Void)?>(nil)

        func start(_ report: @escaping @Sendable (NetworkConditions) -> Void) { state.withLock { $0 = report } }
        func stop() { state.withLock { $0 = nil } }

        var isRunning: Bool { state.withLock { $0 != nil } }

        func report(_ change: (inout NetworkConditions) -> Void = { _ in }) {
            var conditions = NetworkConditions()
            change(&conditions)
            state.withLock { $0 }?(conditions)
        }
    }

    private let monitor = Monitor()
    private let time = ManualTime()
    private let song = VirtualResource(url: "http://origin.test/song.mp3", seed: 1, length: 4 << 20)
    private let other = VirtualResource(url: "http://origin.test/other.mp3", seed: 2, length: 300_000)

    /// A cache whose downloads wait for a network that is not expensive.
    private func makeWorld(
        _ change: (inout Configuration) -> Void = { _ in }, script: @escaping OriginScript = { _, _ in .correct }
    ) throws -> EngineWorld {
        try EngineWorld(
            [song, other], time: time,
            configuration: { configuration in
                configuration.network.monitor = monitor
                configuration.network.policy.downloads.allowsExpensive = false
                change(&configuration)
            }, script: script)
    }

    private static var download: ReadOptions {
        var options = ReadOptions(fetchPolicy: .wholeResource)
        options.priority = .prefetch
        return options
    }

    /// Reads a resource in a task, and returns its bytes or its error.
    private func read(_ resource: VirtualResource, _ options: ReadOptions, _ world: EngineWorld) throws -> Task<[UInt8], any Error> {
        let reader = try world.cache.reader(for: resource.url, options: options)
        return Task { try await reader.bytes() }
    }

    private func refusals(_ world: EngineWorld) -> [String] {
        world.events.all.compactMap { if case .networkRefused(_, let reason) = $0 { reason } else { nil } }
    }

    private func permissions(_ world: EngineWorld) -> Int {
        world.events.all.count { if case .networkPermitted = $0 { true } else { false } }
    }

    @Test func `offline, stored bytes play, other bytes fail at once, and downloads go on when it ends`() async throws {
        let world = try makeWorld()
        #expect(try await read(other, ReadOptions(), world).value == world.expected(other, 0..<other.length))
        world.cache.networkPolicy.isOffline = true
        #expect(try await read(other, ReadOptions(), world).value == world.expected(other, 0..<other.length))
        var options = ReadOptions()
        options.access = NetworkAccess()
        let (playing, failure) = (try read(song, options, world), Locked<CacheError?>(nil))
        Task { do { _ = try await playing.value } catch { failure.withLock { $0 = error as? CacheError } } }
        let requests = world.origin.log.entries.count
        try await pass(until: "the reader gave up") { failure.withLock { $0 } != nil }
        let error = failure.withLock { $0 }
        #expect(error?.code == .networkRefused && error?.message.contains("offline") == true)
        let download = try read(song, Self.download, world)
        for _ in 0..<100 { time.advance(by: .seconds(1)) }
        #expect(world.origin.log.entries.count == requests, "no request was made")
        world.cache.networkPolicy.isOffline = false
        try await pass(until: "the download asked the origin") { world.origin.log.entries.count > requests }
        #expect(try await download.value == world.expected(song, 0..<song.length))
        await world.cache.close()
    }

    @Test func `a held download wakes no thread, and a player that joins it fails at once when offline`() throws {
        let stage = try LaneStage([song]) { $0.network.policy.isOffline = true }
        let download = try reader(Self.download, in: stage)
        stage.simulator.advance(by: .seconds(1))
        let steps = stage.simulator.stepCount
        stage.simulator.advance(by: .seconds(10))
        #expect(stage.simulator.stepCount - steps < 100)
        let player = try reader(ReadOptions(), in: stage)
        stage.simulator.advance(by: .milliseconds(100))
        #expect(failure(of: player)?.code == .networkRefused)
        withExtendedLifetime(download) {}
        stage.simulator.shutdown()
    }

    @Test func `each refusal has the whole patience of a player, and none outlasts an offline mode`() throws {
        let stage = try LaneStage(
            [song],
            configuration: { configuration in
                configuration.network.monitor = monitor
                configuration.network.policy.playback.allowsExpensive = false
            }, script: { _, _ in .slow(bytesPerSecond: 1000) })
        monitor.report { $0.isExpensive = true }
        let player = try reader(ReadOptions(), in: stage)
        stage.simulator.advance(by: .seconds(50))
        monitor.report()
        monitor.report { $0.isExpensive = true }
        stage.simulator.advance(by: .seconds(50))
        #expect(failure(of: player) == nil, "the second refusal is 50 seconds old")
        stage.simulator.advance(by: .seconds(11))
        #expect(failure(of: player)?.code == .networkRefused)
        let second = try reader(ReadOptions(), in: stage)
        stage.simulator.advance(by: .seconds(1))
        #expect(failure(of: second) == nil)
        stage.cache.networkPolicy.isOffline = true
        stage.simulator.advance(by: .milliseconds(100))
        #expect(failure(of: second)?.code == .networkRefused)
        stage.simulator.shutdown()
    }

    private func reader(_ options: ReadOptions, in stage: LaneStage) throws -> SessionReader {
        try stage.cache.sessionReader(for: song.url, start: 0, end: nil, wantsBytes: true, options: options, wake: {})
    }

    /// The error of a reader that has failed, or nil. Takes the bytes that it has.
    private func failure(of reader: SessionReader) -> CacheError? {
        while true {
            switch reader.next(max: 1 << 20) {
            case .file(_, let range): reader.advance(by: Int(range.count), fromOrigin: false)
            case .memory(let bytes): reader.advance(by: bytes.count, fromOrigin: true)
            case .wait, .end: return nil
            case .failed(let error): return error
            }
        }
    }

    /// Moves the clock until the condition holds.
    private func pass(until condition: String, _ holds: () -> Bool) async throws {
        try await eventually(condition) {
            time.advance(by: .milliseconds(100))
            return holds()
        }
    }

    @Test func `a download pauses on a refused network, and goes on from the same byte when it is permitted`() async throws {
        let song = song
        let world = try makeWorld(script: { request, _ in request.url == song.url ? .slow(bytesPerSecond: 1_000_000) : .correct })
        let task = try read(song, Self.download, world)
        try await pass(until: "half a megabyte came") { world.cache.statistics.fetchedBytes > 500_000 }
        monitor.report { $0.isExpensive = true }
        #expect(refusals(world) == ["the network is expensive"])
        let fetched = world.cache.statistics.fetchedBytes
        for _ in 0..<100 { time.advance(by: .milliseconds(100)) }
        // Another reader of the origin's thread shows that the time has passed there.
        #expect(try await world.cache.reader(for: other.url).read(at: 0, count: 1).count == 1)
        #expect(world.cache.statistics.fetchedBytes <= fetched + other.length)
        #expect(world.origin.log.entries[0].handedOverBytes <= fetched)
        monitor.report()
        #expect(permissions(world) == 1)
        try await pass(until: "the download is complete") { world.origin.log.entries[0].isOver }
        #expect(try await task.value == world.expected(song, 0..<song.length))
        #expect(world.origin.log.entries.count { $0.request.url == song.url } == 1)
        #expect(world.origin.log.handedOver(song.url).duplicateBytes == 0)
        await world.cache.close()
        #expect(!monitor.isRunning)
    }

    @Test func `a refused request is sent once the network is permitted`() async throws {
        let world = try makeWorld()
        monitor.report { $0.isExpensive = true }
        let task = try read(other, Self.download, world)
        try await eventually("the download waits") { !refusals(world).isEmpty }
        #expect(world.origin.log.entries.isEmpty)
        monitor.report()
        #expect(try await task.value == world.expected(other, 0..<other.length))
        await world.cache.close()
    }

    @Test func `a held download keeps no slot of its host from a player`() async throws {
        let world = try makeWorld({ $0.fetching.maximumFetchesPerHost = 1 }, script: { _, _ in .slow(bytesPerSecond: 1_000_000) })
        let task = try read(song, Self.download, world)
        try await pass(until: "the download runs") { world.cache.statistics.fetchedBytes > 0 }
        monitor.report { $0.isExpensive = true }
        let player = try read(other, ReadOptions(), world)
        try await pass(until: "the other resource came") {
            world.origin.log.entries.contains { $0.request.url == other.url && $0.isOver }
        }
        #expect(try await player.value == world.expected(other, 0..<other.length))
        task.cancel()
        _ = await task.result
        await world.cache.close()
    }

    @Test func `a player joins a held download, and the download goes on for it`() async throws {
        let world = try makeWorld()
        monitor.report { $0.isExpensive = true }
        let download = try read(other, Self.download, world)
        try await eventually("the download waits") { !refusals(world).isEmpty }
        let player = try read(other, ReadOptions(), world)
        #expect(try await player.value == world.expected(other, 0..<other.length))
        #expect(try await download.value.count == Int(other.length))
        #expect(world.origin.log.entries.count == 1)
        await world.cache.close()
    }

    @Test func `stored bytes play on a refused network, also where the origin would confirm them`() async throws {
        let world = try makeWorld {
            $0.freshness.policy = .standard
            $0.network.policy.playback.allowsConstrained = false
        }
        let film = VirtualResource(
            url: "http://origin.test/film.mp4", seed: 3, length: 100_000, fields: ["Cache-Control": "max-age=10"])
        world.origin.serve(film)
        #expect(try await world.cache.reader(for: film.url).bytes().count == 100_000)
        time.advance(by: .seconds(20))
        monitor.report { $0.isConstrained = true }
        let before = world.origin.log.entries.count
        #expect(try await world.cache.reader(for: film.url).bytes() == world.expected(film, 0..<film.length))
        #expect(world.origin.log.entries.count == before)
        let reasons = world.events.all.compactMap { if case .usedUnvalidated(_, let reason) = $0 { reason } else { nil } }
        #expect(reasons == ["the origin may not be asked now: the network is in Low Data Mode"])
        await world.cache.close()
    }

    @Test func `a player that waits too long for the network fails with the reason, and a download waits on`() async throws {
        let world = try makeWorld { $0.network.policy.playback.allowsLowPowerMode = false }
        monitor.report { conditions in
            conditions.isInLowPowerMode = true
            conditions.isExpensive = true
        }
        let download = try read(song, Self.download, world)
        let player = try read(other, ReadOptions(), world)
        try await eventually("both wait") { refusals(world).count == 2 }
        // The timers are set after the events.
        try await pass(until: "the player failed") { world.events.all.contains { if case .fetchEnded = $0 { true } else { false } } }
        do {
            _ = try await player.value
            Issue.record("the player got bytes")
        } catch let error as CacheError {
            #expect(error.code == .networkRefused && error.isRetryable)
            #expect(error.message == "the origin may not be asked now: the device is in Low Power Mode")
        }
        monitor.report()
        // The download yields for a moment to the player that failed just now.
        time.flow()
        #expect(try await download.value.count == Int(song.length))
        await world.cache.close()
    }

    @Test func `a reader's own access replaces the policy, in both directions`() async throws {
        let world = try makeWorld()
        monitor.report { $0.isExpensive = true }
        var urgent = Self.download
        urgent.access = NetworkAccess()
        #expect(try await read(other, urgent, world).value.count == Int(other.length))
        #expect(world.origin.log.entries[0].request.access == NetworkAccess())
        var strict = ReadOptions()
        strict.access = NetworkAccess(allowsExpensive: false)
        let task = try read(song, strict, world)
        try await eventually("the player waits") { refusals(world).count == 1 }
        task.cancel()
        _ = await task.result
        #expect(world.origin.log.entries.count == 1)
        await world.cache.close()
    }

    @Test func `a change of the policy applies to running requests`() async throws {
        let world = try makeWorld(script: { _, _ in .slow(bytesPerSecond: 1_000_000) })
        monitor.report { $0.isCellular = true }
        let task = try read(song, Self.download, world)
        try await pass(until: "the download runs") { world.cache.statistics.fetchedBytes > 0 }
        world.cache.networkPolicy.downloads.allowsCellular = false
        #expect(refusals(world) == ["the cellular network may not be used"])
        world.cache.networkPolicy.downloads.allowsCellular = true
        try await pass(until: "the download is complete") { world.origin.log.entries[0].isOver }
        #expect(try await task.value == world.expected(song, 0..<song.length))
        await world.cache.close()
    }

    @Test func `a policy with an unusable patience is refused`() {
        #expect(throws: CacheError.self) { try makeWorld { $0.network.policy.patience = .zero } }
    }
}
