import Spool
import SpoolProxy
import SpoolCore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// For the thread sanitizer: clients come and go at random while bytes arrive, resources are
/// removed and the cache closes.
@Suite(.serialized, .timeLimit(.minutes(20))) struct ProxyStressTests {
    private static let films = (0..<4).map { VirtualResource.film("\($0).mp4", seed: UInt64($0 + 1), length: 600_000) }

    /// A store, and the number of the proxy's event loops.
    struct Setting: Sendable, CustomTestStringConvertible {
        let store: StoreKind
        let loopCount: Int

        static let all = StoreKind.allCases.flatMap { store in [1, 4].map { Setting(store: store, loopCount: $0) } }
        var testDescription: String { "\(store), \(loopCount)" }
    }

    @Test(arguments: Setting.all, Seeds.list(count: 1))
    func `clients that come and go get right bytes, or none`(setting: Setting, seed: UInt64) throws {
        let world = try ProxyWorld(
            Self.films, store: setting.store,
            script: { _, ordinal in
                ordinal % 7 == 6
                    ? .cut(afterBytes: 100_000, .reset, .correct)
                    : .paced(.init(latency: 0...200_000, bytesPerSecond: 50_000_000, chunkBytes: 1000...30_000), .correct)
            }, options: { $0.loopCount = setting.loopCount })
        let violations = concurrently(6) { index in
            let random = SeededRandom(seed: seed &+ UInt64(index))
            var violations: [String] = []
            for turn in 0..<40 {
                if index == 0, turn % 4 == 3 { try remove(Self.films[Int(random.next(below: 4))], in: world) }
                violations += try visit(world, random)
            }
            return violations
        }
        #expect(violations == [], "SPOOL_SEED=\(seed)")
        world.stop()
    }

    @Test(arguments: Setting.all, Seeds.list(count: 1))
    func `a cache that closes under its clients leaves none of them waiting`(setting: Setting, seed: UInt64) throws {
        for round in 0..<4 {
            let world = try ProxyWorld(
                Self.films, store: setting.store,
                script: { _, _ in .paced(.init(latency: 0...200_000, bytesPerSecond: 20_000_000, chunkBytes: 1000...30_000), .correct) },
                options: { $0.loopCount = setting.loopCount })
            let visits = Awaited(0)
            let closer = SystemThread(name: "closer") {
                _ = visits.wait { $0 >= 10 }
                if round % 2 == 0 { world.proxy.stop() }
                world.closeCache()
                world.cache.environment.shutDown()
                world.proxy.stop()
            }
            let violations = concurrently(5) { index in
                let random = SeededRandom(seed: seed &+ UInt64(round * 10 + index))
                var violations: [String] = []
                for _ in 0..<20 {
                    // Once the proxy is stopped, connecting fails as it should.
                    guard let found = try? visit(world, random) else { break }
                    violations += found
                    visits.change { $0 += 1 }
                }
                visits.change { $0 += 10 }
                return violations
            }
            closer.join()
            #expect(violations == [], "SPOOL_SEED=\(seed), round \(round)")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a crowd of readers on four loops fetches each byte once`(store: StoreKind) throws {
        let film = VirtualResource.film("crowd.mp4", seed: 9, length: 3_000_000)
        let world = try ProxyWorld(
            [film], store: store,
            script: { _, _ in .paced(.init(latency: 0...200_000, bytesPerSecond: 50_000_000, chunkBytes: 1000...30_000), .correct) },
            options: { $0.loopCount = 4 })
        let violations = concurrently(12) { _ in
            let client = try world.connect()
            client.ask(film.target)
            let head = try client.head()
            guard head.status == 200 else { return ["status \(head.status)"] }
            return try client.compare(film.length, with: film.content, at: 0).map { ["byte \($0) is wrong"] } ?? []
        }
        #expect(violations == [])
        world.expectWholeHandedOver(film)
        world.stop()
    }

    private func remove(_ film: VirtualResource, in world: ProxyWorld) throws {
        let isDone = Awaited(false)
        world.cache.remove(try world.cache.key(for: film.url)) { _ in isDone.change { $0 = true } }
        _ = isDone.wait { $0 }
    }

    /// Runs one client: some requests on one connection, ended at a random moment.
    private func visit(_ world: ProxyWorld, _ random: SeededRandom) throws -> [String] {
        let client = try world.connect(receiveBuffer: random.chance(1, in: 4) ? 4096 : nil)
        for _ in 0..<(1 + random.next(below: 3)) {
            let film = Self.films[Int(random.next(below: 4))]
            let lower = Int64(random.next(below: UInt64(film.length)))
            let upper = min(film.length, lower + 1 + Int64(random.next(below: 200_000)))
            client.ask(film.target, ["Range": "bytes=\(lower)-\(upper - 1)"])
            if random.chance(1, in: 10) { return [] }
            do {
                let head = try client.head()
                // 503: the resource was removed while the request waited, or the cache is closed.
                guard head.status == 206 else { return head.status == 503 ? [] : ["status \(head.status) for \(lower)..<\(upper)"] }
                let wanted = random.chance(1, in: 3) ? Int64(random.next(below: UInt64(upper - lower))) : upper - lower
                if let wrong = try client.compare(wanted, with: film.content, at: lower) {
                    return ["byte \(wrong) of \(film.url) is wrong"]
                }
                if wanted < upper - lower { return [] }
            } catch is ProxyClient.Failure {
                // The answer is cut short: the resource was removed, or the proxy stopped.
                return []
            }
        }
        return []
    }
}
